// One HTTP call to a provider. An answer that is not a success becomes an error that says what it means for the message:
// its status, and how long the provider asks to wait.
import { readBytes } from "../../util/bytes.ts";
import { insideOf } from "../../util/inside-address.ts";
import { parseFields, readFields, type Fields } from "./fields.ts";

export interface FailedCall {
  readonly status: number;
  /** The seconds that the provider asks to wait. */
  readonly retryAfter?: number;
  /** The provider's own word for the failure. */
  readonly reason: string;
}

/** Makes the error of a failed call. Its status and the time to wait are read by `classifyDeliveryError`. */
export function callFailure(call: string, { status, retryAfter, reason }: FailedCall): Error {
  return Object.assign(new Error(`${call} failed: ${reason} (status ${status})`), { status, retryAfter });
}

/** Calls a provider. Returns the fields of the answer. Throws `callFailure`, and what `fetch` throws. */
export async function callProvider(name: string, url: string, init: RequestInit): Promise<Fields> {
  const response = await fetch(url, init);
  const body = parseFields(await response.text());
  if (response.ok) return body;
  const { status, statusText } = response;
  throw callFailure(name, {
    status,
    retryAfter: readRetryAfter(response, body),
    reason: readReason(body) ?? statusText
  });
}

function readRetryAfter(response: Response, body: Fields): number | undefined {
  const given = response.headers.get("Retry-After") ?? body["retry_after"];
  const seconds = given === undefined || given === null ? Number.NaN : Number(given);
  return Number.isFinite(seconds) ? seconds : undefined;
}

function readReason({ error, message }: Fields): string | undefined {
  if (typeof error === "string") return error;
  if (typeof message === "string") return message;
  const { message: nested } = readFields(error);
  return typeof nested === "string" ? nested : undefined;
}

/** Bytes of a file at a provider. */
const MAX_FILE_BYTES = 25_000_000;
const FILE_TIMEOUT_MS = 30_000;

/**
 * Fetches a file from the provider; a larger one is refused while it is read. The caller has checked the address: a redirect
 * is not followed, since the token would go there, too.
 */
export async function fetchFile(url: string, headers: Record<string, string>): Promise<ArrayBuffer> {
  const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(FILE_TIMEOUT_MS) });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw callFailure("A file", { status: response.status || 400, reason: "it could not be read" });
  }
  const bytes = await readBytes(response.body, MAX_FILE_BYTES);
  if (bytes === undefined) throw callFailure("A file", { status: 413, reason: "it is too large" });
  return bytes.buffer;
}

/** Returns the address of a file. Throws unless it is an https address of such a host, or of the origin that the messenger was given. */
export function checkFileUrl(url: string, hosts: RegExp, givenOrigin?: string): string {
  const address = URL.canParse(url) ? new URL(url) : new URL("about:blank");
  const { protocol, hostname, origin } = address;
  const isTheirs = protocol === "https:" && hosts.test(hostname) && insideOf(address) === undefined;
  const isGiven = givenOrigin !== undefined && origin === new URL(givenOrigin).origin;
  if (isTheirs || isGiven) return url;
  throw callFailure("A file", { status: 403, reason: "it is not at the provider" });
}
