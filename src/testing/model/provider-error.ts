// Errors as a provider package throws them. The SDK recognises its API error by registered symbols and not by class,
// so this one is an API error for every SDK major at once, retry rules included, without importing any.
import { errorMessage } from "../../util/errors.ts";

const SDK_ERROR = Symbol.for("vercel.ai.error");
const API_CALL_ERROR = Symbol.for("vercel.ai.error.AI_APICallError");

export interface ApiErrorOptions {
  statusCode?: number;
  /** By default what the SDK itself assumes: 408, 409, 429 and 5xx. */
  isRetryable?: boolean;
  /** Sets the `retry-after-ms` header. With 0 the SDK retries at once instead of sleeping for seconds. */
  retryAfterMs?: number;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
  data?: unknown;
}

// Not a ThinkError on purpose: code under test must see what a provider would have thrown.
class ProviderApiError extends Error {
  readonly [SDK_ERROR] = true;
  readonly [API_CALL_ERROR] = true;
  readonly url = "https://scripted.invalid/";
  readonly requestBodyValues = {};
  readonly statusCode: number | undefined;
  readonly responseHeaders: Record<string, string>;
  readonly responseBody: string | undefined;
  readonly isRetryable: boolean;
  readonly data: unknown;

  constructor(cause: unknown, options: ApiErrorOptions) {
    super(errorMessage(cause), { cause });
    this.name = "AI_APICallError";
    this.statusCode = options.statusCode;
    this.responseHeaders = {
      ...(options.retryAfterMs === undefined ? {} : { "retry-after-ms": String(options.retryAfterMs) }),
      ...options.responseHeaders
    };
    this.responseBody = options.responseBody;
    this.isRetryable = options.isRetryable ?? isRetryableStatus(options.statusCode);
    this.data = options.data;
  }
}

/** Without options the error itself, otherwise an API error that carries it as its cause. */
export function providerError(error: unknown, options?: ApiErrorOptions): unknown {
  return options === undefined ? error : new ProviderApiError(error, options);
}

function isRetryableStatus(statusCode: number | undefined): boolean {
  return (
    statusCode !== undefined && (statusCode === 408 || statusCode === 409 || statusCode === 429 || statusCode >= 500)
  );
}
