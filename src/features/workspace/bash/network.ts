// The network of a script: none, or what the class allows. Every hop of a redirect is checked like the first address,
// and addresses inside of a network are refused whatever is allowed.
import { readBytes } from "../../../util/bytes.ts";
import { isBelow } from "../../../util/address-list.ts";
import { requestGuarded, type Fetch, type GuardedRequest } from "../../../util/guarded-request.ts";
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
export function shellFetch(network: BashNetwork, fetch: Fetch = globalThis.fetch): ShellFetch | undefined {
  if (network === false) return undefined;
  return async (url, options = {}) => {
    const address = URL.parse(url);
    if (!address) throw new Error(`Network access denied: ${url} is not an address`);
    const answer = await requestGuarded(address, toRequest(options), {
      fetch,
      redirects: options.followRedirects === false ? "manual" : MAX_REDIRECTS,
      refuses: (target, method) => refusalOfClass(network, target, method),
      refused: ({ origin }, reason) => new Error(`Network access denied: ${origin}: ${reason}`)
    });
    return await toResult(answer.response, answer.url.href);
  };
}

function toRequest({ method = "GET", headers, body, signal, timeoutMs }: ShellFetchOptions): GuardedRequest {
  const timeout = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const signals = [...(signal ? [signal] : []), ...timeout];
  return {
    method: method.toUpperCase(),
    headers: new Headers(headers),
    body: body ?? null,
    signal: signals.length === 0 ? null : AbortSignal.any(signals)
  };
}

function refusalOfClass(network: Exclude<BashNetwork, false>, url: URL, method: string): string | undefined {
  if (network === true) return undefined;
  if (!network.allow.some((prefix) => isBelow(prefix, url))) return "it is not in the list of allowed addresses";
  const methods = network.methods ?? DEFAULT_METHODS;
  return methods.some((allowed) => allowed.toUpperCase() === method) ? undefined : `${method} is not allowed`;
}

async function toResult(response: Response, url: string): Promise<ShellFetchResult> {
  const { status, statusText, headers } = response;
  const body = await readBytes(response.body, MAX_BODY_BYTES);
  if (body === undefined) throw new Error(`The response is larger than ${MAX_BODY_BYTES} bytes`);
  return { status, statusText, headers: Object.fromEntries(headers), body, url };
}
