// Every request of a page comes by here before it leaves the browser: redirects, frames, images and scripts too. The guard on
// addresses is the one of the package. What would change something (POST, PUT, …) is held for a person to approve where an
// action of the model has caused it, and refused otherwise; what is held is let through once, or never.
import { sha256Hex } from "../../util/hex.ts";
import { decodeBase64, decodeText, encodeBase64, encodeText, joinBytes } from "../../util/bytes.ts";
import { hopRefusal, type Hop } from "../../util/guarded-request.ts";
import { isObject } from "../../util/json.ts";
import { isNamed, listRefusal } from "../web/addresses.ts";
import type { CdpConnection, CdpEvent } from "./cdp.ts";
import { fileTypeOf, passDocument, type Header } from "./documents.ts";
import type { BrowserSettings } from "./options.ts";
import type { PageNotes } from "./page-notes.ts";

/** What waits for a person, as it is shown and as it is sent. */
export interface HeldRequest {
  /** Its name for the model. It cannot be guessed. */
  readonly request: string;
  readonly method: string;
  readonly url: string;
  /** What is sent with it; of a long one the beginning, and a hash of all. */
  readonly body: string;
}

interface Held extends HeldRequest {
  /** Of a request of a script: it waits where it is. A page that waited could not be read; its form is sent anew. */
  readonly waits: Pick<Paused, "requestId" | "sessionId"> | undefined;
  /** Base64. */
  readonly postData: string;
  readonly headers: readonly Header[];
}

interface Paused {
  readonly requestId: string;
  readonly sessionId: string | undefined;
  readonly url: string;
  readonly method: string;
  /** "Document" for a page, also in a frame. */
  readonly type: string;
  readonly isOfPage: boolean;
  readonly redirectedFrom: string | undefined;
}

interface GateInit {
  readonly cdp: CdpConnection;
  readonly settings: BrowserSettings;
  readonly notes: PageNotes;
  readonly pageId: string;
  readonly newId: () => string;
}

const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
/** Reports that a page sends about itself: no person would know what to decide. */
const REPORTS: ReadonlySet<string> = new Set(["Ping", "CSPViolationReport"]);
const MAX_HELD = 4;
/** So many times the requests that are allowed end the session. */
const FLOOD = 3;
const MAX_BODY_CHARS = 4_000;
const MAX_URL_CHARS = 4_000;
/** Addresses that were redirected from, or that are open. */
const MAX_KNOWN = 200;

export class RequestGate {
  readonly #init: GateInit;
  readonly #held = new Map<string, Held>();
  /** Of requests that are on their way: where a redirect of one came from. */
  readonly #addresses = new Map<string, URL>();
  #requests = 0;
  #bytes = 0;
  #isActing = false;
  /** Of the document that is shown, or on its way. */
  #page = new URL("about:blank");
  #deadline = 0;
  /** The form that the page is asked for next. */
  #resent: Held | undefined;
  /** When something last happened. */
  lastAt = Date.now();

  constructor(init: GateInit) {
    this.#init = init;
  }

  get held(): readonly HeldRequest[] {
    return [...this.#held.values()].map(({ request, method, url, body }) => ({ request, method, url, body }));
  }

  find(request: string): HeldRequest | undefined {
    return this.#held.get(request);
  }

  /** An action of the model begins: what it causes may be held. `from`: what leads to a page that it opens. */
  begin(deadline: number, from?: URL): void {
    [this.#isActing, this.#requests, this.#bytes, this.#deadline] = [true, 0, 0, deadline];
    if (from) this.#page = from;
    this.lastAt = Date.now();
  }

  end(): void {
    this.#isActing = false;
    this.#resent = undefined;
  }

  /** The page goes on to ask, whatever is refused. */
  get isFlooded(): boolean {
    return this.#requests > this.#init.settings.maxRequests * FLOOD;
  }

  /** Why a page must not be opened. */
  async pageRefusal(url: URL): Promise<string | undefined> {
    return await this.#refusal({ url, from: url, method: "GET" }, true);
  }

  /** What was held is not sent any more. */
  async refuseHeld(): Promise<void> {
    const all = [...this.#held.values()];
    this.#held.clear();
    for (const { waits } of all) if (waits) await this.#fail(waits);
  }

  /**
   * Lets a request through, never twice. An address: the page is to be asked for it, and what it is asked with is the request.
   * False: there is none, or the page has given it up.
   */
  async release(request: string): Promise<boolean | string> {
    const held = this.#held.get(request);
    if (!held) return false;
    this.#held.delete(request);
    const { waits, url } = held;
    if (!waits) {
      this.#resent = held;
      return url;
    }
    // It came through the guard when it was held; its name may stand for something else by now.
    if ((await this.#refusal({ url: new URL(url), from: this.#page, method: held.method }, false)) !== undefined) {
      await this.#fail(waits);
      return false;
    }
    const { requestId, sessionId } = waits;
    return await this.#init.cdp.send("Fetch.continueRequest", { requestId }, sessionId).then(
      () => true,
      () => false
    );
  }

  /** `Fetch.requestPaused`. Never rejects: a request that fails here is refused. */
  async paused({ params, sessionId }: CdpEvent): Promise<void> {
    this.lastAt = Date.now();
    const paused = pausedOf(params, sessionId, this.#init.pageId);
    try {
      const isAnswer = params["responseStatusCode"] !== undefined || params["responseErrorReason"] !== undefined;
      await (isAnswer ? this.#answered(paused, params) : this.#asked(paused, params));
    } catch {
      // The page has gone on without it, or is gone.
      await this.#fail(paused);
    }
    this.lastAt = Date.now();
  }

  /** `Network.dataReceived`. True: the page is to be stopped. */
  received(bytes: unknown): boolean {
    this.lastAt = Date.now();
    const wasWithin = this.#isWithinBytes;
    this.#bytes += typeof bytes === "number" ? bytes : 0;
    return wasWithin && !this.#isWithinBytes;
  }

  get #isWithinBytes(): boolean {
    return this.#bytes <= this.#init.settings.maxBytes;
  }

  async #asked(paused: Paused, params: CdpEvent["params"]): Promise<void> {
    const { url, type, redirectedFrom, isOfPage, method } = paused;
    const { settings, notes } = this.#init;
    this.#requests += 1;
    if (isLocal(url) && !isOfPage) return await this.#pass(paused);
    const address = URL.parse(url);
    if (!address) return await this.#fail(paused);
    const from = (redirectedFrom !== undefined && this.#addresses.get(redirectedFrom)) || this.#page;
    const isDocument = type === "Document";
    const refusal =
      this.#requests > settings.maxRequests
        ? "the page made too many requests"
        : this.#isWithinBytes
          ? await this.#refusal({ url: address, from, method }, isDocument)
          : "the page loaded too much";
    if (refusal !== undefined) {
      notes.refused(address, refusal, isOfPage);
      return await this.#fail(paused);
    }
    remember(this.#addresses, paused.requestId, address);
    if (isOfPage && this.#resent?.url === address.href) return await this.#passForm(paused, params, this.#resent);
    if (!READS.has(method)) return await this.#hold(paused, params, address);
    await this.#pass(paused);
  }

  async #hold(paused: Paused, params: CdpEvent["params"], url: URL): Promise<void> {
    const { settings, notes, newId } = this.#init;
    const { method, type, isOfPage, requestId, sessionId } = paused;
    const isFrame = type === "Document" && !isOfPage;
    const mayAsk = this.#isActing && settings.asksForPosts && !REPORTS.has(type) && !isFrame;
    const sent = mayAsk && this.#held.size < MAX_HELD ? await sentIn(params["request"]) : undefined;
    if (!sent || url.href.length > MAX_URL_CHARS) {
      notes.refusedPost();
      return await this.#fail(paused);
    }
    const request = newId();
    const waits = isOfPage ? undefined : { requestId, sessionId };
    this.#held.set(request, { request, method, url: url.href, waits, ...sent });
    if (isOfPage) await this.#fail(paused);
  }

  /** The browser asks for the page; what it is asked with is what was approved. */
  async #passForm({ requestId, sessionId }: Paused, params: CdpEvent["params"], held: Held): Promise<void> {
    this.#resent = undefined;
    const { method, postData } = held;
    const given = headersIn(params["request"]);
    const own = held.headers.filter(({ name }) => /^(?:content-type|origin|referer)$/i.test(name));
    const isOwn = (name: string) => own.some((one) => one.name.toLowerCase() === name.toLowerCase());
    const headers = [...given.filter(({ name }) => !isOwn(name)), ...own];
    const options = { requestId, method, postData, headers, interceptResponse: true };
    await this.#init.cdp.send("Fetch.continueRequest", options, sessionId);
  }

  /** Only documents are looked at on their way back. */
  async #answered(paused: Paused, params: CdpEvent["params"]): Promise<void> {
    const { requestId, sessionId, isOfPage } = paused;
    const { cdp, notes } = this.#init;
    const status = Number(params["responseStatusCode"] ?? 0);
    const headers = headersOf(params["responseHeaders"]);
    const hasBody =
      status >= 200 && status !== 204 && status !== 205 && status !== 304 && (status < 300 || status >= 400);
    if (!hasBody || paused.type !== "Document") {
      await cdp.send("Fetch.continueRequest", { requestId }, sessionId);
      return;
    }
    const file = fileTypeOf(headers);
    if (file !== undefined) {
      notes.file(file, isOfPage);
      return await this.#fail(paused);
    }
    if (isOfPage) this.#page = new URL(paused.url);
    const isWhole = await passDocument(cdp, { requestId, status, headers, sessionId }, this.#deadline);
    if (!isWhole) notes.cut();
  }

  async #refusal({ url, from, method }: Hop, isDocument: boolean): Promise<string | undefined> {
    const { settings } = this.#init;
    const lists = { allow: isDocument ? settings.allow : undefined, deny: settings.deny };
    return await hopRefusal(
      { url, from: from.protocol === "about:" ? url : from, method },
      {
        opens: (_inside, target) => isNamed(target, settings),
        refuses: (target) => listRefusal(target, lists),
        resolve: settings.resolve
      }
    );
  }

  async #pass({ requestId, sessionId, type }: Paused): Promise<void> {
    await this.#init.cdp.send(
      "Fetch.continueRequest",
      { requestId, interceptResponse: type === "Document" },
      sessionId
    );
  }

  /** A page that may not be opened leaves the one that is shown where it is. */
  async #fail({ requestId, sessionId }: Pick<Paused, "requestId" | "sessionId">): Promise<void> {
    await this.#init.cdp
      .send("Fetch.failRequest", { requestId, errorReason: "Aborted" }, sessionId)
      .catch(() => undefined);
  }
}

/** What is in the page itself, or in nothing. */
function isLocal(url: string): boolean {
  return /^(?:data|blob|about):/i.test(url);
}

function pausedOf(params: CdpEvent["params"], sessionId: string | undefined, pageId: string): Paused {
  const request = isObject(params["request"]) ? params["request"] : {};
  const type = String(params["resourceType"]);
  const redirected = params["redirectedRequestId"];
  return {
    requestId: String(params["requestId"]),
    sessionId,
    url: String(request["url"]),
    method: String(request["method"]).toUpperCase(),
    type,
    isOfPage: type === "Document" && params["frameId"] === pageId,
    redirectedFrom: typeof redirected === "string" ? redirected : undefined
  };
}

function headersOf(given: unknown): Header[] {
  return (Array.isArray(given) ? given : []).flatMap((header: unknown) =>
    isObject(header) ? [{ name: String(header["name"]), value: String(header["value"]) }] : []
  );
}

function headersIn(request: unknown): Header[] {
  const headers = isObject(request) && isObject(request["headers"]) ? request["headers"] : {};
  return Object.entries(headers).map(([name, value]) => ({ name, value: String(value) }));
}

/** Undefined: it cannot be shown, so nobody could decide about it. A part without bytes is a file. */
async function sentIn(request: unknown): Promise<Pick<Held, "body" | "postData" | "headers"> | undefined> {
  const { hasPostData, postDataEntries, postData } = isObject(request) ? request : {};
  const headers = headersIn(request);
  if (hasPostData !== true) return { body: "", postData: "", headers };
  const entries: readonly unknown[] = Array.isArray(postDataEntries) ? postDataEntries : [];
  const parts = entries.map((entry) => (isObject(entry) ? entry["bytes"] : undefined));
  if (!parts.every((part) => typeof part === "string")) return undefined;
  const bytes = parts.map((part) => decodeBase64(part));
  const all = joinBytes(
    bytes,
    bytes.reduce((sum, { byteLength }) => sum + byteLength, 0)
  );
  const sent = all.byteLength > 0 ? all : encodeText(typeof postData === "string" ? postData : "");
  if (sent.byteLength === 0) return undefined;
  return { body: await shownBody(sent), postData: encodeBase64(sent), headers };
}

async function shownBody(bytes: Uint8Array): Promise<string> {
  const text = decodeText(bytes);
  if (text.length <= MAX_BODY_CHARS) return text;
  return `${text.slice(0, MAX_BODY_CHARS)}… (${text.length} characters, SHA-256 ${await sha256Hex(bytes)})`;
}

function remember(known: Map<string, URL>, key: string, url: URL): void {
  known.set(key, url);
  if (known.size > MAX_KNOWN) known.delete([...known.keys()][0] ?? "");
}
