// The OpenAI API on a durable agent, directly below its address: `…/v1/chat/completions`, `…/v1/responses` and `…/v1/models`,
// so that `base_url` is the agent's address with `/v1`. A second encoding of plain requests: what is posted becomes a
// question or results of tools, and what the reader is sent is written in the API's words. The conversation is stored with
// the agent, whatever history the client posts. Access is decided as for plain chat over HTTP.
import type { UIMessage } from "ai";
import type { StepUsage } from "../../../journal/records.ts";
import { isToolPart } from "../../../model/index.ts";
import { readText } from "../../../util/bytes.ts";
import { isJsonRequest, isObject, parseJson } from "../../../util/json.ts";
import type { Result } from "../../../util/result.ts";
import { readRequestBody, type BodyError } from "../../../wire/commands.ts";
import {
  ForbiddenFrameError,
  MalformedRequestError,
  RequestTooLargeError,
  TooManyReadersError,
  UnknownCallError
} from "../../../wire/errors.ts";
import { BODY_LIMIT_BYTES, type HttpChatInit } from "../plain/http.ts";
import { READER_LIMIT, REFUSAL_STATUS } from "../plain/plain-chat.ts";
import { AnswerReader, type AnswerEvents } from "./answer.ts";
import { Completion, CompletionStream, type Head } from "./completions.ts";
import { errorBody, EVENT_HEADERS, EventReply, NO_STORE, ObjectReply } from "./reply.ts";
import { readCompletion, readResponse, type OpenAIRequest } from "./requests.ts";
import { ResponseObject, ResponseStream } from "./responses.ts";

export interface OpenAIInit extends HttpChatInit {
  readonly newId: () => string;
  readonly transcript: () => readonly UIMessage[];
  /** What the endpoint calls its one model. */
  readonly modelName: string;
}

interface Kind {
  read(body: Record<string, unknown>): Result<OpenAIRequest, MalformedRequestError>;
  asObject(head: Head, reply: ObjectReply): AnswerEvents;
  asStream(head: Head, reply: EventReply): AnswerEvents;
}

const KINDS: Readonly<Record<string, Kind>> = {
  "/chat/completions": {
    read: readCompletion,
    asObject: (head, reply) => new Completion(head, reply),
    asStream: (head, reply) => new CompletionStream(head, reply)
  },
  "/responses": {
    read: readResponse,
    asObject: (head, reply) => new ResponseObject(head, reply),
    asStream: (head, reply) => new ResponseStream(head, reply)
  }
};

/** Sent by the official clients with a request that they repeat. */
const RETRY_HEADER = "x-stainless-retry-count";
const IDEMPOTENCY_HEADER = "idempotency-key";
const MAX_KEY_CHARACTERS = 200;

/** `rest` is what follows "/v1". Undefined: no part of the API that is served. */
export async function openAIResponse(request: Request, rest: string, init: OpenAIInit): Promise<Response | undefined> {
  if (request.method === "GET" && rest.startsWith("/models")) return models(rest, init);
  const kind = Object.hasOwn(KINDS, rest) ? KINDS[rest] : undefined;
  if (!kind) return undefined;
  if (request.method !== "POST") return refuse("Method not allowed", 405);
  if (await init.isReadonly(request)) return refuse(new ForbiddenFrameError().message, 403);
  if (!isJsonRequest(request)) return refuse("Send the request with Content-Type: application/json.", 415);
  const text = await readText(request.body, BODY_LIMIT_BYTES);
  if (text === undefined) return refuse(new RequestTooLargeError("messages", BODY_LIMIT_BYTES).message, 413);
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value)) return refuse(new MalformedRequestError("it is not JSON").message, 400);
  const asked = kind.read(parsed.value);
  if (!asked.ok) return refuse(asked.error.message, 400);
  if (init.chat.isFull) return refuse(new TooManyReadersError(READER_LIMIT).message, 503);
  return asked.value.streams
    ? stream(request, asked.value, { ...init, kind })
    : answer(request, asked.value, { ...init, kind });
}

type Asking = OpenAIInit & { readonly kind: Kind };

async function answer(request: Request, asked: OpenAIRequest, init: Asking): Promise<Response> {
  const reply = new ObjectReply();
  const refusal = await send(request, { asked, events: init.kind.asObject(headOf(asked, init), reply) }, init);
  return refusal ?? reply.response;
}

async function stream(request: Request, asked: OpenAIRequest, init: Asking): Promise<Response> {
  const reply = new EventReply();
  const events = init.kind.asStream(headOf(asked, init), reply);
  const refusal = await send(request, { asked, events, reply }, init);
  if (refusal) return refusal;
  void reply.keepAlive(init.clock);
  return new Response(reply.body, { headers: EVENT_HEADERS });
}

/** Undefined: the answer is on its way. */
async function send(
  request: Request,
  { asked, events, reply }: { asked: OpenAIRequest; events: AnswerEvents; reply?: EventReply },
  init: Asking
): Promise<Response | undefined> {
  const usage = (): StepUsage | undefined => init.chat.usageOf(reader);
  const reader = init.chat.reader({ sink: new AnswerReader(events, usage) });
  if (reply) reply.onLeave = () => reader.cut();
  const { answers, tools } = asked;
  const shown = answers.length > 0 ? shownWith(answers, init.transcript()) : undefined;
  if (answers.length > 0 && !shown && asked.question.length === 0) return refuse(new UnknownCallError().message, 400);
  const isQuestion = asked.question.length > 0;
  const messages = isQuestion ? [questionOf(request, asked, init)] : shown ? [shown] : [];
  const body = readRequestBody({ messages, ...(tools && { clientTools: tools }) });
  if (!body.ok) return refuse(body.error.message, statusOf(body.error));
  const continues = isQuestion ? undefined : shown?.id;
  const result = await init.chat.send({ ...body.value, continues, answers, asksAgain: false }, reader);
  if (result.kind === "following") return undefined;
  return refuse(result.errorText, REFUSAL_STATUS[result.why]);
}

/** A request that a client repeats is the same question. */
function questionOf(request: Request, { question }: OpenAIRequest, { newId, transcript }: Asking): UIMessage {
  const parts = [...question];
  const key = request.headers.get(IDEMPOTENCY_HEADER)?.slice(0, MAX_KEY_CHARACTERS);
  if (key) return { id: `openai-${key}`, role: "user", parts };
  const newest = transcript().findLast(({ role }) => role === "user");
  const isRepeated =
    Number(request.headers.get(RETRY_HEADER)) > 0 && JSON.stringify(newest?.parts) === JSON.stringify(parts);
  return { id: isRepeated && newest ? newest.id : newId(), role: "user", parts };
}

/** The answer with these calls as its client was sent it: what has followed by now is not part of it. */
function shownWith(answers: OpenAIRequest["answers"], messages: readonly UIMessage[]): UIMessage | undefined {
  const isAnswered = (part: UIMessage["parts"][number]) =>
    isToolPart(part) && answers.some(({ toolCallId }) => toolCallId === part.toolCallId);
  const message = messages.findLast(({ parts }) => parts.some(isAnswered));
  if (!message) return undefined;
  const last = message.parts.findLastIndex(isAnswered);
  const next = message.parts.findIndex(({ type }, index) => type === "step-start" && index > last);
  return next === -1 ? message : { ...message, parts: message.parts.slice(0, next) };
}

function headOf({ model, includesUsage }: OpenAIRequest, { newId, clock }: OpenAIInit): Head {
  return { id: newId(), model, created: Math.floor(clock.now() / 1000), includesUsage };
}

/** The list of one, or that one. */
function models(rest: string, { modelName, clock }: OpenAIInit): Response | undefined {
  const model = { id: modelName, object: "model", created: Math.floor(clock.now() / 1000), owned_by: "everthink" };
  if (rest === "/models") return Response.json({ object: "list", data: [model] }, { headers: NO_STORE });
  return rest === `/models/${modelName}` ? Response.json(model, { headers: NO_STORE }) : undefined;
}

function statusOf(error: BodyError): number {
  return error instanceof RequestTooLargeError ? 413 : 400;
}

function refuse(message: string, status: number): Response {
  const body = errorBody(message, status >= 500 ? "server_error" : "invalid_request_error");
  return Response.json(body, { status, headers: NO_STORE });
}
