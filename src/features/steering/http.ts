// Messages for a busy conversation over HTTP, directly below the agent's address:
//   POST   …/steer        { "input": text or message, "id"?, "kind"?: "steer" | "follow-up" }   answers with the receipt
//   GET    …/steer        what waits;   GET …/steer/<id>   one receipt
//   PUT    …/steer/<id>   { "input" } replaces what it says;   DELETE …/steer/<id>   takes it back
// Who may ask is decided as for chat over HTTP. A form of another page cannot send JSON without the browser asking first.
import { WAITING_LIMIT_BYTES } from "../../turn/steering.ts";
import { readText } from "../../util/bytes.ts";
import { decodePercent } from "../../util/decode-percent.ts";
import { ThinkError } from "../../util/errors.ts";
import { isJsonRequest, isObject, jsonResponse, parseJson } from "../../util/json.ts";
import { wireErrors } from "../../wire/errors.ts";
import { readCommand } from "./commands.ts";
import type { SteeringFeature } from "./feature.ts";

/** Bytes of a body: a message at its limit, with what is around it. */
const BODY_LIMIT_BYTES = 2 * WAITING_LIMIT_BYTES;

const REST = /^(?:\/([^/]+))?$/;

/** The status of a refusal. Others are 400. */
const STATUS: Readonly<Record<string, number>> = {
  "too-many-waiting": 429,
  "waiting-too-large": 413,
  "not-waiting": 409,
  "steer-id-taken": 409,
  "steer-refused": 403
};

export interface SteerPort {
  readonly steering: Pick<SteeringFeature, "list" | "inspect" | "withdraw" | "obey">;
  readonly newId: () => string;
  /** Whether the sender may only watch. */
  isReadonly(): Promise<boolean>;
}

/** Answers a request. `rest` is what follows "/steer". Undefined: the request is not about these messages. */
export async function steerResponse(request: Request, rest: string, port: SteerPort): Promise<Response | undefined> {
  const match = REST.exec(rest);
  if (!match) return undefined;
  const id = match[1] === undefined ? undefined : (decodePercent(match[1]) ?? match[1]);
  const { method } = request;
  if (method === "GET") return show(id, port);
  const isKnown = id === undefined ? method === "POST" : method === "PUT" || method === "DELETE";
  if (!isKnown) return jsonResponse({ error: "Method not allowed" }, 405);
  if (await port.isReadonly()) return jsonResponse({ error: wireErrors.ForbiddenFrameError().message }, 403);
  try {
    if (id !== undefined && method === "DELETE") return jsonResponse(port.steering.withdraw(id));
    const fields = await readBody(request);
    return fields instanceof Response ? fields : await give({ method, id, fields }, port);
  } catch (error) {
    if (!(error instanceof ThinkError)) throw error;
    return jsonResponse({ error: error.message, code: error.code }, STATUS[error.code] ?? 400);
  }
}

function show(id: string | undefined, { steering }: SteerPort): Response {
  if (id === undefined) return jsonResponse({ receipts: steering.list() });
  const receipt = steering.inspect(id);
  return receipt ? jsonResponse(receipt) : jsonResponse({ error: "Not found" }, 404);
}

interface Given {
  readonly method: string;
  readonly id: string | undefined;
  readonly fields: Record<string, unknown>;
}

async function give({ method, id, fields }: Given, { steering, newId }: SteerPort): Promise<Response> {
  const { input, kind = "steer", body } = fields;
  const message =
    typeof input === "string" ? { id: newId(), role: "user", parts: [{ type: "text", text: input }] } : input;
  const what = method === "PUT" ? "edit" : kind;
  const command = readCommand({ do: what, id: id ?? fields["id"] ?? newId(), message, body });
  if (!command.ok) return jsonResponse({ error: `The command could not be read: ${command.error}.` }, 400);
  return jsonResponse(await steering.obey(command.value), method === "PUT" ? 200 : 202);
}

async function readBody(request: Request): Promise<Record<string, unknown> | Response> {
  if (!isJsonRequest(request)) return jsonResponse({ error: "Send it with Content-Type: application/json." }, 415);
  const text = await readText(request.body, BODY_LIMIT_BYTES);
  if (text === undefined) return jsonResponse({ error: `The body has more than ${BODY_LIMIT_BYTES} bytes.` }, 413);
  const parsed = parseJson(text);
  return parsed.ok && isObject(parsed.value)
    ? parsed.value
    : jsonResponse({ error: 'Send { "input": … } as JSON.' }, 400);
}
