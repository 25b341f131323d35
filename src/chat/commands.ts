// Client to server: one text frame becomes one command, or none of ours. The only place that reads what clients send;
// never throws, and what has a chat type but makes no sense becomes a command that says so.
import { DEFAULT_ERROR_TEXT } from "../turn/tool-answer.ts";
import type { ClientTool } from "../journal/records.ts";
import { assertNever } from "../util/assert-never.ts";
import { isUsableId, MAX_CALL_ID_BYTES } from "../util/ids.ts";
import { isObject, parseJson } from "../util/json.ts";
import { MalformedRequestError, type RequestTooLargeError } from "./errors.ts";
import { parseRequestBody, readClientTools, type ChatRequestBody } from "./request-body.ts";

export type ChatCommand =
  | ({ readonly type: "request"; readonly requestId: string } & ChatRequestBody)
  /** The client waits for an answer to this id. */
  | {
      readonly type: "malformed-request";
      readonly requestId: string;
      readonly error: MalformedRequestError | RequestTooLargeError;
    }
  | { readonly type: "cancel"; readonly requestId: string }
  | { readonly type: "clear" }
  /** The client's own list. The server's is the truth. */
  | { readonly type: "push" }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly output: unknown;
      readonly errorText: string | undefined;
      readonly autoContinue: boolean;
      readonly clientTools: readonly ClientTool[] | undefined;
    }
  | {
      readonly type: "approval";
      readonly toolCallId: string;
      readonly approved: boolean;
      readonly autoContinue: boolean;
    }
  | { readonly type: "resume-request"; readonly probeId: string | undefined }
  | { readonly type: "resume-ack"; readonly requestId: string }
  /** Ours by type, and nobody can be answered. */
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
  [
    "cf_agent_stream_resume_request",
    ({ probeId }) => ({ type: "resume-request", probeId: typeof probeId === "string" ? probeId : undefined })
  ],
  ["cf_agent_stream_resume_ack", ({ id }) => withId(id, (requestId) => ({ type: "resume-ack", requestId }))]
]);

/** The command in a text frame, or undefined when the frame belongs to somebody else. */
export function parseChatFrame(text: string): ChatCommand | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  const parsed = parseJson(text);
  return parsed.ok ? readChatFrame(parsed.value) : undefined;
}

/** For a caller that has parsed the frame already. */
export function readChatFrame(frame: unknown): ChatCommand | undefined {
  if (!isObject(frame) || typeof frame.type !== "string") return undefined;
  return READERS.get(frame.type)?.(frame);
}

function readRequest({ id, init }: Fields): ChatCommand {
  if (typeof id !== "string" || id === "") return ignored("a chat request without an id");
  if (!isObject(init) || init.method !== "POST") return ignored("a chat request that is not a POST");
  if (init.body === undefined || init.body === null) return ignored("a chat request without a body");
  if (!isUsableId(id)) {
    return { type: "malformed-request", requestId: id, error: new MalformedRequestError("its id cannot be used") };
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
  const givenText = typeof errorText === "string" && errorText !== "" ? errorText : DEFAULT_ERROR_TEXT;
  return {
    type: "tool-result",
    toolCallId,
    output: output ?? null,
    errorText: state === "output-error" ? givenText : undefined,
    autoContinue: frame.autoContinue === true,
    // Unlike in a request, an empty list says nothing here.
    clientTools: tools && tools.length > 0 ? tools : undefined
  };
}

function readApproval({ toolCallId, approved, autoContinue }: Fields): ChatCommand {
  if (!isUsableId(toolCallId, MAX_CALL_ID_BYTES)) return ignored("an approval without a call id");
  if (typeof approved !== "boolean") return ignored("an approval that says neither yes nor no");
  return { type: "approval", toolCallId, approved, autoContinue: autoContinue === true };
}

function withId(id: unknown, command: (requestId: string) => ChatCommand): ChatCommand {
  return isUsableId(id) ? command(id) : ignored("a frame without a request id");
}

function ignored(reason: string): ChatCommand {
  return { type: "ignored", reason };
}
