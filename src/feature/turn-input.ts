// What callers may give as the input of a turn, brought into the one form the engine takes: messages, or a function of
// the transcript that is called when the turn's time has come. Messages are checked here: the engine trusts them.
import type { UIMessage } from "ai";
import { sessionErrors } from "../session/errors.ts";
import type { TurnInput } from "../turn/admit.ts";
import { errorMessage } from "../util/errors.ts";
import { isUsableId } from "../util/ids.ts";
import { isObject, type Json } from "../util/json.ts";
import { featureErrors } from "./errors.ts";

/** Messages, or a function of the current transcript. */
export type MessagesInput = UIMessage[] | ((current: UIMessage[]) => UIMessage[] | Promise<UIMessage[]>);

/** A text becomes one user message. */
export type ChatInput = string | UIMessage | MessagesInput;

export interface InputOptions {
  readonly newId: () => string;
  /** Stamped on the user messages. */
  readonly channel?: string;
}

export function turnInput(input: ChatInput, options: InputOptions): TurnInput {
  if (typeof input === "function") {
    return async (transcript) => admitted(await input(transcript), options);
  }
  if (typeof input === "string") {
    return admitted([textMessage(input, options)], options);
  }
  return admitted(Array.isArray(input) ? input : [input], options);
}

/** What a submission takes: a function cannot be stored. */
export type SubmissionInput = string | UIMessage | UIMessage[];

export function submittedMessages(input: SubmissionInput, options: InputOptions): UIMessage[] {
  if (typeof input === "string") return input === "" ? [] : admitted([textMessage(input, options)], options);
  return admitted(Array.isArray(input) ? input : [input], options);
}

function textMessage(text: string, { newId }: InputOptions): UIMessage {
  return { id: newId(), role: "user", parts: [{ type: "text", text }] };
}

/** Nothing to say, said in advance: an empty text or list. A function may still return nothing, and the turn runs. */
export function isEmptyInput(input: ChatInput): boolean {
  return input === "" || (Array.isArray(input) && input.length === 0);
}

const ROLES: ReadonlySet<unknown> = new Set(["user", "assistant", "system"]);

/** Throws InvalidMessageError; what passes has the fields every reader of messages relies on. */
export function checkMessages(messages: unknown): UIMessage[] {
  if (!Array.isArray(messages)) throw sessionErrors.InvalidMessageError("a list of messages was expected");
  for (const message of messages as unknown[]) {
    if (!isObject(message)) throw sessionErrors.InvalidMessageError("it is not an object");
    if (typeof message["id"] !== "string" || message["id"] === "")
      throw sessionErrors.InvalidMessageError("it has no id");
    if (!isUsableId(message["id"])) throw sessionErrors.InvalidMessageError("its id cannot be used");
    if (!ROLES.has(message["role"]))
      throw sessionErrors.InvalidMessageError(`its role is ${JSON.stringify(message["role"])}`);
    if (!Array.isArray(message["parts"])) throw sessionErrors.InvalidMessageError("it has no parts");
  }
  // Checked above, as far as it is looked into.
  const checked = messages as UIMessage[];
  checkFiles(checked);
  return checked;
}

function admitted(messages: unknown, { channel }: InputOptions): UIMessage[] {
  const checked = checkMessages(messages);
  if (channel === undefined) return checked;
  return checked.map((message) =>
    message.role === "user"
      ? { ...message, metadata: { ...(isObject(message.metadata) && message.metadata), channel } }
      : message
  );
}

/** Throws InvalidDataError unless the value is the same after a restart. */
export function checkJson(value: unknown): Json {
  try {
    const text = JSON.stringify(value);
    // What JSON.stringify wrote is JSON.
    if (text !== undefined) return JSON.parse(text) as Json;
  } catch (error) {
    throw featureErrors.InvalidDataError(errorMessage(error));
  }
  throw featureErrors.InvalidDataError("there is no value");
}

// ── Files ──

/** `image/png`, also with a wildcard (`image/*`) or parameters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/([\w!#$&^.+-]+|\*)(\s*;.*)?$/;
/** Addresses that mean something only in the program that made them. */
const LOCAL_SCHEMES: readonly string[] = ["blob:", "file:", "filesystem:", "javascript:", "about:"];
const NOT_BASE64 = /[^A-Za-z0-9+/_=\s-]/;
/** More of a name is not repeated. */
const MAX_NAME_CHARS = 100;

/**
 * Throws AttachmentError for the first file that no provider could read: it would be part of every later prompt. Looks at
 * the user's messages only, others are the server's. Whether a given model can read a file is not known here.
 */
export function checkFiles(messages: readonly { readonly role: string; readonly parts: readonly unknown[] }[]): void {
  for (const { role, parts } of messages) {
    if (role !== "user") continue;
    for (const part of parts) {
      if (!isObject(part) || part["type"] !== "file") continue;
      const problem = fileProblem(part);
      if (problem !== undefined) throw featureErrors.AttachmentError(nameOf(part), problem);
    }
  }
}

function nameOf({ filename }: Record<string, unknown>): string | undefined {
  return typeof filename === "string" && filename !== "" ? filename.slice(0, MAX_NAME_CHARS) : undefined;
}

function fileProblem({ mediaType, url, providerReference }: Record<string, unknown>): string | undefined {
  if (typeof mediaType !== "string" || mediaType === "") return "it has no media type";
  if (!MEDIA_TYPE.test(mediaType)) return `"${mediaType.slice(0, MAX_NAME_CHARS)}" is not a media type`;
  // The provider has it already.
  if (isObject(providerReference)) return undefined;
  if (typeof url !== "string" || url === "") return "it has neither data nor an address";
  if (url.startsWith("data:")) return dataProblem(url);
  if (!URL.canParse(url)) return "its address cannot be read";
  const { protocol } = new URL(url);
  return LOCAL_SCHEMES.includes(protocol)
    ? `an address that begins with ${protocol} cannot be read by others`
    : undefined;
}

function dataProblem(url: string): string | undefined {
  const comma = url.indexOf(",");
  const data = comma < 0 ? "" : url.slice(comma + 1);
  if (data.trim() === "") return "it is empty";
  if (!url.slice(0, comma).toLowerCase().endsWith(";base64") || data.includes("%")) return undefined;
  if (NOT_BASE64.test(data)) return "its data is not base64";
  return /^[=\s]/.test(data) ? "it is empty" : undefined;
}
