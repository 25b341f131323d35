// What a class says about its browser, checked once: a setting that cannot mean what it says fails the turn.
import type { CarriesFeature } from "../../feature/feature.ts";
import type { ResolveName } from "../../util/guarded-request.ts";
import { checkEntries } from "../web/options.ts";
import type { BrowserLink } from "./endpoints.ts";
import { browserErrors } from "./errors.ts";

export interface BrowserOptions {
  /** Whether the model has the tools. Default true. False: only code of `execute` has them, with `browserConnector(this)`. */
  readonly tools?: boolean;
  /**
   * Pages that may be opened, also in frames. Default: every public address. `example.com` is this host, `*.example.com` every
   * name below it, `*` every public host, `https://example.com/docs` this path and what is below it. An address from inside
   * of a network is asked only if an entry of the last kind means it.
   */
  readonly allow?: readonly string[];
  /** What no page may ask, whatever `allow` says: scripts and images too. */
  readonly deny?: readonly string[];
  /** "ask" (default): what a click would post is sent once a person has approved it. "refuse": never. */
  readonly posts?: "ask" | "refuse";
  /** Milliseconds that one action may take. Default 15,000, at most 60,000. */
  readonly timeout?: number;
  /** Milliseconds after which a session ends that is not used. Default 300,000, at most 1,800,000. */
  readonly idleMs?: number;
  /** Milliseconds after which a session ends in any case. Default 600,000, at most 3,600,000. */
  readonly sessionMs?: number;
  /** Bytes that the pages of one action may load. Default 25 MiB, at most 200 MiB. */
  readonly maxBytes?: number;
  /** Requests that the pages of one action may make. Default 500, at most 5,000. */
  readonly maxRequests?: number;
  /** Characters of a page that the model is shown at once. Default 20,000. */
  readonly maxShownChars?: number;
  /** The addresses of a host name, where the platform can tell. Each of them must be public. */
  readonly resolve?: ResolveName;
}

/** The value of `browser`: where the browser is, and what may be done in it. */
export interface Browser extends CarriesFeature {
  readonly options: BrowserSettings;
  /** Opens a connection. `env`: the variables and bindings of the Worker. */
  readonly connect: (env: unknown, keepAliveMs: number) => Promise<BrowserLink>;
}

/** With nothing left open. */
export interface BrowserSettings {
  readonly tools: boolean;
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
  readonly asksForPosts: boolean;
  readonly timeoutMs: number;
  readonly idleMs: number;
  readonly sessionMs: number;
  readonly maxBytes: number;
  readonly maxRequests: number;
  readonly maxShownChars: number;
  readonly resolve: ResolveName | undefined;
}

/** Throws BrowserSetupError, and WebSetupError for an entry of a list. */
export function browserSettings(options: BrowserOptions): BrowserSettings {
  const { tools = true, allow, deny = [], posts = "ask", resolve } = options;
  checkEntries([...(allow ?? []), ...deny], "browser");
  if (!["ask", "refuse"].includes(posts)) throw unusable("posts", 'It is "ask" or "refuse".');
  return {
    tools,
    allow,
    deny,
    asksForPosts: posts === "ask",
    timeoutMs: wholeNumber("timeout", options.timeout ?? 15_000, 60_000),
    idleMs: wholeNumber("idleMs", options.idleMs ?? 300_000, 1_800_000),
    sessionMs: wholeNumber("sessionMs", options.sessionMs ?? 600_000, 3_600_000),
    maxBytes: wholeNumber("maxBytes", options.maxBytes ?? 25 * 1024 * 1024, 200 * 1024 * 1024),
    maxRequests: wholeNumber("maxRequests", options.maxRequests ?? 500, 5_000),
    maxShownChars: wholeNumber("maxShownChars", options.maxShownChars ?? 20_000, 200_000),
    resolve
  };
}

function wholeNumber(name: string, given: number, most: number): number {
  if (Number.isInteger(given) && given >= 1 && given <= most) return given;
  throw unusable(name, `It is a whole number from 1 to ${most}.`);
}

function unusable(name: string, hint: string): Error {
  return browserErrors.BrowserSetupError(`browser: ${name} cannot have this value.`, hint);
}
