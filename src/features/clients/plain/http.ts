// Chat over HTTP, as `DefaultChatTransport` of the AI SDK does it, directly below the agent's address:
//   POST   …/chat                asks; the answer is a stream of server-sent events
//   GET    …/chat/<id>/stream    resumes; 204 when there is nothing to resume. `id` is the page's own name for the chat
//   DELETE …/chat, …/chat/<id>/stream    stops what runs and waits
// Who may ask is decided where the request is routed; pages of other sites were refused before. A form of another page can
// send anything but JSON without the browser asking first, so nothing else is read.
import type { Clock } from "../../../host/ports.ts";
import { readText } from "../../../util/bytes.ts";
import { isJsonRequest, isObject, parseJson } from "../../../util/json.ts";
import {
  ForbiddenFrameError,
  MalformedRequestError,
  RequestTooLargeError,
  TooManyReadersError
} from "../../../wire/errors.ts";
import { readPlainRequest } from "./commands.ts";
import { READER_LIMIT, REFUSAL_STATUS, type PlainChat } from "./plain-chat.ts";
import { EventStream, SSE_HEADERS } from "./sse.ts";

/** The platform's limit for one frame of a socket. */
export const BODY_LIMIT_BYTES = 32 * 1024 * 1024;

const REST = /^(?:\/[^/]+\/stream)?$/;

export interface HttpChatInit {
  readonly chat: PlainChat;
  readonly clock: Clock;
  /** Whether the sender may only watch. */
  isReadonly(request: Request): Promise<boolean>;
}

/** `rest` is what follows "/chat". Undefined: the request is not about chat. */
export async function chatResponse(request: Request, rest: string, init: HttpChatInit): Promise<Response | undefined> {
  if (!REST.test(rest)) return undefined;
  const { method } = request;
  if (method === "GET" && rest !== "") return resume(request, init);
  const mayChange = (method === "POST" && rest === "") || method === "DELETE";
  if (!mayChange) return plain("Method not allowed", 405, { Allow: rest === "" ? "POST, DELETE" : "GET, DELETE" });
  if (await init.isReadonly(request)) return plain(new ForbiddenFrameError().message, 403);
  if (method === "POST") return ask(request, init);
  init.chat.stop();
  return new Response(null, { status: 204, headers: NO_STORE });
}

async function ask(request: Request, { chat, clock }: HttpChatInit): Promise<Response> {
  if (!isJsonRequest(request)) return plain("Send the messages with Content-Type: application/json.", 415);
  const text = await readText(request.body, BODY_LIMIT_BYTES);
  if (text === undefined) return plain(new RequestTooLargeError("messages", BODY_LIMIT_BYTES).message, 413);
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value)) return plain(new MalformedRequestError("it is not JSON").message, 400);
  const body = readPlainRequest(parsed.value);
  if (!body.ok) return plain(body.error.message, body.error instanceof RequestTooLargeError ? 413 : 400);
  if (chat.isFull) return full();
  const { stream, reader } = open(request, chat);
  const result = await chat.send(body.value, reader);
  if (result.kind === "following") return streamed(stream, clock);
  return plain(result.errorText, REFUSAL_STATUS[result.why]);
}

function resume(request: Request, { chat, clock }: HttpChatInit): Response {
  if (chat.isFull) return full();
  const { stream, reader } = open(request, chat);
  if (!chat.resume(reader)) return new Response(null, { status: 204, headers: NO_STORE });
  return streamed(stream, clock);
}

/** No client of either major says by itself which it is. */
const MAJOR_HEADER = "x-ai-sdk-major";

function open(request: Request, chat: PlainChat) {
  const stream = new EventStream(request.headers.get(MAJOR_HEADER) === "7" ? 7 : 6);
  const reader = chat.reader({ sink: stream });
  stream.onLeave = () => reader.cut();
  return { stream, reader };
}

function streamed(stream: EventStream, clock: Clock): Response {
  void stream.keepAlive(clock);
  return new Response(stream.body, { headers: SSE_HEADERS });
}

const NO_STORE = { "Cache-Control": "no-store" };

function full(): Response {
  return plain(new TooManyReadersError(READER_LIMIT).message, 503, { "Retry-After": "5" });
}

/** The AI SDK shows the text of an answer that is no success. */
function plain(text: string, status: number, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { ...headers, ...NO_STORE } });
}
