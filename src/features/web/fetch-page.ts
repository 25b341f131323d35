// One page of the web as bytes: asked where the rules of the package and the lists of the class let it, in bounded time and
// size. What it says is untrusted, and is not looked at here.
import { withinDeadline } from "../../host/deadline.ts";
import type { Clock } from "../../host/ports.ts";
import { readBytes, readText } from "../../util/bytes.ts";
import { errorMessage, ThinkError } from "../../util/errors.ts";
import { requestGuarded, type Fetch, type GuardedResponse, type RequestRules } from "../../util/guarded-request.ts";
import { isNamed, listRefusal } from "./addresses.ts";
import { webErrors } from "./errors.ts";
import { AGENT_NAME, type FetchSettings, type PageHeaders } from "./options.ts";
import { isAllowedBy } from "./robots.ts";

export interface FetchedPage {
  /** After redirects. */
  readonly url: URL;
  /** As the server named it, with its parameters. */
  readonly contentType: string | undefined;
  readonly bytes: Uint8Array;
}

export interface FetchPorts {
  readonly clock: Pick<Clock, "sleep" | "now">;
  readonly fetch: Fetch;
}

/** What a server that has several forms of a page should send. */
const ACCEPT = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5";
/** Bytes of robots.txt that are read, as RFC 9309 asks for. */
const MAX_ROBOTS_BYTES = 512 * 1024;
const ROBOTS_MAX_AGE_MS = 60 * 60 * 1_000;
const MAX_ROBOTS_ORIGINS = 100;

interface StoredRobots {
  /** Undefined: everything is allowed. Null: nothing is. */
  readonly text: string | undefined | null;
  readonly readAt: number;
}

export class PageFetcher {
  readonly #settings: FetchSettings;
  readonly #ports: FetchPorts;
  /** By origin, the oldest first. */
  readonly #robots = new Map<string, StoredRobots>();

  constructor(settings: FetchSettings, ports: FetchPorts) {
    this.#settings = settings;
    this.#ports = ports;
  }

  /** Rejects with WebFetchError, and with the reason of the signal. */
  async fetch(url: URL, signal: AbortSignal | undefined): Promise<FetchedPage> {
    const { timeoutMs } = this.#settings;
    const late = () => failure(url, `it took longer than ${timeoutMs} ms`);
    try {
      return await withinDeadline((ended) => this.#fetch(url, ended), {
        clock: this.#ports.clock,
        timeoutMs,
        late,
        signals: signal ? [signal] : []
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof ThinkError ? error : failure(url, errorMessage(error) || "the network failed", error);
    }
  }

  async #fetch(url: URL, signal: AbortSignal): Promise<FetchedPage> {
    const { headers, redirects, robot, maxBytes } = this.#settings;
    const answer = await requestGuarded(
      url,
      { headers: withDefaults(headers(url), robot ?? AGENT_NAME), signal },
      this.#rules(redirects === 0 ? "manual" : redirects, (target) => this.#refusal(target, signal))
    );
    await assertPage(answer, url);
    const { response } = answer;
    const announced = Number(response.headers.get("content-length") ?? 0);
    const bytes = announced > maxBytes ? await cancelled(response) : await readBytes(response.body, maxBytes);
    if (bytes === undefined) throw failure(answer.url, `it is larger than ${maxBytes} bytes`);
    return { url: answer.url, contentType: response.headers.get("content-type") ?? undefined, bytes };
  }

  #rules(redirects: RequestRules["redirects"], refuses: NonNullable<RequestRules["refuses"]>): RequestRules {
    return {
      fetch: this.#ports.fetch,
      redirects,
      opens: (_inside, url) => isNamed(url, this.#settings),
      refuses,
      refused: (url, reason) => failure(url, reason),
      resolve: this.#settings.resolve
    };
  }

  async #refusal(url: URL, signal: AbortSignal): Promise<string | undefined> {
    return listRefusal(url, this.#settings) ?? (await this.#refusalOfRobots(url, signal));
  }

  async #refusalOfRobots(url: URL, signal: AbortSignal): Promise<string | undefined> {
    const { robot } = this.#settings;
    if (robot === undefined) return undefined;
    const text = await this.#readRobots(url, signal);
    const isAllowed = text !== null && (text === undefined || isAllowedBy(text, robot, url.pathname + url.search));
    return isAllowed ? undefined : "its robots.txt refuses it";
  }

  /** One that is missing allows everything. One that cannot be read allows nothing, as RFC 9309 says. */
  async #readRobots({ origin }: URL, signal: AbortSignal): Promise<string | undefined | null> {
    const now = this.#ports.clock.now();
    const stored = this.#robots.get(origin);
    if (stored && now - stored.readAt < ROBOTS_MAX_AGE_MS) return stored.text;
    const text = await this.#requestRobots(new URL("/robots.txt", origin), signal);
    this.#robots.delete(origin);
    this.#robots.set(origin, { text, readAt: now });
    if (this.#robots.size > MAX_ROBOTS_ORIGINS) this.#robots.delete([...this.#robots.keys()][0] ?? "");
    return text;
  }

  /** The lists may name a part of an origin only: its robots.txt is asked for all the same, and what that redirects to is not. */
  #robotsRules({ href }: URL): RequestRules {
    const rules = this.#rules(5, (url) => (url.href === href ? undefined : listRefusal(url, this.#settings)));
    return { ...rules, opens: (_inside, url) => url.href === href || isNamed(url, this.#settings) };
  }

  async #requestRobots(url: URL, signal: AbortSignal): Promise<string | undefined | null> {
    try {
      const request = { headers: { "user-agent": this.#settings.robot ?? AGENT_NAME }, signal };
      const { response } = await requestGuarded(url, request, this.#robotsRules(url));
      if (response.ok) return (await readText(response.body, MAX_ROBOTS_BYTES)) ?? null;
      await response.body?.cancel();
      return response.status >= 500 ? null : undefined;
    } catch (error) {
      signal.throwIfAborted();
      console.warn(`${url.href} could not be read: ${errorMessage(error)}`);
      return null;
    }
  }
}

function withDefaults(given: PageHeaders, userAgent: string): Headers {
  const headers = new Headers({ accept: ACCEPT, "user-agent": userAgent });
  for (const [name, value] of Object.entries(given)) if (value !== undefined) headers.set(name, value);
  return headers;
}

async function assertPage({ response, url }: GuardedResponse, asked: URL): Promise<void> {
  if (response.ok) return;
  await response.body?.cancel();
  const location = response.headers.get("location");
  if (location !== null && response.status < 400) {
    const target = URL.parse(location, url)?.href ?? location;
    throw failure(asked, `it redirects to ${target.slice(0, 500)}, which is not followed`);
  }
  throw failure(url, `it was answered with ${response.status}`);
}

async function cancelled(response: Response): Promise<undefined> {
  await response.body?.cancel();
}

function failure(url: URL, reason: string, cause?: unknown): Error {
  return webErrors.WebFetchError(url.origin === "null" ? url.protocol : url.origin, reason, cause);
}
