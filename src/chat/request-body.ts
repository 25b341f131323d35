// The body of a chat request: JSON text from a client, checked once, here. What comes out can be trusted by shape; what
// it may change is decided elsewhere. Its size is bounded by the platform's limit for one frame.
import type { UIMessage } from "ai";
import type { ClientTool } from "../journal/records.ts";
import { isLongerThan } from "../util/bytes.ts";
import { isUsableId, MAX_CALL_ID_BYTES } from "../util/ids.ts";
import { isObject, parseJson, type Json } from "../util/json.ts";
import { err, ok, type Result } from "../util/result.ts";
import { MalformedRequestError, RequestTooLargeError } from "./errors.ts";

/** Both are kept in the conversation's one row, which every turn reads. */
export const CLIENT_TOOLS_LIMIT_BYTES = 512 * 1024;
export const CUSTOM_BODY_LIMIT_BYTES = 512 * 1024;

export type ChatTrigger = "submit-message" | "regenerate-message";

export interface ChatRequestBody {
  readonly messages: readonly UIMessage[];
  readonly trigger: ChatTrigger;
  /** Absent: the stored ones stay. Empty: there are none any more. */
  readonly clientTools: readonly ClientTool[] | undefined;
  /** The fields that are not ours. */
  readonly custom: Record<string, unknown> | undefined;
}

type BodyError = MalformedRequestError | RequestTooLargeError;

/** Never throws. */
export function parseRequestBody(text: unknown): Result<ChatRequestBody, BodyError> {
  if (typeof text !== "string") return malformed("its body is not text");
  const parsed = parseJson(text);
  if (!parsed.ok) return malformed("its body is not JSON");
  if (!isObject(parsed.value)) return malformed("its body is not an object");
  const { messages, trigger, clientTools, ...custom } = parsed.value;
  if (!Array.isArray(messages)) return malformed("it has no list of messages");
  const problem = firstProblem(messages);
  if (problem !== undefined) return malformed(problem);
  const tools = clientTools === undefined || clientTools === null ? undefined : readClientTools(clientTools);
  if (tools === null) return malformed("clientTools is not a list of tools with names");
  if (tools && isLarger(tools, CLIENT_TOOLS_LIMIT_BYTES)) return tooLarge("client tools", CLIENT_TOOLS_LIMIT_BYTES);
  if (isLarger(custom, CUSTOM_BODY_LIMIT_BYTES)) return tooLarge("custom fields", CUSTOM_BODY_LIMIT_BYTES);
  return ok({
    // Each entry has passed `messageProblem`.
    messages: messages as UIMessage[],
    trigger: trigger === "regenerate-message" ? trigger : "submit-message",
    clientTools: tools,
    custom: Object.keys(custom).length > 0 ? custom : undefined
  });
}

/** Tools as a client describes them; null when the value is no such list. The last of a name wins. */
export function readClientTools(value: unknown): readonly ClientTool[] | null {
  if (!Array.isArray(value)) return null;
  const tools = new Map<string, ClientTool>();
  for (const entry of value) {
    if (!isObject(entry) || typeof entry.name !== "string" || entry.name === "") return null;
    const { name, description, parameters } = entry;
    tools.set(name, {
      name,
      description: typeof description === "string" ? description : null,
      // It came out of JSON text.
      parameters: isObject(parameters) ? (parameters as { [key: string]: Json }) : { type: "object" }
    });
  }
  return [...tools.values()];
}

const ROLES = new Set(["system", "user", "assistant"]);

function firstProblem(messages: readonly unknown[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    const problem = messageProblem(message);
    if (problem !== undefined) return `message ${index} ${problem}`;
  }
  return undefined;
}

function messageProblem(message: unknown): string | undefined {
  if (!isObject(message)) return "is not an object";
  const { id, role, parts } = message;
  if (!isUsableId(id)) return "has no usable id";
  if (typeof role !== "string" || !ROLES.has(role)) return "has no known role";
  if (!Array.isArray(parts)) return "has no list of parts";
  return parts.every(isPart) ? undefined : "has a part that cannot be read";
}

function isPart(part: unknown): boolean {
  if (!isObject(part) || typeof part.type !== "string") return false;
  if (part.type === "text" || part.type === "reasoning") return typeof part.text === "string";
  if (part.type === "dynamic-tool" || part.type.startsWith("tool-")) {
    return isUsableId(part.toolCallId, MAX_CALL_ID_BYTES) && typeof part.state === "string";
  }
  return true;
}

function isLarger(value: unknown, limitBytes: number): boolean {
  return isLongerThan(JSON.stringify(value), limitBytes);
}

function malformed(problem: string): Result<never, BodyError> {
  return err(new MalformedRequestError(problem));
}

function tooLarge(what: string, limitBytes: number): Result<never, BodyError> {
  return err(new RequestTooLargeError(what, limitBytes));
}
