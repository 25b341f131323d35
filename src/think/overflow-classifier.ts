// Recognises, across providers, the refusal of a prompt that does not fit the model's context window. Pure; errs on the
// side of "no": a turn is compacted and run again on a "yes". The wordings are pinned by overflow-classifier.fixtures.ts.
import { failureSignals, type FailureSignals } from "./failure-details.ts";
import type { ChatErrorClassification } from "./hooks.ts";

/** What providers say, each in its own way. */
const OVERFLOW = [
  // OpenAI and Azure, and those who copied their wording: DeepSeek, vLLM, OpenRouter, Groq, Cerebras, gateways
  /context[_ ]length[_ ]exceeded/i,
  /maximum context length/i,
  /context[_ ]window/i,
  /reduce the length of/i,
  /input tokens exceed the configured limit/i,
  // Anthropic, Fireworks, Ollama
  /prompt (is |was )?too long/i,
  /exceed.{0,40}context (length|limit|size)/i,
  // Google
  /input token count/i,
  /exceeds? (the )?max(imum)? (number of )?(input )?tokens?( limit)?/i,
  /prompt token count of \d+ exceeds/i,
  // Bedrock, Cohere, Mistral, xAI
  /input (is |was )?too long/i,
  /number of input tokens exceeds/i,
  /too many (input )?tokens/i,
  /maximum prompt length is \d+/i,
  /range of input length should be/i,
  /exceeded model token limit/i,
  // Together and text-generation-inference
  /longer than the model'?s context length/i,
  /`?inputs`? (tokens \+ `?max_new_tokens`? must be <=|must have less than \d+ tokens)/i,
  /request body too large for .{0,80}max size: \d+ tokens/i,
  // llama.cpp, LM Studio, vLLM
  /exceed_context_size_error/i,
  /greater than the context length/i,
  /context the overflows|when (the )?context overflows/i,
  /max_tokens must be at least 1, got -\d/i
];

/** Refusals that speak of tokens and mean a rate, or an account that is used up. */
const RATE = [
  /rate.?limit/i,
  /tokens[ _]?per[ _]?(min|minute|hour|day)/i,
  /\b[TR]P[MD]\b/,
  /quota/i,
  /resource.?(has been )?exhausted/i,
  /throttl/i,
  /too many requests/i,
  /(wait|slow down).{0,20}(before|and) (trying|try)/i
];

/** True for what asks the caller to come back later: a prompt that is too long stays too long. */
export function isRateRefusal({ status, texts }: FailureSignals): boolean {
  return status === 429 || says(texts, RATE);
}

export function isOverflow(facts: FailureSignals): boolean {
  return !isRateRefusal(facts) && says(facts.texts, OVERFLOW);
}

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
  return isOverflow(failureSignals(error)) ? "context_overflow" : undefined;
}

export function says(texts: readonly string[], patterns: readonly RegExp[]): boolean {
  return texts.some((text) => patterns.some((pattern) => pattern.test(text)));
}
