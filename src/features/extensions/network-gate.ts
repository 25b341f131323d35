// Requests of extensions: https to the hosts they may reach, each redirect checked again, without cookies, bounded.
import { readText } from "../../util/bytes.ts";
import { insideOf } from "../../util/inside-address.ts";
import { isObject } from "../../util/json.ts";
import { covers } from "./permissions.ts";

const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];

export interface GatedResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Throws with what the extension reads. */
export async function gatedFetch(
  hosts: readonly string[],
  [url, init]: readonly unknown[],
  { fetch, signal }: { fetch: typeof globalThis.fetch; signal: AbortSignal }
): Promise<GatedResponse> {
  const { method = "GET", headers, body } = isObject(init) ? init : {};
  let request: GatedRequest = {
    method: String(method).toUpperCase(),
    headers: new Headers(isObject(headers) ? (headers as Record<string, string>) : {}),
    body: typeof body === "string" ? body : null
  };
  request.headers.delete("Cookie");
  let target = allowedUrl(hosts, String(url));
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const response = await fetch(target.href, { ...request, redirect: "manual", signal });
    const location = response.headers.get("Location");
    if (!REDIRECTS.includes(response.status) || location === null) return await readResponse(response);
    await response.body?.cancel();
    const next = allowedUrl(hosts, new URL(location, target).href);
    request = redirected(request, { status: response.status, isSameOrigin: next.origin === target.origin });
    target = next;
  }
  throw new Error(`More than ${MAX_REDIRECTS} redirects were sent.`);
}

interface GatedRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | null;
}

/** What is sent after a redirect: a form is not posted a second time, and credentials of one host are not for another. */
function redirected(
  { method, headers: given, body }: GatedRequest,
  { status, isSameOrigin }: { status: number; isSameOrigin: boolean }
): GatedRequest {
  const headers = new Headers(given);
  if (!isSameOrigin) for (const name of ["Authorization", "Proxy-Authorization"]) headers.delete(name);
  const isRepeated = status !== 303 && (status >= 307 || method !== "POST");
  if (isRepeated) return { method, headers, body };
  headers.delete("Content-Type");
  return { method: method === "HEAD" ? "HEAD" : "GET", headers, body: null };
}

function allowedUrl(hosts: readonly string[], text: string): URL {
  const url = URL.parse(text);
  const isAllowed = url?.protocol === "https:" && url.port === "" && hosts.some((entry) => covers(entry, url.hostname));
  // A public name of the list is not asked for what is inside, and a name from inside is not asked even if it is listed.
  if (!url || !isAllowed || insideOf(url) !== undefined)
    throw new Error(`This extension may not send a request to ${url?.host ?? text.slice(0, 100)}.`);
  return url;
}

async function readResponse(response: Response): Promise<GatedResponse> {
  const body = await readText(response.body, MAX_RESPONSE_BYTES);
  if (body === undefined) throw new Error(`The response has more than ${MAX_RESPONSE_BYTES} bytes.`);
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== "set-cookie"));
  return { status: response.status, headers, body };
}
