// One HTTP call to a provider. An answer that is not a success becomes an error that says what it means for the message:
// its status, and how long the provider asks to wait.

export class ProviderCallError extends Error {
  readonly status: number;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  /** The provider's own word for it. */
  readonly reason: string;

  constructor(call: string, answer: { status: number; retryAfter?: number | undefined; reason: string }) {
    super(`${call} failed: ${answer.reason} (status ${answer.status})`);
    this.status = answer.status;
    this.retryAfter = answer.retryAfter;
    this.reason = answer.reason;
  }
}

/** The parsed answer, {} where it has none. Throws ProviderCallError, and what `fetch` throws. */
export async function callProvider(name: string, url: string, init: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetch(url, init);
  const text = await response.text();
  const body = parsedObject(text);
  if (response.ok) return body;
  throw new ProviderCallError(name, {
    status: response.status,
    retryAfter: retryAfterOf(response, body),
    reason: reasonOf(body) ?? response.statusText
  });
}

function parsedObject(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    // An error page, or no body.
    return {};
  }
}

function retryAfterOf(response: Response, body: Record<string, unknown>): number | undefined {
  const given = response.headers.get("Retry-After") ?? body["retry_after"];
  const seconds = given === undefined || given === null ? Number.NaN : Number(given);
  return Number.isFinite(seconds) ? seconds : undefined;
}

function reasonOf(body: Record<string, unknown>): string | undefined {
  const { error, message } = body;
  if (typeof error === "string") return error;
  if (typeof message === "string") return message;
  const nested = typeof error === "object" && error !== null ? (error as { message?: unknown }).message : undefined;
  return typeof nested === "string" ? nested : undefined;
}
