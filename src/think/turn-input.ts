// What callers may give as the input of a turn, brought into the one form the engine takes: messages, or a function of
// the transcript that is called when the turn's time has come. Messages are checked here: the engine trusts them.
import type { UIMessage } from "ai";
import { InvalidMessageError } from "../session/errors.ts";
import type { TurnInput } from "../turn/admit.ts";
import { errorMessage } from "../util/errors.ts";
import { isUsableId } from "../util/ids.ts";
import { isObject, type Json } from "../util/json.ts";
import { InvalidDataError } from "./errors.ts";
import { checkFiles } from "./file-check.ts";

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
    return admitted([{ id: options.newId(), role: "user", parts: [{ type: "text", text: input }] }], options);
  }
  return admitted(Array.isArray(input) ? input : [input], options);
}

/** Nothing to say, said in advance: an empty text or list. A function may still return nothing, and the turn runs. */
export function isEmptyInput(input: ChatInput): boolean {
  return input === "" || (Array.isArray(input) && input.length === 0);
}

const ROLES: ReadonlySet<unknown> = new Set(["user", "assistant", "system"]);

/** Throws InvalidMessageError; what passes has the fields every reader of messages relies on. */
export function checkMessages(messages: unknown): UIMessage[] {
  if (!Array.isArray(messages)) throw new InvalidMessageError("a list of messages was expected");
  for (const message of messages as unknown[]) {
    if (!isObject(message)) throw new InvalidMessageError("it is not an object");
    if (typeof message["id"] !== "string" || message["id"] === "") throw new InvalidMessageError("it has no id");
    if (!isUsableId(message["id"])) throw new InvalidMessageError("its id cannot be used");
    if (!ROLES.has(message["role"])) throw new InvalidMessageError(`its role is ${JSON.stringify(message["role"])}`);
    if (!Array.isArray(message["parts"])) throw new InvalidMessageError("it has no parts");
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
    throw new InvalidDataError(errorMessage(error));
  }
  throw new InvalidDataError("there is no value");
}
