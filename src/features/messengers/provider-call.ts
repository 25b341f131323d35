// One HTTP call to a provider. An answer that is not a success becomes an error that says what it means for the message:
// its status, and how long the provider asks to wait.
import { insideOf } from "../../util/inside-address.ts";

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

/** Of a file at a provider. */
const MAX_FILE_BYTES = 25_000_000;
const FILE_TIMEOUT_MS = 30_000;

/**
 * The bytes of a file at the provider; a larger one is refused while it is read. The caller has checked the address: where
 * it redirects to is not followed, since the token would go there, too.
 */
export async function fetchFile(url: string, headers: Record<string, string>): Promise<ArrayBuffer> {
  const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(FILE_TIMEOUT_MS) });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new ProviderCallError("A file", { status: response.status || 400, reason: "it could not be read" });
  }
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  // Leaving the loop cancels the body.
  for await (const chunk of response.body as ReadableStream<Uint8Array<ArrayBuffer>>) {
    size += chunk.byteLength;
    if (size > MAX_FILE_BYTES) throw new ProviderCallError("A file", { status: 413, reason: "it is too large" });
    chunks.push(chunk);
  }
  return new Blob(chunks).arrayBuffer();
}

/** Throws unless it is an https address of such a host, or of the origin that the messenger was given. */
export function checkFileUrl(url: string, hosts: RegExp, givenOrigin?: string): string {
  const address = URL.canParse(url) ? new URL(url) : new URL("about:blank");
  const { protocol, hostname, origin } = address;
  const isTheirs = protocol === "https:" && hosts.test(hostname) && insideOf(address) === undefined;
  const isGiven = givenOrigin !== undefined && origin === new URL(givenOrigin).origin;
  if (isTheirs || isGiven) return url;
  throw new ProviderCallError("A file", { status: 403, reason: "it is not at the provider" });
}
