// Chat over HTTP, as `DefaultChatTransport` of the AI SDK does it, directly below the agent's address:
//   POST   …/chat                asks; the answer is a stream of server-sent events
//   GET    …/chat/<id>/stream    resumes; 204 when there is nothing to resume. `id` is the page's own name for the chat
//   DELETE …/chat, …/chat/<id>/stream    stops what runs and waits
// Who may ask is decided where the request is routed; pages of other sites were refused before. A form of another page can
// send anything but JSON without the browser asking first, so nothing else is read.
import { readText } from "../../../util/bytes.ts";
import { isJsonRequest, isObject, parseJson, NO_STORE } from "../../../util/json.ts";
import { RequestTooLargeError, wireErrors } from "../../../wire/errors.ts";
import { readPlainRequest } from "./commands.ts";
import { READER_LIMIT, REFUSAL_STATUS, type PlainChat } from "./plain-chat.ts";
import type { PlainReader, PlainSink } from "./reader.ts";
import { DONE, EVENT_HEADERS, TextStream } from "./text-stream.ts";

/** Bytes of a body: the platform's limit for one frame of a socket. */
export const BODY_LIMIT_BYTES = 32 * 1024 * 1024;

const REST = /^(?:\/[^/]+\/stream)?$/;

/** Answers a request. `rest` is what follows "/chat". Undefined: the request is not about chat. */
export async function chatResponse(request: Request, rest: string, chat: PlainChat): Promise<Response | undefined> {
  if (!REST.test(rest)) return undefined;
  const { method } = request;
  if (method === "GET" && rest !== "") return resume(request, chat);
  const mayChange = (method === "POST" && rest === "") || method === "DELETE";
  if (!mayChange) return respond("Method not allowed", 405, { Allow: rest === "" ? "POST, DELETE" : "GET, DELETE" });
  if (await chat.isReadonly(request)) return respond(wireErrors.ForbiddenFrameError().message, 403);
  if (method === "POST") return ask(request, chat);
  chat.services.turns.cancelAll("cancelled");
  return new Response(null, { status: 204, headers: NO_STORE });
}

async function ask(request: Request, chat: PlainChat): Promise<Response> {
  if (!isJsonRequest(request)) return respond("Send the messages with Content-Type: application/json.", 415);
  const text = await readText(request.body, BODY_LIMIT_BYTES);
  if (text === undefined) return respond(new RequestTooLargeError("messages", BODY_LIMIT_BYTES).message, 413);
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value))
    return respond(wireErrors.MalformedRequestError("it is not JSON").message, 400);
  const body = readPlainRequest(parsed.value);
  if (!body.ok) return respond(body.error.message, body.error instanceof RequestTooLargeError ? 413 : 400);
  if (chat.isFull) return refuseReader();
  const { stream, reader } = open(request, chat);
  const result = await chat.send(body.value, reader);
  if (result.kind === "following") return respondStream(stream, chat);
  return respond(result.errorText, REFUSAL_STATUS[result.why]);
}

function resume(request: Request, chat: PlainChat): Response {
  if (chat.isFull) return refuseReader();
  const { stream, reader } = open(request, chat);
  if (!chat.resume(reader)) return new Response(null, { status: 204, headers: NO_STORE });
  return respondStream(stream, chat);
}

/** The header that names the client's major: no client of either says by itself which it is. */
const MAJOR_HEADER = "x-ai-sdk-major";

function open(request: Request, chat: PlainChat): { readonly stream: EventStream; readonly reader: PlainReader } {
  const stream = new EventStream(request.headers.get(MAJOR_HEADER) === "7" ? 7 : 6);
  const reader = chat.newReader(stream);
  stream.onLeave = () => reader.cut();
  return { stream, reader };
}

function respondStream(stream: EventStream, { services }: PlainChat): Response {
  void stream.keepAlive(services.clock);
  return new Response(stream.body, { headers: { ...EVENT_HEADERS, "X-Vercel-AI-UI-Message-Stream": "v1" } });
}

function refuseReader(): Response {
  return respond(wireErrors.TooManyReadersError(READER_LIMIT).message, 503, { "Retry-After": "5" });
}

/** Answers with a text. The AI SDK shows the text of an answer that is no success. */
function respond(text: string, status: number, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { ...headers, ...NO_STORE } });
}

/** Chunks that `ai` 6 does not know. It fails over the first one. */
const NEWER_CHUNK = /^\{"type":"(?:custom|reasoning-file|reset-step|steering-message|tool-approval-response)"/;

/** The UI message stream of the AI SDK as server-sent events: what `DefaultChatTransport` reads. */
class EventStream extends TextStream implements PlainSink {
  readonly #major: 6 | 7;

  /** `major` is the oldest version of the AI SDK that may read it. */
  constructor(major: 6 | 7) {
    super();
    this.#major = major;
  }

  chunk(body: string): boolean {
    if (this.#major === 6 && NEWER_CHUNK.test(body)) return true;
    return this.write(`data: ${body}\n\n`);
  }

  end(): void {
    this.close(DONE);
  }

  fail(errorText: string): void {
    this.close(this.errorText(errorText));
  }

  protected override errorText(message: string): string {
    return `data: ${JSON.stringify({ type: "error", errorText: message })}\n\n${DONE}`;
  }
}
