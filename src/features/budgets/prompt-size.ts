// The most tokens that a prompt can have, without a tokenizer: every token of the tokenizers in use stands for at least one
// byte of text. So the bytes of what is sent are a bound, whatever the model; media have bounds of their own. Pure.
import type { MeteredOptions } from "../../model/index.ts";
import { isObject } from "../../util/json.ts";

/** Of what providers put around a prompt: the frame of each message, and the text that explains tools to the model. */
const TOKENS_PER_CALL = 1_000;
const TOKENS_PER_MESSAGE = 16;
/** Of an image, at the highest resolution that a provider reads. */
const TOKENS_PER_IMAGE = 50_000;
/** Of any other file: text inside is often compressed. */
const TOKENS_PER_FILE_BYTE = 4;
/** Of a file that the provider fetches itself. */
const TOKENS_PER_REMOTE_FILE = 200_000;
/** Values nested deeper are no prompt. */
const MAX_DEPTH = 64;

export function promptBound({ prompt, tools, responseFormat, providerOptions }: MeteredOptions): number {
  const parts = [prompt, tools, responseFormat, providerOptions];
  return parts.reduce<number>(
    (sum, part) => sum + sizeOf(part, 0),
    TOKENS_PER_CALL + prompt.length * TOKENS_PER_MESSAGE
  );
}

/** What a provider adds to the output limit for reasoning: `budgetTokens` of Anthropic and Bedrock. */
export function reasoningBound(providerOptions: unknown, depth = 0): number {
  if (!isObject(providerOptions) || depth > 4) return 0;
  return Object.entries(providerOptions).reduce((sum, [name, value]) => {
    if (name === "budgetTokens" && typeof value === "number" && value > 0) return sum + Math.ceil(value);
    return sum + reasoningBound(value, depth + 1);
  }, 0);
}

function sizeOf(value: unknown, depth: number): number {
  if (depth > MAX_DEPTH) return TOKENS_PER_REMOTE_FILE;
  if (typeof value === "string") return utf8Bytes(value) + 2;
  if (value instanceof Uint8Array) return value.byteLength * TOKENS_PER_FILE_BYTE;
  if (value instanceof URL) return TOKENS_PER_REMOTE_FILE;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + sizeOf(item, depth + 1) + 1, 2);
  if (!isObject(value)) return 24;
  if (isFile(value)) return fileSize(value);
  return Object.entries(value).reduce(
    (sum, [name, item]) => (item === undefined ? sum : sum + utf8Bytes(name) + 4 + sizeOf(item, depth + 1)),
    2
  );
}

function isFile(value: Record<string, unknown>): boolean {
  return typeof value["mediaType"] === "string" && "data" in value;
}

function fileSize({ mediaType, data }: Record<string, unknown>): number {
  if (String(mediaType).startsWith("image/")) return TOKENS_PER_IMAGE;
  const held: unknown = isObject(data) && "data" in data ? data["data"] : data;
  if (held instanceof Uint8Array) return TOKENS_PER_IMAGE + held.byteLength * TOKENS_PER_FILE_BYTE;
  // As base64.
  if (typeof held === "string" && !/^https?:/.test(held)) return TOKENS_PER_IMAGE + held.length * TOKENS_PER_FILE_BYTE;
  return TOKENS_PER_REMOTE_FILE;
}

/** At least the bytes of the text: a code unit has at most three. */
function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7ff) bytes += 2;
    else if (code > 0x7f) bytes += 1;
  }
  return bytes;
}
