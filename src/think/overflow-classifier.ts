// Recognises, across providers, the refusal of a prompt that does not fit the model's context window. Pure; errs on the
// side of "no": a turn is compacted and run again on a "yes".
import { isObject } from "../util/json.ts";
import type { ChatErrorClassification } from "./hooks.ts";

/** What providers say, each in its own way. */
const OVERFLOW = [
  // OpenAI and compatible servers
  /context_length_exceeded/i,
  /maximum context length/i,
  /exceeds? the (model'?s )?(maximum )?context (window|length|size)/i,
  // Anthropic
  /prompt is too long/i,
  /input length and `?max_tokens`? exceed context limit/i,
  // Google
  /input token count.{0,40}exceeds the maximum number of (input )?tokens/i,
  // Bedrock, Cohere, Mistral, xAI
  /input is too long for (the )?requested model/i,
  /too many tokens: .{0,40}(limit|max)/i,
  /too large for model with \d+ maximum context length/i,
  /maximum prompt length is \d+/i,
  // local servers and gateways
  /context window (is )?(exceeded|full|overflow)/i,
  /exceeded (the )?context window/i,
  /(prompt|request|input).{0,30}(exceeds|larger than).{0,30}(context|n_ctx)/i,
  /reduce the length of (the|your) (messages|prompt|input)/i
];

/** Refusals that speak of tokens and mean a rate. */
const RATE = /rate.?limit|tokens per (min|minute|day)|quota|\bTPM\b/i;

/** How many links of a chain of causes are looked at. */
const MAX_CAUSE_DEPTH = 8;
/** A body that is longer is not read to its end. */
const MAX_TEXT_LENGTH = 16_384;

/**
 * "context_overflow" for the context-window errors of the common providers, nothing otherwise.
 *
 * @example
 * export class Assistant extends Think<Env> {
 *   override contextOverflow = { reactive: true };
 *   override classifyChatError = defaultContextOverflowClassifier;
 * }
 */
export function defaultContextOverflowClassifier(error: unknown): ChatErrorClassification | void {
  const texts = textsOf(error);
  if (texts.some((text) => RATE.test(text))) return undefined;
  return texts.some((text) => OVERFLOW.some((pattern) => pattern.test(text))) ? "context_overflow" : undefined;
}

function textsOf(error: unknown): string[] {
  const texts: string[] = [];
  let current = error;
  for (let depth = 0; depth < MAX_CAUSE_DEPTH; depth += 1) {
    if (typeof current === "string") texts.push(current);
    if (!isObject(current)) break;
    const { message, responseBody, code, error: inner } = current;
    for (const text of [message, responseBody, code]) if (typeof text === "string") texts.push(text);
    // The SDK's RetryError keeps the last refusal in `lastError`; a provider's error part nests it in `error`.
    current = current["lastError"] ?? current["cause"] ?? inner;
  }
  return texts.map((text) => text.slice(0, MAX_TEXT_LENGTH));
}
