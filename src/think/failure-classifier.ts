// What a failed model call means for trying again, across providers: shorten the prompt, wait for the provider's rate,
// wait a moment, or stop. Nothing for what it cannot judge, and for a turn that somebody aborted. Pure.
import { failureSignals, type FailureSignals } from "./failure-details.ts";
import type { ChatErrorClassification } from "./hooks.ts";
import { isOverflow, isRateRefusal, says } from "./overflow-classifier.ts";

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
export function defaultChatErrorClassifier(error: unknown): Exclude<ChatErrorClassification, "unknown"> | undefined {
  const facts = failureSignals(error);
  if (says(facts.texts, NOT_A_MODEL_FAILURE)) return undefined;
  if (isOverflow(facts)) return "context_overflow";
  if (isRateRefusal(facts)) return "rate_limit";
  return facts.status === undefined ? byWords(facts) : byStatus(facts.status);
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
