// What an operator reads when a turn fails: one line with the stage, the code, the message, the cause, the request and
// what to do about it. On by default, bounded, and never twice in full: a failure that repeats is named and not logged
// again. Nothing of it reaches a client, but for `explain` in development. Keys that providers repeat in their errors
// are blotted out.
import type { AwaitedRetry } from "../turn/retry-policy.ts";
import type { ContextOverflowOptions } from "../feature/settings.ts";
import { ModelFailedError, StepHookError } from "../model/index.ts";
import type { FailedAction } from "../feature/services.ts";
import type { FailureContext } from "../turn/hooks.ts";
import { causeOf, errorMessage, fieldOf, ThinkError } from "../util/errors.ts";
import { failureSignals } from "../model/failure-details.ts";

import { isFileRefusal, isOverflow, isRateRefusal, retryAfterMs, says } from "../model/failure-classifier.ts";

/** A longer line is cut. */
export const MAX_LINE_CHARS = 2_000;
const MAX_MESSAGE_CHARS = 500;
/** Links of a chain of causes that are looked at. */
const MAX_LINKS = 8;
/** Different failures remembered per activation. When there are more, all are logged in full again. */
export const MAX_REMEMBERED = 100;

export interface FailureLogInit {
  /** How a line about this error names the agent. */
  readonly agent: (error: unknown) => string;
  readonly write?: (line: string) => void;
  /** As the class has set it. */
  readonly contextOverflow?: () => ContextOverflowOptions | undefined;
}

export class FailureLog {
  readonly #init: FailureLogInit;
  readonly #logged = new Set<string>();

  constructor(init: FailureLogInit) {
    this.#init = init;
  }

  /** A turn, or a request that never became one, has failed. */
  turnFailed(error: unknown, context: FailureContext): void {
    const request = context.requestId === undefined ? "" : `, request ${cut(context.requestId, 100)}`;
    const overflow = this.#init.contextOverflow?.();
    const { code, detail } = read(error, (thrown) => details(thrown, overflow));
    const head = `${this.#init.agent(error)}: a turn failed at stage "${context.stage}" (${code}${request})`;
    this.#log(head, `${context.stage} ${code}`, detail);
  }

  /** The model failed, and is asked again. */
  retried(error: unknown, { requestId }: FailureContext, { attempt, of, inMs }: AwaitedRetry & { inMs: number }): void {
    const when = `in ${Math.max(1, Math.round(inMs / 1_000))} s, attempt ${attempt} of ${of}`;
    const request = requestId === undefined ? "" : ` (request ${cut(requestId, 100)})`;
    const { detail } = read(error, whatHappened);
    this.#log(`${this.#init.agent(error)}: the model is asked again ${when}${request}`, "retry", detail);
  }

  /** A tool threw. The turn goes on: the model reads the message of the error. */
  toolFailed(error: unknown, call: { readonly toolName: string; readonly requestId: string }): void {
    const tool = cut(call.toolName, 100);
    const head = `${this.#init.agent(error)}: the tool "${tool}" failed (request ${cut(call.requestId, 100)})`;
    const { detail } = read(error, (thrown) => `${whatHappened(thrown)} ${TOOL_ERRORS}`);
    this.#log(head, `tool ${tool}`, detail);
  }

  /** An action failed, in a turn or after it. Its output tells the model no more than the error's name and message. */
  actionFailed(error: unknown, call: FailedAction): void {
    const action = cut(call.action, 100);
    const head = `${this.#init.agent(error)}: the action "${action}" failed (request ${cut(call.requestId, 100)})`;
    const { detail } = read(error, (thrown) => `${whatHappened(thrown)} ${ACTION_ERRORS}`);
    this.#log(head, `action ${action}`, detail);
  }

  /** What a provider said and what to do about it, for a developer who reads it in place of a user. No stack. Never throws. */
  explain(error: unknown): string {
    const overflow = this.#init.contextOverflow?.();
    const { detail } = read(error, (thrown) => {
      const cause = causeOf(thrown) ?? errorMessage(thrown);
      return `${sentence(cut(cause, MAX_MESSAGE_CHARS))} ${adviceFor(thrown, overflow)}`;
    });
    return cut(withoutKeys(detail), MAX_LINE_CHARS);
  }

  #log(head: string, key: string, detail: string): void {
    const known = `${key} ${detail}`;
    const isRepeated = this.#logged.has(known);
    if (this.#logged.size >= MAX_REMEMBERED) this.#logged.clear();
    this.#logged.add(known);
    const line = isRepeated ? `${head}: as before.` : `${head}: ${detail}`;
    (this.#init.write ?? ((text) => console.error(text)))(cut(withoutKeys(line), MAX_LINE_CHARS));
  }
}

const ACTION_ERRORS = "The model and clients read the name and the message of what an action throws.";
const TOOL_ERRORS = "The model and clients read the message of what a tool throws.";

/** Anything can be thrown, also what cannot even be looked at; a log must not fail on it. */
function read(error: unknown, detailsOf: (error: unknown) => string): { code: string; detail: string } {
  try {
    return { code: codeOf(error), detail: detailsOf(error) };
  } catch {
    return { code: "unreadable", detail: "What was thrown cannot be read." };
  }
}

function details(error: unknown, overflow: ContextOverflowOptions | undefined): string {
  return `${whatHappened(error)} What to do: ${adviceFor(error, overflow)}`;
}

function whatHappened(error: unknown): string {
  const cause = causeOf(error);
  const message = `${cut(errorMessage(error), MAX_MESSAGE_CHARS).trim() || "No message"}${whereOf(error)}`;
  return cause === undefined ? sentence(message) : `${sentence(message)} ${sentence(`Cause: ${cause}`)}`;
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** Our own errors have codes; of others the name says most. */
function codeOf(error: unknown): string {
  if (error instanceof ThinkError) return error.code;
  return error instanceof Error ? cut(String(error.name), 100) : typeof error;
}

/** Where user code threw. Of our own errors the code says enough. */
function whereOf(error: unknown): string {
  const thrown = error instanceof StepHookError ? error.cause : error;
  if (thrown instanceof ThinkError || !(thrown instanceof Error) || typeof thrown.stack !== "string") return "";
  const frame = thrown.stack.split("\n").find((line) => line.trimStart().startsWith("at "));
  return frame === undefined ? "" : ` (${cut(frame.trim(), 200)})`;
}

const NO_KEY = [/AI_LoadAPIKeyError/, /api.?key is missing/i];
const NO_MODEL = [/AI_NoSuchModelError/, /model_not_found|no such model|model .{0,80}(not found|does not exist)/i];

/** What to do about it, from what the error says. */
function adviceFor(error: unknown, overflow: ContextOverflowOptions | undefined): string {
  const signals = failureSignals(error);
  const { status, texts } = signals;
  if (says(texts, NO_KEY)) {
    return "There is no API key: set the variable that the cause names, or pass apiKey where getModel() makes the model.";
  }
  if (status === 401 || status === 403) {
    return "The provider refused the key or its rights: check the API key that getModel() uses, and what its account may do.";
  }
  if (says(texts, NO_MODEL) || status === 404) return "Check the model's id and the provider's address in getModel().";
  if (isOverflow(signals)) return `The prompt is too long${overflowAdvice(overflow)}`;
  if (isRateRefusal(signals)) {
    return `The provider limits the rate or the quota${askedWait(error)}: wait, ask for less, or have the limit of the account raised.`;
  }
  if (isFileRefusal(error)) return "A file was refused. Later turns show the model a note in its place.";
  if (status !== undefined && status >= 500) return "The provider failed, also when it was asked again. Try later.";
  if (status !== undefined) return "The provider refuses this request: the cause says what is wrong with it.";
  if (says(texts, NO_CONNECTION)) return unreachable(error);
  return hintOf(error);
}

/** How Node, workerd and the SDK say that no connection came about; of a refused private address workerd says no more. */
const NO_CONNECTION = [
  /fetch failed|failed to fetch|cannot connect to api|network connection lost|internal error; reference/i,
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|connection refused/i
];

function unreachable(error: unknown): string {
  return (
    `No connection to ${addressOf(error) ?? "the provider"} came about: is it running there, and is the address right? ` +
    "everthink serve reaches addresses of this machine and its network with --allow-private-network only."
  );
}

/** Where the SDK sent the call. The path is left out: it may have a key in it. */
function addressOf(error: unknown): string | undefined {
  let link = error;
  for (let depth = 0; depth < MAX_LINKS && link !== undefined; depth += 1) {
    const url = fieldOf(link, "url");
    if (typeof url === "string" && URL.canParse(url)) return new URL(url).origin;
    link = fieldOf(link, "lastError") ?? fieldOf(link, "cause");
  }
  return undefined;
}

function askedWait(error: unknown): string {
  const waitMs = retryAfterMs(error, Date.now());
  return waitMs === undefined ? "" : `, and asks to wait ${Math.max(1, Math.round(waitMs / 1_000))} s`;
}

/** Only what is not set already is worth saying. */
function overflowAdvice({ reactive = false, proactive }: ContextOverflowOptions = {}): string {
  const smaller = "a single message may also be larger than the model's context window.";
  if (reactive && proactive) {
    return `, although contextOverflow compacts before and after: lower its maxInputTokens or headroom; ${smaller}`;
  }
  if (reactive) {
    return `, also after contextOverflow compacted it: does the session have onCompaction()? Set contextOverflow.proactive or compact earlier with compactAfter(); ${smaller}`;
  }
  if (proactive) {
    return ": set contextOverflow.reactive to compact and try again, or lower maxInputTokens of contextOverflow.proactive to the model's context window.";
  }
  return ": set contextOverflow, or compact earlier with compactAfter().";
}

function hintOf(error: unknown): string {
  if (error instanceof StepHookError) return `beforeStep threw. ${SHOWN}`;
  if (error instanceof ModelFailedError) return "The cause is what the provider said, or the code that talks to it.";
  if (error instanceof ThinkError) return error.hint ?? "The code says what happened.";
  return `Code of this class threw. ${SHOWN}`;
}

const SHOWN = "Clients are shown the message: throw what users may read, or return another error from onChatError().";

const KEYS = [
  /\b(?:sk|pk|rk|xai|gsk|ghp|hf|r8|key)[-_][A-Za-z0-9_-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /(?<=\bBearer\s)\S+/gi,
  /(?<=[?&](?:api[-_]?key|key|token|access_token)=)[^&\s]+/gi
];

function withoutKeys(line: string): string {
  return KEYS.reduce((text, key) => text.replaceAll(key, "[key]"), line);
}

/** One line, at most so long. */
function cut(text: string, maxChars: number): string {
  const line = text.slice(0, 4 * maxChars).replaceAll(/\s+/g, " ");
  return line.length <= maxChars ? line : `${line.slice(0, maxChars)}…`;
}
