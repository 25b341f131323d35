// What a client of the OpenAI API posts, as what it means here: a question, results of tools that the client runs, and
// descriptions of such tools. The rest of the posted history is the client's own copy; the conversation is stored. System
// messages are not taken from a client: the agent has its own. Untrusted, and parsed nowhere else.
import type { UIMessage } from "ai";
import { isObject } from "../../../util/json.ts";
import { err, ok, type Result } from "../../../util/result.ts";
import { MalformedRequestError } from "../../../wire/errors.ts";
import type { PostedAnswer } from "../plain/commands.ts";

type Fields = Readonly<Record<string, unknown>>;
type Part = UIMessage["parts"][number];

export interface OpenAIRequest {
  readonly model: string;
  readonly streams: boolean;
  /** `stream_options.include_usage` */
  readonly includesUsage: boolean;
  /** Parts of what is asked; empty when results of tools are posted. */
  readonly question: readonly Part[];
  readonly answers: readonly PostedAnswer[];
  /** As `clientTools` of a chat request; undefined: none were described. */
  readonly tools: readonly Fields[] | undefined;
}

/** The body of `POST …/v1/chat/completions`. */
export function readCompletion(body: Fields): Result<OpenAIRequest, MalformedRequestError> {
  const { messages, tools } = body;
  if (!Array.isArray(messages)) return malformed("it has no list of messages");
  const tail = messages.slice(messages.findLastIndex(isAssistant) + 1).filter(isObject);
  const answers = tail.flatMap(({ role, tool_call_id: id, content }) =>
    role === "tool" && typeof id === "string" ? [result(id, textOf(content))] : []
  );
  const question = tail.flatMap(({ role, content }) => (role === "user" ? partsOf(content) : []));
  const described = Array.isArray(tools)
    ? tools.flatMap((tool) => (isObject(tool) ? [tool["function"]] : []))
    : undefined;
  return read(body, { question, answers, tools: described?.filter(isObject) });
}

/** The body of `POST …/v1/responses`. */
export function readResponse(body: Fields): Result<OpenAIRequest, MalformedRequestError> {
  const { input, tools } = body;
  const items: unknown[] =
    typeof input === "string" ? [{ role: "user", content: input }] : Array.isArray(input) ? input : [];
  const tail = items.slice(items.findLastIndex(isAnswerItem) + 1).filter(isObject);
  const answers = tail.flatMap(({ type, call_id: id, output }) =>
    type === "function_call_output" && typeof id === "string" ? [result(id, textOf(output))] : []
  );
  const question = tail.flatMap(({ role, content }) => (role === "user" ? partsOf(content) : []));
  const described = Array.isArray(tools) ? tools.filter(isObject).filter(({ type }) => type === "function") : undefined;
  return read(body, { question, answers, tools: described });
}

interface Meaning extends Pick<OpenAIRequest, "answers" | "tools"> {
  /** Undefined for a part that cannot be taken. */
  readonly question: readonly (Part | undefined)[];
}

function read(body: Fields, meaning: Meaning): Result<OpenAIRequest, MalformedRequestError> {
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

function result(toolCallId: string, output: string): PostedAnswer {
  return { kind: "result", toolCallId, output };
}

/** Text, or a list of parts of either API; undefined for each that is not known. */
function partsOf(content: unknown): (Part | undefined)[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map((part) => (isObject(part) ? partOf(part) : undefined)) : [];
}

function partOf(part: Fields): Part | undefined {
  const { text, image_url: image, input_audio: sound, file } = part;
  if (typeof text === "string") return { type: "text", text };
  const picture = isObject(image) ? image["url"] : image;
  if (typeof picture === "string") return { type: "file", mediaType: mediaTypeOf(picture), url: picture };
  return isObject(sound) ? soundOf(sound) : fileOf(isObject(file) ? file : part);
}

function soundOf({ data, format }: Fields): Part | undefined {
  if (typeof data !== "string" || typeof format !== "string") return undefined;
  const mediaType = format === "mp3" ? "audio/mpeg" : `audio/${format}`;
  return { type: "file", mediaType, url: `data:${mediaType};base64,${data}` };
}

/** Ids and addresses of files are another store's. */
function fileOf({ file_data: data, filename }: Fields): Part | undefined {
  if (typeof data !== "string" || !data.startsWith("data:")) return undefined;
  return { type: "file", mediaType: mediaTypeOf(data), url: data, ...(typeof filename === "string" && { filename }) };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return partsOf(content)
    .map((part) => (part?.type === "text" ? part.text : ""))
    .join("");
}

function mediaTypeOf(url: string): string {
  return /^data:([^;,]+)/.exec(url)?.[1] ?? "image/*";
}

function malformed(problem: string): Result<never, MalformedRequestError> {
  return err(new MalformedRequestError(problem));
}
