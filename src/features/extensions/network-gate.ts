// Requests of extensions: https to the hosts they may reach, each redirect checked again, without cookies, bounded.
import { readText } from "../../util/bytes.ts";
import { isHostIn } from "../../util/address-list.ts";
import { requestGuarded, type Fetch } from "../../util/guarded-request.ts";
import { isObject } from "../../util/json.ts";

const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;
const MAX_REDIRECTS = 5;

export interface GatedResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Throws with what the extension reads. */
export async function gatedFetch(
  hosts: readonly string[],
  [url, init]: readonly unknown[],
  { fetch, signal }: { fetch: Fetch; signal: AbortSignal }
): Promise<GatedResponse> {
  const { method = "GET", headers: given, body } = isObject(init) ? init : {};
  const headers = new Headers(isObject(given) ? (given as Record<string, string>) : {});
  headers.delete("Cookie");
  const first = URL.parse(String(url));
  if (!first) throw refusedRequest(String(url).slice(0, 100));
  const request = {
    method: String(method).toUpperCase(),
    headers,
    body: typeof body === "string" ? body : null,
    signal
  };
  const { response } = await requestGuarded(first, request, {
    fetch,
    redirects: MAX_REDIRECTS,
    refuses: (target) => (isListed(hosts, target) ? undefined : "it is not listed"),
    refused: ({ host }) => refusedRequest(host)
  });
  return await readResponse(response);
}

function isListed(hosts: readonly string[], { protocol, port, hostname }: URL): boolean {
  return protocol === "https:" && port === "" && hosts.some((entry) => isHostIn(entry, hostname));
}

function refusedRequest(host: string): Error {
  return new Error(`This extension may not send a request to ${host}.`);
}

async function readResponse(response: Response): Promise<GatedResponse> {
  const body = await readText(response.body, MAX_RESPONSE_BYTES);
  if (body === undefined) throw new Error(`The response has more than ${MAX_RESPONSE_BYTES} bytes.`);
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== "set-cookie"));
  return { status: response.status, headers, body };
}
