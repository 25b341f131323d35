// Client to server: one text frame becomes one command, or none of ours. The only module that parses what clients send:
// it never throws, and a frame with a chat type that cannot be read becomes a command that says so. What comes out has a
// checked shape; what it may change is decided elsewhere. The platform's limit for one frame bounds the size.
import type { UIMessage } from "ai";
import type { RecordedClientTool } from "../journal/records.ts";
import { DEFAULT_ERROR_TEXT } from "../turn/tool-answer.ts";
import { assertNever } from "../util/assert-never.ts";
import { isLongerThan } from "../util/bytes.ts";
import type { ThinkError } from "../util/errors.ts";
import { isUsableId, MAX_CALL_ID_BYTES } from "../util/ids.ts";
import { isObject, parseJson, type Json } from "../util/json.ts";
import { err, ok, type Result } from "../util/result.ts";
import { malformed, RequestTooLargeError, wireErrors } from "./errors.ts";

/** Limits of what is kept in the conversation's one row, which every turn reads. */
export const CLIENT_TOOLS_LIMIT_BYTES = 512 * 1024;
export const CUSTOM_BODY_LIMIT_BYTES = 512 * 1024;

export type ChatTrigger = "submit-message" | "regenerate-message";

export interface ChatRequestBody {
  readonly messages: readonly UIMessage[];
  readonly trigger: ChatTrigger;
  /** Absent: the stored ones stay. Empty: there are none any more. */
  readonly clientTools: readonly RecordedClientTool[] | undefined;
  /** The application's own fields. */
  readonly custom: Record<string, unknown> | undefined;
}

export type ChatCommand =
  | ({ readonly type: "request"; readonly requestId: string } & ChatRequestBody)
  /** The client waits for an answer to this id. */
  | {
      readonly type: "malformed-request";
      readonly requestId: string;
      readonly error: ThinkError;
    }
  | { readonly type: "cancel"; readonly requestId: string }
  | { readonly type: "clear" }
  /** The client's own list. The server's list does not change. */
  | { readonly type: "push" }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly output: unknown;
      readonly errorText: string | undefined;
      readonly autoContinue: boolean;
      readonly clientTools: readonly RecordedClientTool[] | undefined;
    }
  | {
      readonly type: "approval";
      readonly toolCallId: string;
      readonly approved: boolean;
      readonly autoContinue: boolean;
      readonly reason?: string | undefined;
      /** Which question it is meant for. */
      readonly approvalId?: string | undefined;
      readonly inputHash?: string | undefined;
      /** What the call is to run with in place of the input that was asked about. */
      readonly input?: unknown;
    }
  /** About messages that wait. The feature that has them reads its fields. */
  | { readonly type: "steering"; readonly fields: Record<string, unknown> }
  | { readonly type: "resume-request"; readonly probeId: string | undefined }
  | { readonly type: "resume-ack"; readonly requestId: string }
  /** Ours by type, but without an id that could be answered. */
  | { readonly type: "ignored"; readonly reason: string };

/** What a client that may only watch can send: it asks for frames of its own and changes nothing. */
export function isWatching({ type }: ChatCommand): boolean {
  switch (type) {
    case "resume-request":
    case "resume-ack":
    case "push":
    case "ignored":
      return true;
    case "request":
    case "malformed-request":
    case "cancel":
    case "clear":
    case "tool-result":
    case "approval":
    case "steering":
      return false;
    default:
      return assertNever(type);
  }
}

type Fields = Record<string, unknown>;

const READERS = new Map<string, (frame: Fields) => ChatCommand>([
  ["cf_agent_use_chat_request", readRequest],
  ["cf_agent_chat_request_cancel", ({ id }) => withId(id, (requestId) => ({ type: "cancel", requestId }))],
  ["cf_agent_chat_clear", () => ({ type: "clear" })],
  ["cf_agent_chat_messages", () => ({ type: "push" })],
  ["cf_agent_tool_result", readToolResult],
  ["cf_agent_tool_approval", readApproval],
  ["cf_agent_chat_steering", (fields) => ({ type: "steering", fields })],
  [
    "cf_agent_stream_resume_request",
    ({ probeId }) => ({ type: "resume-request", probeId: typeof probeId === "string" ? probeId : undefined })
  ],
  ["cf_agent_stream_resume_ack", ({ id }) => withId(id, (requestId) => ({ type: "resume-ack", requestId }))]
]);

/** The command in a text frame, or undefined when it is no chat frame. */
export function parseChatFrame(text: string): ChatCommand | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  const parsed = parseJson(text);
  const frame = parsed.ok ? parsed.value : undefined;
  if (!isObject(frame) || typeof frame.type !== "string") return undefined;
  return READERS.get(frame.type)?.(frame);
}

function readRequest({ id, init }: Fields): ChatCommand {
  if (typeof id !== "string" || id === "") return ignored("a chat request without an id");
  if (!isObject(init) || init.method !== "POST") return ignored("a chat request that is not a POST");
  if (init.body === undefined || init.body === null) return ignored("a chat request without a body");
  if (!isUsableId(id)) {
    return {
      type: "malformed-request",
      requestId: id,
      error: wireErrors.MalformedRequestError("its id cannot be used")
    };
  }
  const body = parseRequestBody(init.body);
  return body.ok
    ? { type: "request", requestId: id, ...body.value }
    : { type: "malformed-request", requestId: id, error: body.error };
}

function readToolResult(frame: Fields): ChatCommand {
  const { toolCallId, output, state, errorText } = frame;
  if (!isUsableId(toolCallId, MAX_CALL_ID_BYTES)) return ignored("a tool result without a call id");
  const tools = readClientTools(frame.clientTools);
  const isUsable = tools !== null && tools.length > 0 && !isLarger(tools, CLIENT_TOOLS_LIMIT_BYTES);
  const givenText = typeof errorText === "string" && errorText !== "" ? errorText : DEFAULT_ERROR_TEXT;
  return {
    type: "tool-result",
    toolCallId,
    output: output ?? null,
    errorText: state === "output-error" ? givenText : undefined,
    autoContinue: frame.autoContinue === true,
    // Unlike in a request, an empty list, or one that cannot be kept, changes nothing here: the result is taken without it.
    clientTools: isUsable ? tools : undefined
  };
}

function readApproval({ toolCallId, approved, autoContinue, input, ...frame }: Fields): ChatCommand {
  if (!isUsableId(toolCallId, MAX_CALL_ID_BYTES)) return ignored("an approval without a call id");
  if (typeof approved !== "boolean") return ignored("an approval that says neither yes nor no");
  return {
    type: "approval",
    toolCallId,
    approved,
    autoContinue: autoContinue === true,
    reason: textOf(frame.reason),
    approvalId: textOf(frame.approvalId),
    inputHash: textOf(frame.inputHash),
    input
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function withId(id: unknown, command: (requestId: string) => ChatCommand): ChatCommand {
  return isUsableId(id) ? command(id) : ignored("a frame without a request id");
}

function ignored(reason: string): ChatCommand {
  return { type: "ignored", reason };
}

/** Never throws. */
function parseRequestBody(text: unknown): Result<ChatRequestBody, ThinkError> {
  if (typeof text !== "string") return malformed("its body is not text");
  const parsed = parseJson(text);
  if (!parsed.ok) return malformed("its body is not JSON");
  if (!isObject(parsed.value)) return malformed("its body is not an object");
  return readRequestBody(parsed.value);
}

/** The same of a body that is parsed. */
export function readRequestBody(body: Fields): Result<ChatRequestBody, ThinkError> {
  const { messages, trigger, clientTools, ...custom } = body;
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
function readClientTools(value: unknown): readonly RecordedClientTool[] | null {
  if (!Array.isArray(value)) return null;
  const tools = new Map<string, RecordedClientTool>();
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

function tooLarge(what: string, limitBytes: number): Result<never, ThinkError> {
  return err(new RequestTooLargeError(what, limitBytes));
}
