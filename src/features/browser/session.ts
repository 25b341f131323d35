// A page in a browser, from its first address to its end: a context of its own without cookies of anybody, one tab, bounded in
// time. Actions run one after the other. When it has ended, by a limit, a crash or the turn, each action says why.
import { decodeBase64 } from "../../util/bytes.ts";
import { isObject } from "../../util/json.ts";
import { OneByOne } from "../../util/one-by-one.ts";
import { CdpConnection, gone, type CdpEvent } from "./cdp.ts";
import { PAGE_START } from "./documents.ts";
import type { BrowserLink } from "./endpoints.ts";
import { browserErrors, isActionError } from "./errors.ts";
import { RequestGate, type HeldRequest } from "./gate.ts";
import type { BrowserSettings } from "./options.ts";
import { PageNotes } from "./page-notes.ts";
import { CLICK_SCRIPT, FILL_SCRIPT, FIND_SCRIPT, READ_SCRIPT } from "./page-script.ts";

export interface SeenPage {
  readonly url: string;
  readonly title: string;
  readonly text: string;
  /** The page has more than was looked at. */
  readonly isCut: boolean;
  readonly notes: readonly string[];
  /** What the action would send, and what waits for a person. */
  readonly held: readonly HeldRequest[];
}

export interface Typing {
  readonly ref: string;
  readonly text: string;
  /** Whether Enter is pressed behind it. */
  readonly submits: boolean;
}

export interface Screenshot {
  readonly url: string;
  readonly bytes: Uint8Array;
}

interface SessionInit {
  readonly settings: BrowserSettings;
  readonly link: BrowserLink;
  readonly newId: () => string;
}

const VIEW = { width: 1_280, height: 800 };
const MAX_PAGE_CHARS = 200_000;
const MAX_PAGE_NODES = 50_000;
const SCRIPT_MS = 5_000;
/** A page is at rest when nothing was asked or answered for so long. */
const QUIET_MS = 400;
const POLL_MS = 50;
/** Of the time of an action, for a document to arrive: what is there then is shown. */
const DOCUMENT_SHARE = 0.6;
const MAX_TYPED_CHARS = 10_000;

export class BrowserSession {
  readonly #settings: BrowserSettings;
  readonly #link: BrowserLink;
  readonly #newId: () => string;
  readonly #cdp: CdpConnection;
  readonly #notes = new PageNotes();
  readonly #inOrder = new OneByOne();
  readonly #sessionTimer: ReturnType<typeof setTimeout>;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #gate: RequestGate | undefined;
  #pageId = "";
  #sessionId = "";
  #isLoading = false;
  #nextName = 1;
  #isReleased = false;
  ended: string | undefined;

  /** Rejects with BrowserActionError. */
  static async start(init: SessionInit): Promise<BrowserSession> {
    const session = new BrowserSession(init);
    try {
      await session.#start();
    } catch (error) {
      session.close("it could not be started");
      throw error;
    }
    return session;
  }

  private constructor({ settings, link, newId }: SessionInit) {
    this.#settings = settings;
    this.#link = link;
    this.#newId = newId;
    this.#cdp = new CdpConnection(link.socket, {
      onEvent: (event) => this.#happened(event),
      onEnd: (reason) => this.#ended(reason)
    });
    this.#sessionTimer = setTimeout(() => this.close("its time was over"), settings.sessionMs);
    this.#used();
  }

  async open(url: URL, signal?: AbortSignal): Promise<SeenPage> {
    return await this.#act(url, async () => {
      const refused = await this.#open.pageRefusal(url);
      if (refused !== undefined) throw notOpened(url, refused);
      const { errorText } = await this.#page("Page.navigate", { url: url.href });
      await this.#rest(signal);
      const refusal = this.#notes.takePageRefusal();
      // Without one, it was opened, and has then tried to lead elsewhere.
      if (typeof errorText !== "string" || errorText === "") return;
      throw notOpened(url, refusal ?? errorText.replaceAll(/[^\w:. -]/g, "").slice(0, 100));
    });
  }

  async read(): Promise<SeenPage> {
    return await this.#run(async () => await this.#see());
  }

  async click(ref: string, signal?: AbortSignal): Promise<SeenPage> {
    return await this.#act(undefined, async () => {
      const found = await this.#script(FIND_SCRIPT, ref);
      if (typeof found !== "string") throw unknownElement(ref);
      const at: unknown = JSON.parse(found);
      if (!isObject(at) || at["isHit"] !== true) await this.#script(CLICK_SCRIPT, ref);
      else {
        const { x, y } = at;
        const button = { x, y, button: "left", clickCount: 1 };
        await this.#page("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
        await this.#page("Input.dispatchMouseEvent", { type: "mousePressed", ...button });
        await this.#page("Input.dispatchMouseEvent", { type: "mouseReleased", ...button });
      }
      await this.#rest(signal);
    });
  }

  async type({ ref, text, submits }: Typing, signal?: AbortSignal): Promise<SeenPage> {
    if (text.length > MAX_TYPED_CHARS) throw failed(`At most ${MAX_TYPED_CHARS} characters can be typed at once.`);
    return await this.#act(undefined, async () => {
      // A form for a window of its own stays in this one.
      if (typeof (await this.#script(FIND_SCRIPT, ref)) !== "string") throw unknownElement(ref);
      const state = await this.#script(FILL_SCRIPT, ref, text);
      if (state === "no-option") throw failed(`"${ref}" has no such option.`);
      if (state !== "focused" && state !== "chosen") throw failed(`"${ref}" is no field that text can be typed into.`);
      if (state === "focused") await this.#page("Input.insertText", { text });
      if (submits) {
        const key = { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13 };
        await this.#page("Input.dispatchKeyEvent", { type: "keyDown", text: "\r", ...key });
        await this.#page("Input.dispatchKeyEvent", { type: "keyUp", ...key });
      }
      await this.#rest(signal);
    });
  }

  async screenshot(): Promise<Screenshot> {
    return await this.#run(async () => {
      const { data } = await this.#page("Page.captureScreenshot", { format: "jpeg", quality: 75 });
      const url = await this.#script("(() => location.href.slice(0, 4000))");
      return { url: String(url), bytes: decodeBase64(String(data)) };
    });
  }

  /** What is held under this name. */
  find(request: string): HeldRequest | undefined {
    return this.#gate?.find(request);
  }

  get isAsking(): boolean {
    return this.ended === undefined && (this.#gate?.held.length ?? 0) > 0;
  }

  /** Sends what was held. A second call finds nothing. */
  async send(request: string, signal?: AbortSignal): Promise<SeenPage> {
    return await this.#run(async () => {
      this.#begin(undefined);
      try {
        const released = await this.#open.release(request);
        if (released === false) throw failed("Nothing was sent: the page does not wait with this request any more.");
        if (typeof released === "string") await this.#page("Page.navigate", { url: released });
        await this.#rest(signal);
        return await this.#see();
      } finally {
        this.#gate?.end();
      }
    });
  }

  close(reason: string): void {
    this.#cdp.end(reason);
  }

  get #open(): RequestGate {
    if (this.ended !== undefined || !this.#gate) throw gone(this.ended ?? "it could not be started");
    return this.#gate;
  }

  async #start(): Promise<void> {
    // Closed with the connection, whoever ends it.
    const { browserContextId } = await this.#cdp.send("Target.createBrowserContext", { disposeOnDetach: true });
    await this.#cdp.send("Browser.setDownloadBehavior", { behavior: "deny", browserContextId });
    const { targetId } = await this.#cdp.send("Target.createTarget", { url: "about:blank", browserContextId, ...VIEW });
    this.#pageId = String(targetId);
    const { sessionId } = await this.#cdp.send("Target.attachToTarget", { targetId, flatten: true });
    this.#sessionId = String(sessionId);
    this.#gate = new RequestGate({
      cdp: this.#cdp,
      settings: this.#settings,
      notes: this.#notes,
      newId: this.#newId,
      pageId: this.#pageId
    });
    await this.#guard(this.#sessionId);
    await this.#page("Page.setInterceptFileChooserDialog", { enabled: true });
    await this.#page("Emulation.setDeviceMetricsOverride", { ...VIEW, deviceScaleFactor: 1, mobile: false });
  }

  /** Of the page, and of each frame of it that runs in a process of its own. */
  async #guard(sessionId: string): Promise<void> {
    const commands: readonly (readonly [string, object])[] = [
      ["Fetch.enable", { patterns: [{ urlPattern: "*" }], handleAuthRequests: true }],
      ["Network.enable", { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }],
      ["Network.setBypassServiceWorker", { bypass: true }],
      ["Page.enable", {}],
      ["Page.addScriptToEvaluateOnNewDocument", { source: PAGE_START, runImmediately: true }],
      ["Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }]
    ];
    for (const [method, params] of commands) await this.#cdp.send(method, params, sessionId);
  }

  #happened(event: CdpEvent): void {
    const { method, params, sessionId } = event;
    if (!this.#gate) return;
    switch (method) {
      case "Fetch.requestPaused":
        if (this.#gate.isFlooded) return this.close("the page made too many requests");
        void this.#gate.paused(event);
        return;
      case "Fetch.authRequired":
        this.#tell(
          "Fetch.continueWithAuth",
          { ...params, authChallengeResponse: { response: "CancelAuth" } },
          sessionId
        );
        return;
      case "Network.dataReceived":
        if (!this.#gate.received(params["dataLength"])) return;
        this.#notes.stopped();
        this.#tell("Page.stopLoading", {}, this.#sessionId);
        return;
      case "Page.javascriptDialogOpening":
        this.#notes.dialog();
        // "Leave this page?" is the one that is answered with yes: the model has decided it.
        this.#tell("Page.handleJavaScriptDialog", { accept: params["type"] === "beforeunload" }, sessionId);
        return;
      case "Page.frameStartedLoading":
      case "Page.frameStoppedLoading":
        if (params["frameId"] === this.#pageId) this.#isLoading = method === "Page.frameStartedLoading";
        return;
      case "Target.attachedToTarget":
        void this.#attached(params);
        return;
      case "Inspector.targetCrashed":
        return this.close("the page crashed");
      case "Target.detachedFromTarget":
        if (params["sessionId"] === this.#sessionId) this.close("the page was closed");
        return;
    }
  }

  /** What is no frame is never let run: its requests would not come by. */
  async #attached({ sessionId, targetInfo }: CdpEvent["params"]): Promise<void> {
    const { type } = isObject(targetInfo) ? targetInfo : {};
    if (type !== "iframe" || typeof sessionId !== "string") return;
    try {
      await this.#guard(sessionId);
      await this.#cdp.send("Runtime.runIfWaitingForDebugger", {}, sessionId);
    } catch (error) {
      // The frame is gone, or stays paused.
      if (!isActionError(error)) throw error;
    }
  }

  async #act(from: URL | undefined, work: () => Promise<void>): Promise<SeenPage> {
    return await this.#run(async () => {
      // What waited for a person is from a page that the model leaves with this.
      await this.#open.refuseHeld();
      this.#begin(from);
      try {
        await work();
        return await this.#see();
      } finally {
        this.#gate?.end();
      }
    });
  }

  /** After what was asked before; the time without use begins behind it. */
  async #run<T>(work: () => Promise<T>): Promise<T> {
    return await this.#inOrder.run(async () => {
      clearTimeout(this.#idleTimer);
      try {
        return await work();
      } finally {
        this.#used();
      }
    });
  }

  #begin(from: URL | undefined): void {
    this.#open.begin(Date.now() + this.#settings.timeoutMs * DOCUMENT_SHARE, from);
  }

  /** Until nothing happens in the page, it asks for something to be sent, or the time of an action is over. */
  async #rest(signal: AbortSignal | undefined): Promise<void> {
    const deadline = Date.now() + this.#settings.timeoutMs;
    const gate = this.#open;
    gate.lastAt = Date.now();
    while (Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      signal?.throwIfAborted();
      if (this.ended !== undefined) throw gone(this.ended);
      const isQuiet = Date.now() - gate.lastAt > QUIET_MS;
      if (isQuiet && (!this.#isLoading || gate.held.length > 0)) return;
    }
    if (this.#isLoading) this.#tell("Page.stopLoading", {}, this.#sessionId);
  }

  async #see(): Promise<SeenPage> {
    const gate = this.#open;
    const read = await this.#script(READ_SCRIPT, this.#nextName, MAX_PAGE_CHARS, MAX_PAGE_NODES);
    const page: unknown = typeof read === "string" ? JSON.parse(read) : {};
    const { text, title, url, isCut, next } = isObject(page) ? page : {};
    if (typeof next === "number") this.#nextName = Math.max(this.#nextName, next);
    return {
      url: String(url),
      title: String(title),
      text: String(text),
      isCut: isCut === true,
      notes: this.#notes.take(),
      held: gate.held
    };
  }

  /** Runs one of the package's functions in the page, apart from the page's scripts. */
  async #script(source: string, ...values: readonly unknown[]): Promise<unknown> {
    const world = { frameId: this.#pageId, worldName: "everthink" };
    const { executionContextId: contextId } = await this.#page("Page.createIsolatedWorld", world);
    const expression = `${source}(${values.map((value) => JSON.stringify(value)).join(", ")})`;
    const options = { expression, contextId, returnByValue: true, timeout: SCRIPT_MS };
    const { result, exceptionDetails } = await this.#page("Runtime.evaluate", options);
    if (exceptionDetails !== undefined) throw failed("The page could not be read.");
    return isObject(result) ? (result["value"] ?? null) : null;
  }

  async #page(method: string, params: object): Promise<Readonly<Record<string, unknown>>> {
    return await this.#cdp.send(method, params, this.#sessionId);
  }

  /** A command whose answer does not matter. */
  #tell(method: string, params: object, sessionId: string | undefined): void {
    this.#cdp.send(method, params, sessionId).catch(() => undefined);
  }

  #used(): void {
    clearTimeout(this.#idleTimer);
    if (this.ended === undefined)
      this.#idleTimer = setTimeout(() => this.close("it was not used"), this.#settings.idleMs);
  }

  #ended(reason: string): void {
    this.ended = reason;
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#sessionTimer);
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#link.release?.().catch(() => undefined);
  }
}

function failed(reason: string): Error {
  return browserErrors.BrowserActionError(reason);
}

function notOpened({ origin, protocol }: URL, reason: string): Error {
  return failed(`${origin === "null" ? protocol : origin} could not be opened: ${reason}.`);
}

function unknownElement(ref: string): Error {
  return failed(`There is no element "${ref.slice(0, 20)}" in the page now. Read the page and take a name from there.`);
}
