// The one way out to an address that the class has not chosen: a model, a client, a web page, another server. Each address is
// checked before it is asked, those of redirects too, and what a caller sends for one origin is not sent to another. What is
// inside of a network is `insideOf`'s to say; how much of an answer is read is the caller's.
import { INSIDE_REASONS, insideOf, type Inside } from "./inside-address.ts";
import type { MaybePromise } from "./maybe-promise.ts";

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface AddressRules {
  /** Which addresses from inside may be asked all the same, if nothing from outside leads there. Default: none. */
  readonly opens?: (inside: Inside, url: URL) => boolean;
}

/**
 * Why an address must not be asked; undefined: it may be. `from`: what led to it, which is the address itself where it was
 * given, and otherwise the one that redirected to it or named it. Pure.
 *
 * `refusalOf(new URL("http://10.0.0.1/"), new URL("https://example.com/"))` is "it is an address of a private network".
 */
export function refusalOf(url: URL, from: URL, { opens = () => false }: AddressRules = {}): string | undefined {
  if (url.protocol !== "http:" && url.protocol !== "https:") return "it is neither http nor https";
  if (url.username !== "" || url.password !== "") return "it contains a user name or password";
  if (OTHER_SERVICES.has(url.port)) return `port ${url.port} is not one of web servers`;
  const inside = insideOf(url);
  const isOpen = inside === undefined || (insideOf(from) !== undefined && opens(inside, url));
  if (!isOpen) return INSIDE_REASONS[inside];
  return url.protocol === "http:" && from.protocol === "https:" ? "it leads from https to http" : undefined;
}

/** Ports of services that could take a request for a command of theirs: the list of the Fetch standard, section 2.9. */
const OTHER_SERVICES: ReadonlySet<string> = new Set(
  (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 " +
    "139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 " +
    "1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
  ).split(" ")
);

export interface GuardedRequest {
  readonly method?: string;
  readonly headers?: HeadersInit;
  readonly body?: string | null;
  readonly signal?: AbortSignal | null;
}

/** The addresses that a host name stands for, where something can tell before the request is made. */
export type ResolveName = (hostname: string) => Promise<readonly string[]>;

export interface RequestRules extends AddressRules {
  readonly fetch: Fetch;
  /** Past it the request is refused. "manual": a redirect is an answer like any other. */
  readonly redirects: number | "manual";
  /** What the caller refuses beside what is refused everywhere. */
  readonly refuses?: (url: URL, method: string) => MaybePromise<string | undefined>;
  readonly resolve?: ResolveName;
  /** Makes the error. */
  readonly refused: (url: URL, reason: string) => Error;
}

export interface GuardedResponse {
  readonly response: Response;
  /** Where it came from, after redirects. */
  readonly url: URL;
}

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Throws `rules.refused` and what `fetch` throws. The caller reads or cancels the body. */
export async function requestGuarded(
  first: URL,
  request: GuardedRequest,
  rules: RequestRules
): Promise<GuardedResponse> {
  let { method = "GET", headers = {}, body = null } = request;
  let [url, from] = [first, first];
  for (let count = 0; ; count += 1) {
    await assertAllowed({ url, from, method }, rules);
    const init = { method, headers: new Headers(headers), body, signal: request.signal, redirect: "manual" as const };
    const response = await rules.fetch(url.href, init);
    const location = response.headers.get("location");
    const isRedirect = REDIRECTS.includes(response.status) && location !== null;
    if (!isRedirect || rules.redirects === "manual") return { response, url };
    await response.body?.cancel();
    if (count >= rules.redirects) throw rules.refused(first, `it was redirected more than ${rules.redirects} times`);
    const next = URL.parse(location, url);
    if (!next) throw rules.refused(url, "it redirects to what is no address");
    if (next.origin !== url.origin) headers = harmlessHeaders(headers);
    // A form is not posted a second time.
    if (response.status === 303 || (response.status < 307 && method === "POST")) {
      [method, body] = [method === "HEAD" ? "HEAD" : "GET", null];
      headers = withoutContent(headers);
    }
    [from, url] = [url, next];
  }
}

export interface Hop {
  readonly url: URL;
  /** What led to it; see `refusalOf`. */
  readonly from: URL;
  readonly method: string;
}

async function assertAllowed(hop: Hop, rules: RequestRules): Promise<void> {
  const refusal = await hopRefusal(hop, rules);
  if (refusal !== undefined) throw rules.refused(hop.url, refusal);
}

/** `refusalOf` with what the caller refuses, and with what the name stands for: for requests that another program makes. */
export async function hopRefusal(
  { url, from, method }: Hop,
  rules: Pick<RequestRules, "opens" | "refuses" | "resolve">
): Promise<string | undefined> {
  const refusal = refusalOf(url, from, rules) ?? (await rules.refuses?.(url, method));
  // What is inside was opened, whatever it stands for.
  if (refusal !== undefined || rules.resolve === undefined || !isName(url) || insideOf(url) !== undefined)
    return refusal;
  const addresses = await rules.resolve(url.hostname).catch(() => []);
  if (addresses.length === 0) return "its name stands for no address";
  for (const address of addresses) {
    const resolved = URL.parse(`${url.protocol}//${address.includes(":") ? `[${address}]` : address}/`);
    if (resolved === null) return "its name stands for no address";
    const refused = refusalOf(resolved, from, rules);
    if (refused !== undefined) return `its name stands for ${address}: ${refused}`;
  }
  return undefined;
}

function isName({ hostname }: URL): boolean {
  return !hostname.startsWith("[") && !/^\d+(?:\.\d+){3}$/.test(hostname);
}

/** What says nothing about who asks. Any other header may be a credential, whatever its name is. */
const HARMLESS: ReadonlySet<string> = new Set(
  "accept accept-language accept-encoding cache-control content-type content-language range user-agent".split(" ")
);

function harmlessHeaders(given: HeadersInit): Headers {
  return new Headers([...new Headers(given)].filter(([name]) => HARMLESS.has(name)));
}

function withoutContent(given: HeadersInit): Headers {
  return new Headers([...new Headers(given)].filter(([name]) => !name.startsWith("content-")));
}
