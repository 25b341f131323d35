// The text of an answer as a chat shows it: a fold of the chunks of its turn.
import { appendPart } from "../channels/paragraphs.ts";
import { parseFields, readFields } from "./fields.ts";

/** Reads the text of one chunk, given as JSON or as the object. Undefined for every other chunk. */
export function textDeltaFromStreamChunk(chunk: string | object): string | undefined {
  const { type, delta } = typeof chunk === "string" ? parseFields(chunk) : readFields(chunk);
  return type === "text-delta" && typeof delta === "string" ? delta : undefined;
}

export class ReplyText {
  #text = "";
  #startsPart = false;

  get value(): string {
    return this.#text;
  }

  /** Adds a chunk. True if the text grew. */
  read(json: string): boolean {
    // A turn that took over answers in place of the one before it.
    if (json.startsWith('{"type":"start"')) this.#text = "";
    if (json.includes('"text-start"')) this.#startsPart = true;
    const delta = textDeltaFromStreamChunk(json);
    if (delta === undefined || delta === "") return false;
    this.#text = this.#startsPart ? appendPart(this.#text, delta) : this.#text + delta;
    this.#startsPart = false;
    return true;
  }
}
