// What a client of the OpenAI API posts, as what it means here: a question, results of tools that the client runs, and
// descriptions of such tools. The rest of the posted history is the client's own copy; the conversation is stored. System
// messages are not taken from a client: the agent has its own. The client is not trusted, and is parsed nowhere else.
import type { UIMessage } from "ai";
import type { ThinkError } from "../../../util/errors.ts";
import { isObject } from "../../../util/json.ts";
import { ok, type Result } from "../../../util/result.ts";
import { malformed } from "../../../wire/errors.ts";
import type { PostedAnswer } from "../plain/commands.ts";

type Fields = Readonly<Record<string, unknown>>;
type Part = UIMessage["parts"][number];

export interface OpenAIRequest {
  readonly model: string;
  readonly streams: boolean;
  /** The field `stream_options.include_usage`. */
  readonly includesUsage: boolean;
  /** Parts of the question; empty when results of tools are posted. */
  readonly question: readonly Part[];
  readonly answers: readonly PostedAnswer[];
  /** The client's tools, as `clientTools` of a chat request has them; undefined: none were described. */
  readonly tools: readonly Fields[] | undefined;
}

/** Reads the body of `POST …/v1/chat/completions`. */
export function readCompletion(body: Fields): Result<OpenAIRequest, ThinkError> {
  const { messages, tools } = body;
  if (!Array.isArray(messages)) return malformed("it has no list of messages");
  const tail = messages.slice(messages.findLastIndex(isAssistant) + 1).filter(isObject);
  const answers = tail.flatMap(({ role, tool_call_id: id, content }) =>
    role === "tool" && typeof id === "string" ? [makeResult(id, readText(content))] : []
  );
  const question = tail.flatMap(({ role, content }) => (role === "user" ? readParts(content) : []));
  const described = Array.isArray(tools)
    ? tools.flatMap((tool) => (isObject(tool) ? [tool["function"]] : []))
    : undefined;
  return read(body, { question, answers, tools: described?.filter(isObject) });
}

/** Reads the body of `POST …/v1/responses`. */
export function readResponse(body: Fields): Result<OpenAIRequest, ThinkError> {
  const { input, tools } = body;
  const items: unknown[] =
    typeof input === "string" ? [{ role: "user", content: input }] : Array.isArray(input) ? input : [];
  const tail = items.slice(items.findLastIndex(isAnswerItem) + 1).filter(isObject);
  const answers = tail.flatMap(({ type, call_id: id, output }) =>
    type === "function_call_output" && typeof id === "string" ? [makeResult(id, readText(output))] : []
  );
  const question = tail.flatMap(({ role, content }) => (role === "user" ? readParts(content) : []));
  const described = Array.isArray(tools) ? tools.filter(isObject).filter(({ type }) => type === "function") : undefined;
  return read(body, { question, answers, tools: described });
}

interface Meaning extends Pick<OpenAIRequest, "answers" | "tools"> {
  /** The parts of the question; undefined stands for a part that cannot be taken. */
  readonly question: readonly (Part | undefined)[];
}

function read(body: Fields, meaning: Meaning): Result<OpenAIRequest, ThinkError> {
  if (meaning.question.length === 0 && meaning.answers.length === 0) {
    return malformed("it ends with neither a question nor the result of a tool");
  }
  const question = meaning.question.filter((part) => part !== undefined);
  // Without it the question would be another one.
  if (question.length < meaning.question.length) {
    return malformed("a part of the question is neither text nor a picture, a sound or a file with its data");
  }
  const { model, stream, stream_options: options } = body;
  const includesUsage = isObject(options) && options["include_usage"] === true;
  const tools = meaning.tools && meaning.tools.length > 0 ? meaning.tools : undefined;
  const name = typeof model === "string" ? model : "agent";
  return ok({ answers: meaning.answers, question, tools, model: name, streams: stream === true, includesUsage });
}

function isAssistant(message: unknown): boolean {
  return isObject(message) && message["role"] === "assistant";
}

function isAnswerItem(item: unknown): boolean {
  return isAssistant(item) || (isObject(item) && (item["type"] === "function_call" || item["type"] === "reasoning"));
}

function makeResult(toolCallId: string, output: string): PostedAnswer {
  return { kind: "result", toolCallId, output };
}

/** Reads text, or a list of parts of either API. Undefined stands for each part that is not known. */
function readParts(content: unknown): (Part | undefined)[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map((part) => (isObject(part) ? readPart(part) : undefined)) : [];
}

function readPart(part: Fields): Part | undefined {
  const { text, image_url: image, input_audio: sound, file } = part;
  if (typeof text === "string") return { type: "text", text };
  const picture = isObject(image) ? image["url"] : image;
  if (typeof picture === "string") return { type: "file", mediaType: mediaTypeOf(picture), url: picture };
  return isObject(sound) ? readSound(sound) : readFile(isObject(file) ? file : part);
}

function readSound({ data, format }: Fields): Part | undefined {
  if (typeof data !== "string" || typeof format !== "string") return undefined;
  const mediaType = format === "mp3" ? "audio/mpeg" : `audio/${format}`;
  return { type: "file", mediaType, url: `data:${mediaType};base64,${data}` };
}

/** Reads a file with its data. Ids and addresses of files are another store's. */
function readFile({ file_data: data, filename }: Fields): Part | undefined {
  if (typeof data !== "string" || !data.startsWith("data:")) return undefined;
  const name = typeof filename === "string" ? filename : undefined;
  return { type: "file", mediaType: mediaTypeOf(data), url: data, filename: name };
}

function readText(content: unknown): string {
  if (typeof content === "string") return content;
  return readParts(content)
    .map((part) => (part?.type === "text" ? part.text : ""))
    .join("");
}

function mediaTypeOf(url: string): string {
  return /^data:([^;,]+)/.exec(url)?.[1] ?? "image/*";
}
