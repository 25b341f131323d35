// The OpenAI API on a durable agent, directly below its address: `…/v1/chat/completions`, `…/v1/responses` and `…/v1/models`,
// so that `base_url` is the agent's address with `/v1`. A second encoding of plain requests: what is posted becomes a
// question or results of tools, and what the reader is sent is written in the API's words. The conversation is stored with
// the agent, whatever history the client posts. Access is decided as for plain chat over HTTP.
import type { UIMessage } from "ai";
import { runtimeOf } from "../../../agent/runtime.ts";
import type { StepUsage } from "../../../journal/records.ts";
import { isToolPart } from "../../../model/index.ts";
import { readText } from "../../../util/bytes.ts";
import type { ThinkError } from "../../../util/errors.ts";
import { isJsonRequest, isObject, jsonResponse, parseJson } from "../../../util/json.ts";
import { kebabCase } from "../../../util/kebab.ts";
import type { Result } from "../../../util/result.ts";
import { readRequestBody } from "../../../wire/commands.ts";
import { RequestTooLargeError, wireErrors } from "../../../wire/errors.ts";
import { BODY_LIMIT_BYTES } from "../plain/http.ts";
import { READER_LIMIT, REFUSAL_STATUS, type PlainChat, type PlainServices } from "../plain/plain-chat.ts";
import { EVENT_HEADERS } from "../plain/text-stream.ts";
import { AnswerReader, type AnswerEvents } from "./answer.ts";
import { Completion, CompletionStream, type Head } from "./completions.ts";
import { errorBody, EventReply, ObjectReply } from "./reply.ts";
import { readCompletion, readResponse, type OpenAIRequest } from "./requests.ts";
import { ResponseObject, ResponseStream } from "./responses.ts";

/** One of the API's ways to ask. */
interface Kind {
  read(body: Record<string, unknown>): Result<OpenAIRequest, ThinkError>;
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

/** The header with which the official clients mark a request that they repeat. */
const RETRY_HEADER = "x-stainless-retry-count";
const IDEMPOTENCY_HEADER = "idempotency-key";
const MAX_KEY_CHARACTERS = 200;

/** Answers a request. `rest` is what follows "/v1". Undefined: no part of the API that is served. */
export async function openAIResponse(request: Request, rest: string, chat: PlainChat): Promise<Response | undefined> {
  if (request.method === "GET" && rest.startsWith("/models")) return listModels(rest, chat.services);
  const kind = Object.hasOwn(KINDS, rest) ? KINDS[rest] : undefined;
  if (!kind) return undefined;
  if (request.method !== "POST") return refuse("Method not allowed", 405);
  if (await chat.isReadonly(request)) return refuse(wireErrors.ForbiddenFrameError().message, 403);
  if (!isJsonRequest(request)) return refuse("Send the request with Content-Type: application/json.", 415);
  const text = await readText(request.body, BODY_LIMIT_BYTES);
  if (text === undefined) return refuse(new RequestTooLargeError("messages", BODY_LIMIT_BYTES).message, 413);
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value))
    return refuse(wireErrors.MalformedRequestError("it is not JSON").message, 400);
  const asked = kind.read(parsed.value);
  if (!asked.ok) return refuse(asked.error.message, 400);
  if (chat.isFull) return refuse(wireErrors.TooManyReadersError(READER_LIMIT).message, 503);
  const call = { request, asked: asked.value, chat };
  return asked.value.streams ? stream(call, kind) : answer(call, kind);
}

interface Call {
  readonly request: Request;
  readonly asked: OpenAIRequest;
  readonly chat: PlainChat;
}

async function answer(call: Call, kind: Kind): Promise<Response> {
  const reply = new ObjectReply();
  return (await send(call, kind.asObject(makeHead(call), reply))) ?? reply.response;
}

async function stream(call: Call, kind: Kind): Promise<Response> {
  const reply = new EventReply();
  const refusal = await send(call, kind.asStream(makeHead(call), reply), reply);
  if (refusal) return refusal;
  void reply.keepAlive(call.chat.services.clock);
  return new Response(reply.body, { headers: EVENT_HEADERS });
}

/** Asks the agent. Undefined: the answer is on its way. */
async function send(
  { request, asked, chat }: Call,
  events: AnswerEvents,
  reply?: EventReply
): Promise<Response | undefined> {
  const usage = (): StepUsage | undefined => chat.usageOf(reader);
  const reader = chat.newReader(new AnswerReader(events, usage));
  if (reply) reply.onLeave = () => reader.cut();
  const { answers, tools } = asked;
  const shown = answers.length > 0 ? findShown(answers, chat.services.turns.transcript()) : undefined;
  if (answers.length > 0 && !shown && asked.question.length === 0)
    return refuse(wireErrors.UnknownCallError().message, 400);
  const isQuestion = asked.question.length > 0;
  const messages = isQuestion ? [makeQuestion(request, asked, chat.services)] : shown ? [shown] : [];
  const body = readRequestBody({ messages, clientTools: tools });
  if (!body.ok) return refuse(body.error.message, statusOf(body.error));
  const continues = isQuestion ? undefined : shown?.id;
  const result = await chat.send({ ...body.value, continues, answers, asksAgain: false }, reader);
  if (result.kind === "following") return undefined;
  return refuse(result.errorText, REFUSAL_STATUS[result.why]);
}

/** Makes the message that is asked. A request that a client repeats is the same question. */
function makeQuestion(request: Request, { question }: OpenAIRequest, { ids, turns }: PlainServices): UIMessage {
  const parts = [...question];
  const key = request.headers.get(IDEMPOTENCY_HEADER)?.slice(0, MAX_KEY_CHARACTERS);
  if (key) return { id: `openai-${key}`, role: "user", parts };
  const newest = turns.transcript().findLast(({ role }) => role === "user");
  const isRepeated =
    Number(request.headers.get(RETRY_HEADER)) > 0 && JSON.stringify(newest?.parts) === JSON.stringify(parts);
  return { id: isRepeated && newest ? newest.id : ids.next(), role: "user", parts };
}

/** Finds the answer with these calls as its client was sent it: what has followed by now is not part of it. */
function findShown(answers: OpenAIRequest["answers"], messages: readonly UIMessage[]): UIMessage | undefined {
  const isAnswered = (part: UIMessage["parts"][number]) =>
    isToolPart(part) && answers.some(({ toolCallId }) => toolCallId === part.toolCallId);
  const message = messages.findLast(({ parts }) => parts.some(isAnswered));
  if (!message) return undefined;
  const last = message.parts.findLastIndex(isAnswered);
  const next = message.parts.findIndex(({ type }, index) => type === "step-start" && index > last);
  return next === -1 ? message : { ...message, parts: message.parts.slice(0, next) };
}

function makeHead({ asked, chat }: Call): Head {
  const { ids, clock } = chat.services;
  const { model, includesUsage } = asked;
  return { id: ids.next(), model, created: Math.floor(clock.now() / 1000), includesUsage };
}

/** Answers with the list of the one model, or with that one. It is called as the class is. */
function listModels(rest: string, { agent, clock }: PlainServices): Response | undefined {
  const id = kebabCase(runtimeOf(agent).identity.className);
  const model = { id, object: "model", created: Math.floor(clock.now() / 1000), owned_by: "everthink" };
  if (rest === "/models") return jsonResponse({ object: "list", data: [model] });
  return rest === `/models/${id}` ? jsonResponse(model) : undefined;
}

function statusOf(error: ThinkError): number {
  return error instanceof RequestTooLargeError ? 413 : 400;
}

function refuse(message: string, status: number): Response {
  return jsonResponse(errorBody(message, status >= 500 ? "server_error" : "invalid_request_error"), status);
}
