// How a model call can fail, as one family. The original error of the provider, the SDK or a hook is always in `cause`;
// its text never becomes `message`, because messages reach clients and provider text may carry keys, prompts or
// internal addresses. What to tell the client is decided above, by `onChatError`.
import { isObject } from "../util/json.ts";
import { cutErrorText, errorTable, errorMessage, ThinkError } from "../util/errors.ts";

export type ModelCallErrorCode =
  | "model-call-failed"
  | "model-stream-interrupted"
  | "model-timeout"
  | "model-output-invalid"
  | "model-step-hook-failed"
  | "model-invalid";

/** How many `cause` or `lastError` links are followed when looking for what the provider said. */
const MAX_CAUSE_DEPTH = 8;

/** Any way in which a model call ended without an answer, except being aborted by its caller. */
export class ModelCallError extends ThinkError {
  /** The HTTP status of the provider's refusal, if there was one. */
  readonly statusCode: number | undefined;
  /** What the provider or SDK said about trying again; undefined when neither did. */
  readonly isRetryable: boolean | undefined;

  constructor(init: { code: ModelCallErrorCode; message: string; hint?: string; cause?: unknown }) {
    super(init);
    const api = apiErrorIn(init.cause);
    this.statusCode = api?.statusCode;
    this.isRetryable = api?.isRetryable;
  }
}

/** The provider refused, failed, or sent an error in its stream. */
export class ModelFailedError extends ModelCallError {
  constructor(cause: unknown) {
    super({
      code: "model-call-failed",
      message: "The model could not answer.",
      hint: "The provider's own error is in `cause`.",
      cause
    });
  }
}

export const modelCallErrors = errorTable(ModelCallError, {
  /** The stream ended politely but without a finish part: a proxy or provider hung up in the middle. */
  ModelInterruptedError: () => ({
    code: "model-stream-interrupted",
    message: "The model's answer was cut off.",
    hint: "The provider's stream ended without saying that it was finished."
  }),
  /** One of the SDK's own timeouts fired (the `timeout` setting). */
  ModelTimeoutError: (cause: unknown) => ({
    code: "model-timeout",
    message: "The model took too long to answer.",
    hint: "The `timeout` setting of this turn was reached.",
    cause
  }),
  /** What was given as a model is none. */
  NotAModelError: (given: unknown) => ({
    code: "model-invalid",
    message: "The model could not answer.",
    hint: Array.isArray(given)
      ? "getModel() gave a list of models: the class needs the capability everthink/core/models for it, and beforeTurn and beforeStep return one model."
      : `getModel(), beforeTurn or beforeStep gave ${given === null ? "null" : `a value of type ${typeof given}`}, which is not a language model of the AI SDK.`
  }),
  /** The answer is complete but is not the structured output that was asked for. */
  ModelOutputError: (cause: unknown) => ({
    code: "model-output-invalid",
    message: "The model's answer does not have the requested shape.",
    hint: "The text of the last step could not be parsed with the turn's `output`.",
    cause
  })
});

/** `beforeStep` threw. */
export class StepHookError extends ModelCallError {
  constructor(cause: unknown) {
    super({
      code: "model-step-hook-failed",
      message: "The turn could not go on to its next step.",
      hint: "beforeStep threw; its error is in `cause`.",
      cause
    });
  }
}

export const modelErrors = errorTable(ThinkError, {
  /** A tool returned what cannot be kept, and so not be shown to the model after a restart either. */
  ToolOutputError: (toolName: string, cause: unknown) => ({
    code: "tool-output-invalid",
    message: `The result of "${toolName}" cannot be stored: it is not JSON.`,
    hint: "Return JSON: no big integers, no loops, no toJSON that throws.",
    cause
  }),
  /** The call has run: its effect stays, and only what it returned is dropped. */
  ToolOutputTooLargeError: (toolName: string, limitBytes: number) => ({
    code: "tool-output-too-large",
    message: `"${toolName}" has run, but its result was dropped: it is larger than ${limitBytes} bytes.`,
    hint: "Return less, or store it and return where it is."
  }),
  /** The provider takes no addresses for this kind of file, and the file cannot be fetched for it. */
  FileDownloadError: (origin: string, reason: string, cause?: unknown) => ({
    code: "file-not-downloaded",
    message: "A file of the conversation could not be fetched.",
    hint: `It is at ${origin}: ${reason}.`,
    cause
  }),
  /** Nothing to send: the history is empty, or everything in it was dropped. */
  NoMessagesError: () => ({
    code: "no-messages",
    message: "There is nothing to send to the model.",
    hint: "The conversation has no message with content the model can read."
  }),
  /** The installed `ai` package is not one this package can work with. */
  UnsupportedSdkError: (missing: string) => ({
    code: "unsupported-sdk",
    message: "The installed version of the ai package is not supported.",
    hint: `Install ai 7 or ai 6; this one does not export ${missing}.`
  })
});

/** The text of a tool's error as the model and the stored message see it. */
export function toolErrorText(error: unknown): string {
  return cutErrorText(wholeErrorText(error));
}

/**
 * What a tool threw, as it goes on: the same value, unless its text is too long to be kept. The SDK makes the next prompt
 * of what is thrown, so it must be cut before the SDK sees it.
 */
export function keptToolError(error: unknown): unknown {
  const whole = wholeErrorText(error);
  const kept = cutErrorText(whole);
  return kept === whole ? error : new Error(kept, { cause: error });
}

function wholeErrorText(error: unknown): string {
  if (error === undefined || error === null) return NO_TOOL_ERROR;
  try {
    if (error instanceof Error || typeof error === "string") return errorMessage(error);
    return JSON.stringify(error) ?? String(error);
  } catch {
    // A loop, a number JSON cannot hold, or a proxy that does not even say what it is.
    return errorMessage(error) || NO_TOOL_ERROR;
  }
}

const NO_TOOL_ERROR = "The tool failed without saying why.";

interface ApiError {
  readonly statusCode: number | undefined;
  readonly isRetryable: boolean | undefined;
}

function apiErrorIn(error: unknown): ApiError | undefined {
  try {
    return findApiError(error);
  } catch {
    // A getter of the provider's error throws: it says nothing.
    return undefined;
  }
}

function findApiError(error: unknown): ApiError | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSE_DEPTH && isObject(current); depth += 1) {
    const { statusCode, isRetryable } = current;
    if (typeof statusCode === "number" || typeof isRetryable === "boolean") {
      return {
        statusCode: typeof statusCode === "number" ? statusCode : undefined,
        isRetryable: typeof isRetryable === "boolean" ? isRetryable : undefined
      };
    }
    // The SDK's RetryError keeps the last refusal in `lastError`, other errors in `cause`.
    current = current["lastError"] ?? current["cause"];
  }
  return undefined;
}

/** What providers sent as an error part of a stream. */
const streamedErrors = new WeakSet<object>();

export function noteStreamedError(error: unknown): void {
  if (typeof error === "object" && error !== null) streamedErrors.add(error);
}

/** The words of an error that a provider sent in its stream, as the SDK puts them; undefined for what was thrown. */
export function streamedErrorText(error: unknown): string | undefined {
  if (typeof error === "string") return error;
  // ai 7 makes an error of what is none, and keeps it as its data.
  const sent = isObject(error) && isObject(error["data"]) && streamedErrors.has(error["data"]) ? error["data"] : error;
  if (typeof sent !== "object" || sent === null || !streamedErrors.has(sent)) return undefined;
  return sent instanceof Error ? sent.message : JSON.stringify(sent);
}
