// The text of an answer as a chat shows it: a fold of the chunks of its turn. Parts before and after a tool call are
// paragraphs of their own.
import { isObject, parseJson } from "../../util/json.ts";

/** The text of one chunk, given as JSON or as the object; undefined for every other chunk. */
export function textDeltaFromStreamChunk(chunk: string | object): string | undefined {
  const value: unknown = typeof chunk === "string" ? parsedOf(chunk) : chunk;
  if (!isObject(value)) return undefined;
  const { type, delta } = value;
  return type === "text-delta" && typeof delta === "string" ? delta : undefined;
}

function parsedOf(json: string): unknown {
  const parsed = parseJson(json);
  return parsed.ok ? parsed.value : undefined;
}

export class ReplyText {
  #text = "";
  #startsPart = false;

  get value(): string {
    return this.#text;
  }

  /** True if the text grew. */
  read(json: string): boolean {
    if (isPartStart(json)) this.#startsPart = true;
    const delta = textDeltaFromStreamChunk(json);
    if (delta === undefined || delta === "") return false;
    const needsBreak = this.#startsPart && this.#text !== "" && !/\s$/.test(this.#text) && !/^\s/.test(delta);
    this.#text += needsBreak ? `\n\n${delta}` : delta;
    this.#startsPart = false;
    return true;
  }
}

function isPartStart(json: string): boolean {
  return json.includes('"text-start"');
}
