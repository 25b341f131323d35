// What a class says about `fetch_url`, checked once: a setting that cannot mean what it says fails the turn.
import type { Fetch, ResolveName } from "../../util/guarded-request.ts";
import { webErrors } from "./errors.ts";

export type PageFormat = "markdown" | "text" | "raw";

/** By name; one that is undefined is not sent. */
export type PageHeaders = Readonly<Record<string, string | undefined>>;

export interface WebFetchOptions {
  /**
   * What may be fetched. Default: every public address. `example.com` is this host, `*.example.com` every name below it, `*`
   * every public host, `https://example.com/docs` this path and what is below it. An address from inside of a network is
   * fetched only if an entry of the last kind means it.
   */
  readonly allow?: readonly string[];
  /** What may not be fetched, whatever `allow` says. */
  readonly deny?: readonly string[];
  /** Bytes of one answer, unpacked. Default 5 MiB, at most 25 MiB. */
  readonly maxBytes?: number;
  /** Milliseconds from the first request to the last byte, redirects included. Default 20,000. */
  readonly timeout?: number;
  /**
   * Headers of each request. A function is asked once for each call, with the address the model gave: what it returns is not
   * sent to another origin. Only a function may give credentials.
   */
  readonly headers?: PageHeaders | ((url: URL) => PageHeaders);
  /** What HTML becomes. Default `markdown`. `text`: without links and emphasis. `raw`: as it was sent. */
  readonly as?: PageFormat;
  /** Characters of a text that the model is shown at once. Default 20,000. The whole is a file of the workspace. */
  readonly maxShownChars?: number;
  /** How many redirects are followed. Default 5. With 0 the model is told where one leads. */
  readonly redirects?: number;
  /** Whether robots.txt is asked first, as `everthink` or under this name. Default: it is not. */
  readonly robots?: boolean | string;
  /** Milliseconds for which an answer is used again. Default 0. Answers are in memory: 20, together 5,000,000 characters. */
  readonly cacheMs?: number;
  /** The addresses of a host name, where the platform can tell. Each of them must be public. */
  readonly resolve?: ResolveName;
  /** Sends the requests, for proxies and service bindings. Each address was checked before. Default: `fetch` of the platform. */
  readonly fetch?: Fetch;
}

/** With nothing left open. */
export interface FetchSettings {
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly headers: (url: URL) => PageHeaders;
  readonly as: PageFormat;
  readonly maxShownChars: number;
  readonly redirects: number;
  /** The name under which robots.txt is read; undefined: it is not. */
  readonly robot: string | undefined;
  readonly cacheMs: number;
  readonly resolve: ResolveName | undefined;
  readonly fetch: Fetch | undefined;
}

export const AGENT_NAME = "everthink";
const MAX_BYTES = 25 * 1024 * 1024;
const MAX_TIMEOUT_MS = 120_000;
const MAX_SHOWN_CHARS = 200_000;
const MAX_REDIRECTS = 20;
const MAX_CACHE_MS = 24 * 60 * 60 * 1_000;
const FORMATS: readonly unknown[] = ["markdown", "text", "raw"];

/** Throws WebSetupError. */
export function fetchSettings(given: true | WebFetchOptions): FetchSettings {
  const options: WebFetchOptions = given === true ? {} : given;
  const { allow, deny = [], headers = {}, as = "markdown", robots = false, resolve, fetch } = options;
  checkEntries([...(allow ?? []), ...deny], "webFetch");
  if (typeof headers === "object") assertNoCredentials(headers);
  if (!FORMATS.includes(as)) throw unusable("as", 'It is "markdown", "text" or "raw".');
  return {
    allow,
    deny,
    as,
    headers: typeof headers === "function" ? headers : () => headers,
    maxBytes: wholeNumber("maxBytes", options.maxBytes ?? 5 * 1024 * 1024, { from: 1, to: MAX_BYTES }),
    timeoutMs: wholeNumber("timeout", options.timeout ?? 20_000, { from: 1, to: MAX_TIMEOUT_MS }),
    maxShownChars: wholeNumber("maxShownChars", options.maxShownChars ?? 20_000, { from: 100, to: MAX_SHOWN_CHARS }),
    redirects: wholeNumber("redirects", options.redirects ?? 5, { from: 0, to: MAX_REDIRECTS }),
    robot: robots === true ? AGENT_NAME : robots === false ? undefined : robots,
    cacheMs: wholeNumber("cacheMs", options.cacheMs ?? 0, { from: 0, to: MAX_CACHE_MS }),
    resolve,
    fetch
  };
}

function wholeNumber(name: string, given: number, { from, to }: { from: number; to: number }): number {
  if (Number.isInteger(given) && given >= from && given <= to) return given;
  throw unusable(name, `It is a whole number from ${from} to ${to}.`);
}

const HOST_ENTRY = /^(?:\*|(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)$/i;

/** Of `allow` and `deny`. `setting` is the name of the setting, for the error. Throws WebSetupError. */
export function checkEntries(entries: readonly string[], setting: string): void {
  for (const entry of entries) {
    const isPrefix = /^https?:\/\//i.test(entry) && URL.canParse(entry);
    const { username = "", password = "", search = "", hash = "" } = isPrefix ? new URL(entry) : {};
    const isPlain = username + password + search + hash === "";
    if (isPrefix ? isPlain : HOST_ENTRY.test(entry)) continue;
    const hint = "An entry is a host (example.com), *.example.com, *, or an address (https://example.com/docs).";
    throw webErrors.WebSetupError(`${setting}: "${entry.slice(0, 100)}" is no entry of allow or deny.`, hint);
  }
}

/** Names that say that the value is one. A record of headers goes to every address that a model thinks of. */
const CREDENTIAL = /auth|cookie|key|token|secret|session|password|credential|signature/i;

function assertNoCredentials(headers: PageHeaders): void {
  const name = Object.keys(headers).find((one) => CREDENTIAL.test(one));
  if (name === undefined) return;
  const hint = 'Give a function: headers: (url) => url.origin === "https://api.example.com" ? { … } : {}.';
  throw webErrors.WebSetupError(`webFetch: "${name}" would be sent to every address that the model thinks of.`, hint);
}

function unusable(name: string, hint: string): Error {
  return webErrors.WebSetupError(`webFetch: ${name} cannot have this value.`, hint);
}
