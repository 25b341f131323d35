// One conversation, as users and the engine see it: messages in a tree, read as the path to the newest one. Nothing is
// touched before the first call. Storage is the agent's own SQLite or a provider the user brings; every method is
// asynchronous so that both can be behind it.
import { SessionInUseError } from "./errors.ts";
import { readWindow } from "./hydration.ts";
import { MessageStore } from "./message-store.ts";
import { sessionHostOf, sessionScope } from "./session-host.ts";
import type { SessionMessage } from "./session-message.ts";
import type { HistoryRowStat, RecentHistoryResult, SessionProvider } from "./session-provider.ts";
import { reportStatus } from "./status-frames.ts";

/** An agent: it has a tagged-template `sql`. */
export interface SessionAgent {
  sql(strings: TemplateStringsArray, ...values: never[]): unknown;
}

/** The default storage: the agent's own SQLite. */
export class AgentSessionProvider extends MessageStore {
  constructor(agent: object, sessionId = "") {
    super(sessionScope(sessionHostOf(agent), sessionId));
  }
}

/**
 * A conversation.
 *
 * @example
 * const session = Session.create(this);
 * await session.appendMessage({ id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] });
 * const history = await session.getHistory();
 */
export class Session {
  readonly #source: SessionAgent | SessionProvider;
  #provider: SessionProvider | undefined;
  #sessionId = "";

  /** Over a provider of your own. For an agent use `Session.create`. */
  constructor(provider: SessionProvider | SessionAgent) {
    this.#source = provider;
  }

  /** Over an agent's SQLite, or over a provider. */
  static create(source: SessionAgent | SessionProvider): Session {
    return new Session(source);
  }

  /** Keeps this session's rows apart from those of other ids in the same object. Before the first use. */
  forSession(sessionId: string): this {
    if (this.#provider !== undefined) throw new SessionInUseError("forSession");
    this.#sessionId = sessionId;
    return this;
  }

  /** The synchronous store behind an agent's session; undefined for a custom provider. */
  get store(): MessageStore | undefined {
    const provider = this.#open();
    return provider instanceof MessageStore ? provider : undefined;
  }

  /** Under the latest message, under `parentId`, or as a new root (`null`). An id that is stored already is kept as it is. */
  async appendMessage(message: SessionMessage, parentId?: string | null): Promise<void> {
    await this.#open().appendMessage(message, parentId);
  }

  /** Replaces the content of a stored message. An unknown id stores nothing. */
  async updateMessage(message: SessionMessage): Promise<void> {
    await this.#open().updateMessage(message);
  }

  /** Children of a deleted message move to its parent. */
  async deleteMessages(messageIds: string[]): Promise<void> {
    await this.#open().deleteMessages(messageIds);
  }

  async clearMessages(): Promise<void> {
    await this.#open().clearMessages();
  }

  /** Root to leaf; the latest leaf if none is named, nothing for an unknown one. */
  async getHistory(leafId?: string | null): Promise<SessionMessage[]> {
    return this.#open().getHistory(leafId);
  }

  /** The newest messages that fit into `maxContentBytes`, but never fewer than `minRecentMessages`. */
  async getRecentHistory(maxContentBytes: number, minRecentMessages = 1): Promise<RecentHistoryResult> {
    return readWindow(this.#open(), maxContentBytes, minRecentMessages);
  }

  /** Sizes without contents, or null if the provider cannot tell. */
  async getHistoryRowStats(): Promise<HistoryRowStat[] | null> {
    return (await this.#open().getHistoryRowStats?.()) ?? null;
  }

  /** The whole message, also where histories show it shortened. */
  async getMessage(id: string): Promise<SessionMessage | null> {
    return this.#open().getMessage(id);
  }

  async getLatestLeaf(): Promise<SessionMessage | null> {
    return this.#open().getLatestLeaf();
  }

  /** All versions of what follows a message, oldest first. */
  async getBranches(messageId: string): Promise<SessionMessage[]> {
    return this.#open().getBranches(messageId);
  }

  async getPathLength(leafId?: string | null): Promise<number> {
    return this.#open().getPathLength(leafId);
  }

  #open(): SessionProvider {
    if (this.#provider !== undefined) return this.#provider;
    if (isProvider(this.#source)) return (this.#provider = this.#source);
    const store = new AgentSessionProvider(this.#source, this.#sessionId);
    reportStatus(store.scope, () => ({ phase: "idle", tokenEstimate: store.totals().tokens, tokenThreshold: null }));
    this.#provider = store;
    return store;
  }
}

function isProvider(source: SessionAgent | SessionProvider): source is SessionProvider {
  return !("sql" in source);
}
