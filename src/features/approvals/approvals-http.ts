// Approvals over plain HTTP, for dashboards and scripts without a socket:
//   GET  /agents/<class>/<name>/approvals                  what waits for a human
//   POST /agents/<class>/<name>/approvals/<execution id>   { "decision": "approve" | "reject", "reason"?, "input"?, "inputHash"?, "seq"?, "by"? }
// and the same below the address of a sub-agent. Any other URL that ends alike is the user's.
// Who may ask is decided where the request is routed, and by `authorizeApproval`.
import { readText } from "../../util/bytes.ts";
import { isJsonRequest, isObject, jsonResponse, parseJson } from "../../util/json.ts";
import type { Decision } from "../../feature/approval-contract.ts";
import type { Approvals } from "./approvals.ts";

/** A changed input may be a document. */
const MAX_BODY_BYTES = 1024 * 1024;

const REST = /^(?:\/([^/]+))?$/;

/** `rest` is what follows "/approvals". Undefined: the request is not about approvals. */
export function approvalsResponse(
  request: Request,
  rest: string,
  approvals: Pick<Approvals, "pending" | "decide">
): Promise<Response> | undefined {
  const match = REST.exec(rest);
  if (!match) return undefined;
  // Ids of ours need no escapes; anything else is not the id of an execution.
  const executionId = match[1];
  if (request.method === "GET") return Promise.resolve(jsonResponse(approvals.pending(executionId)));
  if (request.method !== "POST" || executionId === undefined) {
    return Promise.resolve(jsonResponse({ error: "Method not allowed" }, 405));
  }
  return decide(request, approvals, executionId);
}

async function decide(
  request: Request,
  approvals: Pick<Approvals, "pending" | "decide">,
  executionId: string
): Promise<Response> {
  if (!isJsonRequest(request))
    return jsonResponse({ error: "Send the decision with Content-Type: application/json." }, 415);
  const text = await readText(request.body, MAX_BODY_BYTES);
  if (text === undefined)
    return jsonResponse({ error: `Nothing was decided: the body has more than ${MAX_BODY_BYTES} bytes.` }, 413);
  const body = parseJson(text);
  const decision = body.ok ? readDecision(body.value) : undefined;
  if (!decision) {
    const error = 'Send { "decision": "approve" } or { "decision": "reject", "reason": "…" } as JSON.';
    return jsonResponse({ error }, 400);
  }
  const outcome = await approvals.decide(executionId, decision);
  const isRefused = isObject(outcome) && outcome["status"] === "error" && outcome["executionId"] === executionId;
  return jsonResponse({ output: outcome ?? null }, isRefused ? 409 : 200);
}

/** Undefined: it is none. */
export function readDecision(sent: unknown): Decision | undefined {
  if (!isObject(sent)) return undefined;
  const { decision, reason, inputHash, seq, by, input } = sent;
  if (decision !== "approve" && decision !== "reject") return undefined;
  return {
    isApproved: decision === "approve",
    reason: typeof reason === "string" ? reason : undefined,
    inputHash: typeof inputHash === "string" ? inputHash : undefined,
    seq: typeof seq === "number" ? seq : undefined,
    by: typeof by === "string" ? by : undefined,
    input
  };
}
