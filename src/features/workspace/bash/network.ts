// The network of a script: none, or what the class allows. Every hop of a redirect is checked like the first address,
// and addresses inside of a network are refused whatever is allowed.
import { insideOf } from "../../../util/inside-address.ts";
import type { ShellFetch, ShellFetchOptions, ShellFetchResult } from "./interpreter.ts";

/**
 * The addresses that a script may reach. `true`: every public one. `allow`: those that begin like one of these, to the end
 * of a path segment.
 */
export type BashNetwork = boolean | { readonly allow: readonly string[]; readonly methods?: readonly string[] };

const MAX_REDIRECTS = 10;
const MAX_BODY_BYTES = 10 * 1024 * 1024;
const DEFAULT_METHODS = ["GET", "HEAD"];

/** Makes the `fetch` of the interpreter. Undefined: it has no network commands. */
export function shellFetch(network: BashNetwork, fetcher: typeof fetch = fetch): ShellFetch | undefined {
  if (network === false) return undefined;
  return async (url, options = {}) => {
    let address = new URL(url);
    let request = toRequest(options);
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      checkAccess(network, address, request.method);
      const response = await fetcher(address.href, { ...request, redirect: "manual" });
      const location = response.headers.get("location");
      const isRedirect = response.status >= 300 && response.status < 400 && location !== null;
      if (!isRedirect || options.followRedirects === false) return await toResult(response, address.href);
      await response.body?.cancel();
      const next = new URL(location, address);
      // Credentials of one site are not for another; a form is not posted a second time.
      if (next.origin !== address.origin) request = withoutCredentials(request);
      if (response.status === 303 || (response.status < 307 && request.method === "POST"))
        request = { ...request, method: "GET", body: null };
      address = next;
    }
    throw new Error(`Too many redirects (more than ${MAX_REDIRECTS})`);
  };
}

interface RequestShape {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | null;
  readonly signal: AbortSignal | null;
}

function toRequest({ method = "GET", headers, body, signal, timeoutMs }: ShellFetchOptions): RequestShape {
  const signals = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)].filter(
    (each) => each !== undefined
  );
  return {
    method: method.toUpperCase(),
    headers: new Headers(headers),
    body: body ?? null,
    signal: signals.length === 0 ? null : AbortSignal.any(signals)
  };
}

function withoutCredentials(request: RequestShape): RequestShape {
  const headers = new Headers(request.headers);
  for (const name of ["authorization", "cookie", "proxy-authorization"]) headers.delete(name);
  return { ...request, headers };
}

function checkAccess(network: Exclude<BashNetwork, false>, url: URL, method: string): void {
  if (url.protocol !== "https:" && url.protocol !== "http:") throw denied(url, "only http and https are allowed");
  if (insideOf(url) !== undefined) throw denied(url, "it is a private address");
  if (network === true) return;
  if (!network.allow.some((prefix) => isBelow(prefix, url)))
    throw denied(url, "it is not in the list of allowed addresses");
  const methods = network.methods ?? DEFAULT_METHODS;
  if (!methods.some((allowed) => allowed.toUpperCase() === method)) throw denied(url, `${method} is not allowed`);
}

function denied(url: URL, reason: string): Error {
  return new Error(`Network access denied: ${url.origin}: ${reason}`);
}

/** Whether a prefix allows an address: `https://host/v1` allows `/v1` and `/v1/x`, not `/v10`, nor what could be read as another path. */
function isBelow(prefix: string, url: URL): boolean {
  const allowed = new URL(prefix);
  if (allowed.origin !== url.origin || /%2f|%5c|\\|;|%25/i.test(url.pathname)) return false;
  const base = allowed.pathname.replace(/\/$/, "");
  return url.pathname === base || url.pathname.startsWith(`${base}/`);
}

async function toResult(response: Response, url: string): Promise<ShellFetchResult> {
  return {
    status: response.status,
    statusText: response.statusText,
    headers: Object.fromEntries(response.headers),
    body: await readBody(response),
    url
  };
}

async function readBody(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    size += part.value.byteLength;
    if (size > MAX_BODY_BYTES) {
      await reader?.cancel();
      throw new Error(`The response is larger than ${MAX_BODY_BYTES} bytes`);
    }
    parts.push(part.value);
  }
  const body = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.byteLength;
  }
  return body;
}
