// What a failed model call means, across providers: shorten the prompt, wait for the provider's rate, wait a moment, leave
// out a file, or stop. Nothing for what it cannot judge, and for a turn that was aborted. Pure. The wordings are pinned by
// failure-classifier.fixtures.ts and overflow-classifier.fixtures.ts.
import { failureSignals, type FailureSignals } from "./failure-details.ts";

/** A provider-neutral name for what went wrong. */
export type FailureClass = "context_overflow" | "rate_limit" | "transient" | "fatal" | "unknown";

/** Refusals that are about the moment and not about the request. Every status from 500 on is one too. */
const TRANSIENT_STATUSES = [408, 409, 425];

/** For errors without a status: those of the network, of a stream, and of a provider in the middle of its answer. */
const TRANSIENT = [
  // Provider's names: Anthropic, OpenAI, Google, Bedrock, Workers AI
  /overloaded|\bapi_error\b|timeout_error/i,
  /server_error|internal.?server|service.?unavailable|bad gateway|gateway time-?out/i,
  /\b(UNAVAILABLE|INTERNAL|DEADLINE_EXCEEDED)\b/,
  /Model(Timeout|NotReady|StreamError)Exception|InternalServerException/i,
  /capacity (temporarily )?exceeded|at capacity|no capacity|\b3040:/i,
  // The network and the runtimes
  /ECONN(RESET|REFUSED|ABORTED)|ETIMEDOUT|EPIPE|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_/,
  /socket hang up|other side closed|premature close|network (error|connection lost)|fetch failed|failed to fetch/i,
  /cannot connect to api|unable to connect|connection (was )?(reset|closed|error|lost|refused)|^terminated$/i,
  /^TimeoutError$|timed out|time-?out while/i,
  // A stream that was cut (src/model/errors.ts)
  /^model-stream-interrupted$|^model-timeout$|stream (was )?(cut|interrupted|ended (early|unexpectedly))/i
];

/** Also for errors without a status: the request itself is refused, and would be again. */
const FATAL = [
  /invalid_request|authentication_error|permission_error|not_found_error|billing_error|request_too_large/i,
  /(invalid|incorrect|missing).{0,10}api.?key|unauthori[sz]ed|forbidden/i,
  /\b(INVALID_ARGUMENT|PERMISSION_DENIED|UNAUTHENTICATED|NOT_FOUND|FAILED_PRECONDITION)\b/,
  /ValidationException|AccessDeniedException|ResourceNotFoundException/,
  /content_filter|content management policy|ResponsibleAIPolicy/i,
  /no such model|model_not_found|\b5007:/i,
  /^AI_(LoadAPIKey|LoadSetting|NoSuchModel|NoSuchProvider|UnsupportedFunctionality|InvalidPrompt|InvalidArgument)Error$/
];

/** Not the provider's failure: a caller gave up, or a hook of the user's threw. */
const NOT_A_MODEL_FAILURE = [/^AbortError$/, /^model-step-hook-failed$/];

/** A provider that asks for a longer wait is asked again after this. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

/**
 * - `context_overflow`: the prompt is too long for the model.
 * - `rate_limit`: too much in too little time, or an allowance is used up. `retryAfterMs` may know how long to wait.
 * - `transient`: the same call may work in a moment.
 * - `fatal`: the same call will be refused again.
 *
 * @example
 * export class Assistant extends Think<Env> {
 *   override classifyChatError = defaultChatErrorClassifier;
 * }
 */
export function defaultChatErrorClassifier(error: unknown): Exclude<FailureClass, "unknown"> | undefined {
  const signals = failureSignals(error);
  if (says(signals.texts, NOT_A_MODEL_FAILURE)) return undefined;
  if (isOverflow(signals)) return "context_overflow";
  if (isRateRefusal(signals)) return "rate_limit";
  return signals.status === undefined ? byWords(signals) : byStatus(signals.status);
}

function byStatus(status: number): "transient" | "fatal" {
  return status >= 500 || TRANSIENT_STATUSES.includes(status) ? "transient" : "fatal";
}

function byWords({ texts, isRetryable }: FailureSignals): "transient" | "fatal" | undefined {
  if (isRetryable || says(texts, TRANSIENT)) return "transient";
  return says(texts, FATAL) ? "fatal" : undefined;
}

/**
 * How long the provider asks to wait, from its headers (`retry-after-ms`, `retry-after` in seconds or as a date) or from
 * Google's `retryDelay`. Undefined when it does not say, or says nothing that can be understood.
 */
export function retryAfterMs(error: unknown, nowMs: number): number | undefined {
  const { headers, texts } = failureSignals(error);
  for (const each of headers) {
    const wait = milliseconds(each.get("retry-after-ms"), 1) ?? afterHeader(each.get("retry-after"), nowMs);
    if (wait !== undefined) return wait;
  }
  const delay = texts.map((text) => /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(text)?.[1]).find((found) => found);
  return milliseconds(delay, 1000);
}

function afterHeader(value: string | undefined, nowMs: number): number | undefined {
  const seconds = milliseconds(value, 1000);
  if (seconds !== undefined || value === undefined) return seconds;
  // A date has letters; Date.parse would also make one of a negative number.
  const date = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : bounded(date - nowMs);
}

function milliseconds(value: string | undefined, unitMs: number): number | undefined {
  return value !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(value) ? bounded(Number(value) * unitMs) : undefined;
}

function bounded(ms: number): number {
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(0, Math.ceil(ms)));
}

// ── A prompt that does not fit the context window. Errs on the side of "no": a "yes" compacts the history. ──

/** What providers say, each in its own way. */
const OVERFLOW = [
  // OpenAI and Azure, and others with the same wording: DeepSeek, vLLM, OpenRouter, Groq, Cerebras, gateways
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

export function isOverflow(signals: FailureSignals): boolean {
  return !isRateRefusal(signals) && says(signals.texts, OVERFLOW);
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
export function defaultContextOverflowClassifier(error: unknown): FailureClass | void {
  return isOverflow(failureSignals(error)) ? "context_overflow" : undefined;
}

/** One of this package, which reads all that an error has. */
export function isDefaultClassifier(classify: unknown): boolean {
  return classify === defaultContextOverflowClassifier || classify === defaultChatErrorClassifier;
}

export function says(texts: readonly string[], patterns: readonly RegExp[]): boolean {
  return texts.some((text) => patterns.some((pattern) => pattern.test(text)));
}

// ── A file in the prompt. A "yes" costs the model that file in later turns; without it each of them would be refused. ──

/** What providers and the SDK say about a file that they cannot use. */
const FILE = [
  // The SDK: a media type its provider does not take, data that is none, an address that cannot be fetched
  /AI_(Download|InvalidDataContent)Error|^file-not-downloaded$/,
  /'[^']*(file|image|audio|video|pdf|document|media)[^']*' functionality not supported/i,
  /unsupported (mime|media|content|file|image|document|audio)/i,
  // OpenAI, Azure and others with the same wording
  /invalid_image|image_parse_error|invalid_base64|unsupported_(image|file)|(image|file)_url|input_(image|file)/i,
  /(invalid|unsupported|not a valid) (mime|media) ?-?type/i,
  // Anthropic, Bedrock, Google, local servers
  /(could not|unable to|cannot|failed to) (process|download|fetch|read|decode|load|parse|open) .{0,40}(image|file|document|pdf|audio|video|media|attachment)/i,
  /(image|file|document|pdf|audio|video|media|attachment).{0,60}(not valid|invalid|unsupported|not supported|not readable|corrupt|empty|too (large|big)|exceeds|could not be)/i,
  /(does not|doesn't|not) (support|accept|allow) .{0,20}(image|file|document|pdf|audio|video|vision|multimodal|attachment)/i,
  /\.(image|document|file)\.source\b/i
];

/** Refusals of what was sent, and not of the one who sent it, of the model or of the moment. */
const REFUSED_CONTENT: readonly unknown[] = [400, 413, 415, 422];
const NOT_THE_CONTENT: readonly unknown[] = [401, 403, 429];

/** It says that a file is the reason. */
export function isFileRefusal(error: unknown): boolean {
  const signals = failureSignals(error);
  return !isAboutSomethingElse(signals) && says(signals.texts, FILE);
}

/** It may be a file: the provider refused the content of the request and did not say why. */
export function mayBeFileRefusal(error: unknown): boolean {
  const signals = failureSignals(error);
  return !isAboutSomethingElse(signals) && REFUSED_CONTENT.includes(signals.status);
}

function isAboutSomethingElse(signals: FailureSignals): boolean {
  // A file that cannot be fetched has the status of its own server.
  if (says(signals.texts, [/AI_DownloadError|^file-not-downloaded$/])) return false;
  return NOT_THE_CONTENT.includes(signals.status) || isOverflow(signals) || isRateRefusal(signals);
}
