// How many tokens a model will roughly count, without a tokenizer (its tables cost more memory than the conversation).
// The estimate errs high for prose and low for random text. Files are counted by kind and size, and Chinese, Japanese
// and Korean by the character. Pure.
import type { ContextBlock } from "./context/block.ts";
import { isToolPart } from "../model/tool-part.ts";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";

const CHARS_PER_TOKEN = 4;
const TOKENS_PER_WORD = 1.3;
/** Role and separators. */
const TOKENS_PER_MESSAGE = 4;
/** Models scale images down; this is what a full-size one costs with most of them. */
const TOKENS_PER_IMAGE = 1_200;
/** A page of a document, sent as text and as a picture. */
const TOKENS_PER_PAGE = 2_000;
const BYTES_PER_PAGE = 50_000;
/** Speech in a usual encoding: some 30 tokens a second. */
const MEDIA_BYTES_PER_TOKEN = 500;
/** A file whose size is not known because it is somewhere else. */
const TOKENS_PER_REMOTE_FILE = 2_000;

export function estimateStringTokens(text: string): number {
  if (text === "") return 0;
  let words = 0;
  let ideographs = 0;
  let insideWord = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isIdeograph(code)) {
      ideographs += 1;
      insideWord = false;
    } else if (isSpace(code)) {
      insideWord = false;
    } else if (!insideWord) {
      insideWord = true;
      words += 1;
    }
  }
  return Math.ceil(ideographs + Math.max((text.length - ideographs) / CHARS_PER_TOKEN, words * TOKENS_PER_WORD));
}

/** Of one message or of several. */
export function estimateMessageTokens(messages: SessionMessage | readonly SessionMessage[]): number {
  const list = "parts" in messages ? [messages] : messages;
  let tokens = 0;
  for (const message of list) {
    tokens += TOKENS_PER_MESSAGE;
    for (const part of message.parts) tokens += estimatePartTokens(part);
  }
  return tokens;
}

function estimatePartTokens(part: SessionMessagePart): number {
  if (isToolPart(part)) return valueTokens(part.input) + valueTokens(part.output ?? part.result);
  if (part.type === "file" || part.type === "reasoning-file") return fileTokens(part);
  if (part.type === "step-start" || part.type.startsWith("source-") || part.type.startsWith("data-")) return 0;
  return valueTokens(part["text"] ?? part.result);
}

function valueTokens(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return estimateStringTokens(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

function fileTokens(part: SessionMessagePart): number {
  const url = typeof part["url"] === "string" ? part["url"] : "";
  const mediaType = typeof part["mediaType"] === "string" ? part["mediaType"] : "";
  if (mediaType.startsWith("image/")) return TOKENS_PER_IMAGE;
  if (!url.startsWith("data:")) return url === "" ? 0 : TOKENS_PER_REMOTE_FILE;
  // Base64 has four characters for three bytes.
  const sizeBytes = Math.ceil((url.length - url.indexOf(",") - 1) * 0.75);
  if (mediaType === "application/pdf") return TOKENS_PER_PAGE * Math.max(1, Math.ceil(sizeBytes / BYTES_PER_PAGE));
  if (/^(audio|video)\//.test(mediaType)) return Math.ceil(sizeBytes / MEDIA_BYTES_PER_TOKEN);
  return Math.ceil(sizeBytes / CHARS_PER_TOKEN);
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0 || code === 0x3000;
}

/** Kana, Hangul, and the common blocks of Chinese characters, with their punctuation. */
function isIdeograph(code: number): boolean {
  if (code < 0x1100) return false;
  return (
    code <= 0x11ff ||
    (code >= 0x3001 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7af) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xff01 && code <= 0xffee)
  );
}

/** What a user's own counter is given. */
export interface SessionTokenCounterInput {
  readonly messages: readonly SessionMessage[];
  readonly systemPrompt: string;
  readonly contextBlocks: readonly ContextBlock[];
}

/** Counts everything a model would be given. Replaces the estimate as a whole. */
export type SessionTokenCounter = (input: SessionTokenCounterInput) => number | Promise<number>;

/** Not a number, infinite or negative: 0. Rounded up. */
export function checkedCount(count: number): number {
  return Number.isFinite(count) && count > 0 ? Math.ceil(count) : 0;
}
