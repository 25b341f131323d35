// One stored server and its line, if it has one: the states a client is shown, connecting with back-off, reading the
// catalog, and requests with a deadline. A failure to connect is a state and an outcome, not an exception. Everything that
// must survive a restart is in the server's row.
import { happensWithin, withinDeadline } from "../../host/deadline.ts";
import { retryPauseMs } from "../../agent/retry.ts";
import { EMPTY_CATALOG, type McpCatalog } from "./catalog.ts";
import type { McpConnectionState, McpConnectOutcome } from "./connection-state.ts";
import { BlockedUrlError, cleanMessage, McpPackageMissingError, McpRequestError, mcpErrors } from "./errors.ts";
import type { FailureKind } from "./failure.ts";
import { IdleWatch } from "./idle.ts";
import type { Link } from "./link.ts";
import type { LoadProtocol, LoginAnswer, Protocol, ProtocolServices } from "./protocol.ts";
import type { McpServerRecord } from "./server-record.ts";
import type { ServerRef } from "./server-store.ts";

export interface ConnectionServices extends ProtocolServices {
  readonly loadProtocol: LoadProtocol;
  /** Something that clients are shown has changed. */
  readonly changed: () => void;
  readonly warn: (warning: string) => void;
  /** Keeps the object alive while work goes on that no request waits for. */
  readonly background: (work: Promise<unknown>) => void;
}

/** For the timers of the MCP client: the agent's own (its clock is a port) must be the first. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** For the handshake of one attempt, and for reading the lists. */
export const MCP_CONNECT_TIMEOUT_MS = 15_000;
export const DISCOVERY_TIMEOUT_MS = 15_000;
/** For telling a server that its session ends. */
const CLOSE_TIMEOUT_MS = 5_000;
/** Between two readings of lists that change all the time. */
const REFRESH_INTERVAL_MS = 1_000;
/** A server that failed is tried again by a turn or a request that wants it, but not by every one. */
const HEAL_INTERVAL_MS = 30_000;

const NO_CALLBACK =
  "The server asks the user to log in, and there is no address to send them back to. Give addMcpServer a callbackHost.";

interface Reading {
  readonly link: Link;
  readonly protocol: Protocol;
  readonly signal: AbortSignal;
}

export interface RequestLimits {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export class McpConnection {
  readonly #server: ServerRef;
  readonly #services: ConnectionServices;
  readonly #life = new AbortController();
  #state: McpConnectionState = "not-connected";
  #error: string | null = null;
  #catalog: McpCatalog = EMPTY_CATALOG;
  #link: Link | undefined;
  /** Loaded by the first attempt to connect. */
  #protocol: Protocol | undefined;
  /** Connecting, with its retries: one at a time. */
  #establishing: Promise<McpConnectOutcome> | undefined;
  #reading: { readonly abort: AbortController; readonly outcome: Promise<McpConnectOutcome> } | undefined;
  /** The server said that its lists changed; `isDue` while a reading for it goes on or is waited for. */
  #refresh: { isDue: boolean } | undefined;
  #triedAt = 0;
  /** What the server said about itself when the line was opened. */
  #about: Link["about"] | undefined;
  readonly #idle: IdleWatch;

  constructor({ id, url }: ServerRef, services: ConnectionServices) {
    this.#server = { id, url };
    this.#services = services;
    // While its stream of notifications is open, the object can neither hibernate nor be evicted. A server without a line
    // stays what it is, and keeps its session.
    const onIdle = () => void (this.#isOpenable && this.#hangUp());
    this.#idle = new IdleWatch(services.clock, this.#life.signal, onIdle);
    if (this.record.authUrl !== null) this.#state = "authenticating";
  }

  /** As stored. Throws UnknownMcpServerError once the server is removed, or is another one. */
  get record(): McpServerRecord {
    const record = this.#stored;
    if (record === undefined) throw mcpErrors.UnknownMcpServerError(this.#server.id);
    return record;
  }

  get #stored(): McpServerRecord | undefined {
    return this.#services.store.current(this.#server);
  }

  get state(): McpConnectionState {
    return this.#state;
  }

  get error(): string | null {
    return this.#error;
  }

  get catalog(): McpCatalog {
    return this.#catalog;
  }

  get instructions(): string | null {
    return this.#about?.instructions ?? null;
  }

  get capabilities(): object | null {
    return this.#about?.capabilities ?? null;
  }

  /** The attempt under way, if there is one. */
  get pending(): Promise<McpConnectOutcome> | undefined {
    return this.#establishing;
  }

  /** Connects and reads the lists; joins the attempt that is under way. Never rejects. */
  establish(options: { attempts: number }): Promise<McpConnectOutcome> {
    this.#establishing ??= this.#attempts(options.attempts).finally(() => {
      this.#establishing = undefined;
    });
    return this.#establishing;
  }

  /** As `establish`, but an attempt that is under way is waited for first: it began without what is known now. */
  async establishAnew(options: { attempts: number }): Promise<McpConnectOutcome> {
    while (this.#establishing !== undefined) await this.#establishing;
    return this.establish(options);
  }

  /** Opens the line of a server that rests in the background, and tries again what failed some time ago. */
  heal(): void {
    if (this.#establishing === undefined && this.#isResting && this.#error === null) this.#reconnect();
    this.retry();
  }

  /** Tries again in the background what failed some time ago. */
  retry(): void {
    if (this.#isRetryDue) this.#reconnect();
  }

  /** The last attempt failed, none is under way, and it is long enough ago for the next. */
  get #isRetryDue(): boolean {
    if (this.#establishing !== undefined || this.#error === null) return false;
    if (this.#state !== "failed" && this.#state !== "connected") return false;
    return this.#services.clock.now() - this.#triedAt >= HEAL_INTERVAL_MS;
  }

  /** Reads the lists of a connected server again. A reading that is under way is given up for it. Never rejects. */
  discover(): Promise<McpConnectOutcome> {
    // Opening the line reads them.
    if (this.#isResting) return this.establish({ attempts: 1 });
    const [link, protocol] = [this.#link, this.#protocol];
    if (link === undefined || protocol === undefined) {
      return Promise.resolve({ state: "failed", error: "The server is not connected.", cause: undefined });
    }
    this.#reading?.abort.abort();
    const abort = new AbortController();
    this.#triedAt = this.#services.clock.now();
    this.#reading = { abort, outcome: this.#readLists({ link, protocol, signal: abort.signal }) };
    return this.#reading.outcome;
  }

  async #readLists({ link, protocol, signal: given }: Reading): Promise<McpConnectOutcome> {
    try {
      this.#become("discovering");
      const { name, url } = this.record;
      const warn = (text: string) => this.#services.warn(`MCP server "${name}": ${text}`);
      const read = (signal: AbortSignal) => protocol.readLists(link, { signal, warn });
      const catalog = await this.#within(DISCOVERY_TIMEOUT_MS, given, read);
      if (this.#link !== link) throw new McpRequestError("The connection was lost.");
      this.#catalog = catalog;
      this.#become("ready");
      this.#idle.touch();
      this.#services.emit("mcp:client:discover", { url, state: "ready" });
      return { state: "ready" };
    } catch (cause) {
      // The reading that took over says how it ended.
      if (given.aborted && this.#reading !== undefined) return this.#reading.outcome;
      const error = cleanMessage(cause);
      if (this.#link === link) {
        this.#become("connected", error);
        this.#idle.touch();
      }
      this.#services.emit("mcp:client:discover", { state: "connected", error });
      return { state: "connected", error, cause };
    }
  }

  /** However often the server says that its lists changed, they are read one after the other, with pauses. */
  async #refreshLists(): Promise<void> {
    if (this.#refresh !== undefined) {
      this.#refresh.isDue = true;
      return;
    }
    const refresh: { isDue: boolean } = { isDue: true };
    this.#refresh = refresh;
    try {
      while (refresh.isDue && this.#link !== undefined) {
        refresh.isDue = false;
        await this.discover();
        await this.#services.clock.sleep(REFRESH_INTERVAL_MS, this.#life.signal);
      }
    } catch {
      // Closed while it waited.
    } finally {
      this.#refresh = undefined;
    }
  }

  /**
   * One request to the server. It ends with the signal, at its deadline, or when the line is lost; the error then says
   * which, in words for the model. A request that a forgotten session kept from being handled is sent once more.
   */
  async request<T>(
    send: (link: Link, options: { signal: AbortSignal; timeout: number }) => Promise<T>,
    limits: RequestLimits
  ): Promise<T> {
    const timeoutMs = limits.timeoutMs ?? this.record.options.timeoutMs;
    if (this.#link === undefined) await this.#within(timeoutMs, limits.signal, () => this.#opened());
    const link = this.#requireLink();
    const attempt = (on: Link) =>
      this.#idle.during(() =>
        this.#within(timeoutMs, limits.signal, (signal) => send(on, { signal, timeout: NO_TIMEOUT_MS }))
      );
    try {
      return await attempt(link);
    } catch (error) {
      limits.signal?.throwIfAborted();
      const kind = this.#failureOf(error, link);
      if (kind !== "session-gone") throw this.#requestError(error, kind);
    }
    if (this.#link === link) {
      this.#services.store.update(this.#server, { session: null });
      await this.#hangUp();
    }
    // Another request may have found the same out, and have connected again already.
    if (this.#link === undefined) await this.establish({ attempts: 1 });
    try {
      return await attempt(this.#requireLink());
    } catch (error) {
      limits.signal?.throwIfAborted();
      throw this.#requestError(error, this.#failureOf(error, this.#link));
    }
  }

  /** A request opens the line of a server that rests, and tries one that failed some time ago. */
  async #opened(): Promise<void> {
    if (this.#isResting || this.#isRetryDue) await this.establish({ attempts: 1 });
    else await this.#establishing;
  }

  /** The user is back from the login page with a code. Throws what the server said. */
  async finishLogin(answer: LoginAnswer): Promise<void> {
    const protocol = await this.#services.loadProtocol(this.#services);
    await protocol.finishLogin(this.record, answer);
  }

  /** The login did not succeed; the next attempt to connect starts a new one. */
  failLogin(error: string): void {
    this.#become("failed", error);
  }

  /** Ends the line and whatever waits for it. Never throws. */
  async close(): Promise<void> {
    // The session of a server that rests is still open. Resuming it takes no request.
    const link = this.#link ?? (await this.#resume());
    this.#life.abort(new McpRequestError("The MCP server was removed."));
    this.#link = undefined;
    this.#about = undefined;
    this.#catalog = EMPTY_CATALOG;
    this.#state = "not-connected";
    if (link === undefined) return;
    const { url } = this.#server;
    try {
      await this.#closeLink(link);
      this.#services.emit("mcp:client:close", { url, transport: link.kind, state: "closed" });
    } catch (error) {
      this.#services.emit("mcp:client:close", {
        url,
        transport: link.kind,
        state: "error",
        error: cleanMessage(error)
      });
    }
  }

  /** The id is another server's from now on. What goes on here ends; the session is left for the server to drop. */
  abandon(): void {
    this.#life.abort(new McpRequestError("The MCP server was replaced."));
    this.#state = "not-connected";
    this.#catalog = EMPTY_CATALOG;
    this.#services.background(this.#hangUp());
  }

  async #resume(): Promise<Link | undefined> {
    if (!this.#isResting || this.record.session === null) return undefined;
    try {
      return await this.#connect();
    } catch {
      // A server that cannot be notified will drop the session by itself.
      return undefined;
    }
  }

  async #closeLink(link: Link): Promise<void> {
    await happensWithin(CLOSE_TIMEOUT_MS, link.close({ endSession: true }), this.#services.clock);
  }

  async #attempts(limit: number): Promise<McpConnectOutcome> {
    const { clock, ids } = this.#services;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt();
      if (outcome.state === "ready" || outcome.state === "authenticating") return outcome;
      if (attempt >= limit || isFinal(outcome.cause) || this.#life.signal.aborted) return outcome;
      const { retry } = this.record.options;
      try {
        await clock.sleep(retryPauseMs(attempt, retry, ids), this.#life.signal);
      } catch {
        // Removed while it waited.
        return outcome;
      }
    }
  }

  async #attempt(): Promise<McpConnectOutcome> {
    this.#triedAt = this.#services.clock.now();
    try {
      const { url, session } = this.record;
      this.#become("connecting");
      this.#services.emit("mcp:client:preconnect", { serverId: this.#server.id });
      await this.#hangUp();
      const link = await this.#connect();
      if (this.#life.signal.aborted) {
        await this.#closeLink(link);
        throw this.#life.signal.reason;
      }
      this.#link = link;
      this.#about = link.about;
      this.#services.store.update(this.#server, { session: link.session, authUrl: null });
      this.#become("connected");
      this.#services.emit("mcp:client:connect", { url, transport: link.kind, state: "connected" });
      return await this.#firstDiscovery(link, session !== null);
    } catch (cause) {
      await this.#hangUp();
      return this.#connectFailure(cause);
    }
  }

  /** Of a resumed session this is the first that the server hears, and so the first that can fail. */
  async #firstDiscovery(link: Link, isResumed: boolean): Promise<McpConnectOutcome> {
    const outcome = await this.discover();
    if (outcome.state !== "connected") return outcome;
    const kind = this.#failureOf(outcome.cause, link);
    if (kind === "session-gone" && isResumed) {
      // The next handshake opens a new one.
      this.#services.store.update(this.#server, { session: null });
      return this.#attempt();
    }
    if (kind === "request" || kind === "session-gone") return outcome;
    throw outcome.cause;
  }

  #connectFailure(cause: unknown): McpConnectOutcome {
    const record = this.#stored;
    if (record !== undefined && record.authUrl !== null && this.#failureOf(cause, undefined) === "login") {
      this.#become("authenticating");
      return { state: "authenticating", authUrl: record.authUrl };
    }
    const isRefused = record?.callbackUrl === null && this.#protocol?.isRefused(cause) === true;
    const error = isRefused ? NO_CALLBACK : cleanMessage(cause);
    if (record !== undefined) {
      this.#become("failed", error);
      const { transport } = record.options;
      this.#services.emit("mcp:client:connect", { url: record.url, transport, state: "failed", error });
    }
    return { state: "failed", error, cause };
  }

  /** Throws. */
  async #connect(): Promise<Link> {
    this.#protocol = await this.#services.loadProtocol(this.#services);
    return this.#protocol.connect({
      record: this.record,
      within: (open) => this.#within(MCP_CONNECT_TIMEOUT_MS, this.#life.signal, open),
      onListChanged: () => this.#services.background(this.#refreshLists()),
      onLost: (error) => this.#lost(error)
    });
  }

  /** The server went away by itself. */
  #lost(error: Error): void {
    if (this.#life.signal.aborted || this.#stored === undefined) return;
    this.#link = undefined;
    this.#become("failed", cleanMessage(error));
    this.#reconnect();
  }

  #reconnect(): void {
    this.#services.background(this.establish({ attempts: this.record.options.retry.maxAttempts }));
  }

  /** Hung up because it was not used. The next request opens a line, and so does the next turn if the server is ready. */
  get #isResting(): boolean {
    return this.#isOpenable && this.#link === undefined;
  }

  /** Its line may be hung up, and opened again when it is needed. */
  get #isOpenable(): boolean {
    return this.#state === "ready" || this.#state === "connected";
  }

  async #hangUp(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    await link?.close({ endSession: false });
  }

  #requireLink(): Link {
    if (this.#link !== undefined) return this.#link;
    const { name } = this.record;
    const why = this.#state === "authenticating" ? "the user has to log in first" : (this.#error ?? this.#state);
    throw new McpRequestError(`The MCP server "${name}" is not connected: ${why}`);
  }

  #failureOf(error: unknown, link: Link | undefined): FailureKind {
    return this.#protocol?.failureKind(error, link) ?? "request";
  }

  #requestError(error: unknown, kind: FailureKind): Error {
    const { name } = this.record;
    if (kind === "login") {
      void this.#hangUp();
      this.#become(this.record.authUrl === null ? "failed" : "authenticating");
      return new McpRequestError(`The MCP server "${name}" asks the user to log in again.`, error);
    }
    if (kind === "lost") {
      if (this.#link !== undefined) this.#lost(new Error(cleanMessage(error)));
      return new McpRequestError(`The connection to the MCP server "${name}" was lost: ${cleanMessage(error)}`, error);
    }
    return error instanceof McpRequestError ? error : new McpRequestError(cleanMessage(error), error);
  }

  /** `work` with a signal that fires with `outer`, with the life of the server, or when the time is over. */
  #within<T>(timeoutMs: number, outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { name } = this.record;
    const late = () => new McpRequestError(`The MCP server "${name}" did not answer within ${timeoutMs} ms.`);
    const signals = [this.#life.signal, ...(outer === undefined ? [] : [outer])];
    return withinDeadline(work, { clock: this.#services.clock, timeoutMs, late, signals });
  }

  #become(state: McpConnectionState, error: string | null = null): void {
    this.#state = state;
    this.#error = error;
    const isUsable = error === null && state !== "failed" && state !== "authenticating";
    if (!isUsable) this.#catalog = EMPTY_CATALOG;
    this.#services.changed();
  }
}

/** Nothing changes by trying again. */
function isFinal(cause: unknown): boolean {
  return cause instanceof BlockedUrlError || cause instanceof McpPackageMissingError;
}
