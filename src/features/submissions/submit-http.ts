// Submissions over plain HTTP, for webhooks and scripts:
//   POST /agents/<class>/<name>/submit        { "input": text, message or messages, "metadata"? }, Idempotency-Key: <key>
//   GET  /agents/<class>/<name>/submit/<id>   how it stands
// and the same below the address of a sub-agent. A class that does not say who may has neither address.
import type {
  SubmitMessagesOptions,
  SubmitMessagesResult,
  ThinkSubmissionInspection
} from "../../feature/submission-types.ts";
import { readText } from "../../util/bytes.ts";
import { decodePercent } from "../../util/decode-percent.ts";
import { errorMessage, ThinkError } from "../../util/errors.ts";
import { isJsonRequest, isObject, jsonResponse, parseJson } from "../../util/json.ts";
import { SubmissionQueueFullError } from "./errors.ts";
import { ownMetadata } from "./request.ts";

/** Bytes of a request's body. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

const REST = /^(?:\/([^/]+))?$/;

export interface SubmitPort {
  /** Whether the class lets this request in. */
  readonly isAllowed: (request: Request) => Promise<boolean>;
  /** Checks what it is given: it comes from outside. */
  readonly submit: (input: unknown, options: SubmitMessagesOptions) => Promise<SubmitMessagesResult>;
  readonly inspect: (submissionId: string) => ThinkSubmissionInspection | null;
}

/** `rest` is what follows "/submit". Undefined: the request is not about submissions. */
export async function submitResponse(request: Request, rest: string, port: SubmitPort): Promise<Response | undefined> {
  const match = REST.exec(rest);
  if (!match) return undefined;
  const id = match[1];
  if (request.method !== (id === undefined ? "POST" : "GET")) return jsonResponse({ error: "Method not allowed" }, 405);
  // The class may read the body to check a signature.
  if (!(await port.isAllowed(request.clone() as Request))) return jsonResponse({ error: "Forbidden" }, 403);
  return id === undefined ? accept(request, port) : inspect(id, port);
}

function inspect(id: string, port: SubmitPort): Response {
  const submission = port.inspect(decodePercent(id) ?? id);
  return submission ? jsonResponse(shown(submission)) : jsonResponse({ error: "Not found" }, 404);
}

async function accept(request: Request, port: SubmitPort): Promise<Response> {
  if (!isJsonRequest(request)) {
    return jsonResponse({ error: "Send the submission with Content-Type: application/json." }, 415);
  }
  const text = await readText(request.body, MAX_BODY_BYTES);
  if (text === undefined) return jsonResponse({ error: `The body has more than ${MAX_BODY_BYTES} bytes.` }, 413);
  const body = parseJson(text);
  if (!body.ok || !isObject(body.value) || body.value["input"] === undefined) {
    return jsonResponse({ error: 'Send { "input": "…" } as JSON: a text, a message or a list of messages.' }, 400);
  }
  const { input, metadata } = body.value;
  if (metadata !== undefined && !isObject(metadata)) return jsonResponse({ error: "metadata must be an object." }, 400);
  const key = keyOf(request);
  const options = {
    idempotencyKey: key,
    metadata: metadata && ownMetadata(metadata)
  };
  try {
    return answer(await port.submit(input, options));
  } catch (error) {
    return refusal(error);
  }
}

/** 202: accepted. 200: an earlier request was. 409: that one asked something else under the same key. */
function answer({ accepted, conflict, ...submission }: SubmitMessagesResult): Response {
  if (conflict) {
    // Nothing of the other submission: it may be another sender's.
    return jsonResponse({ error: "This Idempotency-Key was used for another submission." }, 409);
  }
  // Relative to the address that was asked: a sub-agent does not know the one that its root was asked at.
  const address = `submit/${encodeURIComponent(submission.submissionId)}`;
  const response = jsonResponse({ ...shown(submission), statusUrl: address }, accepted ? 202 : 200);
  response.headers.set("Location", address);
  return response;
}

function refusal(error: unknown): Response {
  if (error instanceof SubmissionQueueFullError) {
    const response = jsonResponse({ error: error.message, code: error.code }, 503);
    response.headers.set("Retry-After", "30");
    return response;
  }
  if (error instanceof ThinkError) return jsonResponse({ error: error.message, code: error.code }, 400);
  console.error(`A submission over HTTP failed: ${errorMessage(error)}`, error);
  return jsonResponse({ error: "The submission could not be accepted." }, 500);
}

/** As it is, or as the quoted text that the header's draft asks for. */
function keyOf(request: Request): string | undefined {
  const key = request.headers.get("Idempotency-Key")?.trim();
  if (!key) return undefined;
  return /^".+"$/.test(key) ? key.slice(1, -1) : key;
}

function shown({ requestId: _requestId, ...submission }: ThinkSubmissionInspection): object {
  return submission;
}
