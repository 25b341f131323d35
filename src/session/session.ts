// One conversation, as users and the engine see it: messages in a tree, read as the path to the newest one. Nothing is
// touched before the first call. Storage is the agent's own SQLite or a provider the user brings; every method is
// asynchronous so that both can be behind it.
import type { CompactFunction, Summarize } from "./compact-function.ts";
import { Compactor, type CompactionErrorHandler, type CompactionSettings, type CompactOutcome } from "./compaction.ts";
import { checkConfig, type ContextBlock, type ContextConfig, type SessionContextOptions } from "./context/block.ts";
import type { SummaryNote } from "./compaction-plan.ts";
import { blockErrors } from "./context/errors.ts";
import type { WritableContextProvider } from "./context/provider.ts";
import type { PromptBlock } from "./context/render.ts";
import { SessionContext } from "./context/session-context.ts";
import type { ContextTools } from "./context/tools.ts";
import { sessionErrors } from "./errors.ts";
import { readWindow } from "./hydration.ts";
import { MessageStore } from "./message-store.ts";
import { searchLimit, type SearchResult } from "./search.ts";
import { sessionHostOf, sessionScope } from "./session-host.ts";
import type { SessionMessage } from "./session-message.ts";
import type { HistoryRowStat, RecentHistoryResult, SessionProvider, StoredCompaction } from "./session-provider.ts";
import { reportStatus } from "./status-frames.ts";
import type { SessionTokenCounter } from "./tokens.ts";
import type { UsageReport } from "./tokens-reported.ts";

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

/** What can be said at construction instead of with the builder's methods. */
export interface SessionOptions {
  readonly context?: readonly ContextConfig[];
  /** See `withCachedPrompt`. */
  readonly promptStore?: WritableContextProvider;
  /** See `compactAfter`. */
  readonly tokenCounter?: SessionTokenCounter;
  /** See `onCompactionError`. */
  readonly onCompactionError?: CompactionErrorHandler;
}

export interface CompactAfterOptions {
  /** Counts everything a model would be given, instead of the estimate. */
  readonly tokenCounter?: SessionTokenCounter;
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
  readonly #contextConfigs: ContextConfig[] = [];
  #promptStore: WritableContextProvider | true | undefined;
  #context: SessionContext | undefined;
  readonly #compaction: CompactionSettings = {};
  #compactor: Compactor | undefined;

  /** Over a provider of your own. For an agent use `Session.create`. */
  constructor(provider: SessionProvider | SessionAgent, options: SessionOptions = {}) {
    this.#source = provider;
    for (const { label, ...block } of options.context ?? []) this.withContext(label, block);
    if (options.promptStore !== undefined) this.withCachedPrompt(options.promptStore);
    if (options.tokenCounter !== undefined) this.#compaction.tokenCounter = options.tokenCounter;
    if (options.onCompactionError !== undefined) this.onCompactionError(options.onCompactionError);
  }

  /** Over an agent's SQLite, or over a provider. */
  static create(source: SessionAgent | SessionProvider): Session {
    return new Session(source);
  }

  /** Keeps this session's rows apart from those of other ids in the same object. Before the first use. */
  forSession(sessionId: string): this {
    if (this.#provider !== undefined) throw sessionErrors.SessionInUseError("forSession");
    this.#sessionId = sessionId;
    return this;
  }

  /**
   * Declares a block of the system prompt. Without a provider it is a text in the agent's own storage that the model may
   * rewrite. Before the first use; later call `addContext`.
   *
   * @example
   * session.withContext("memory", { description: "Learned facts", maxTokens: 2000 }).withCachedPrompt();
   */
  withContext(label: string, options: SessionContextOptions = {}): this {
    if (this.#provider !== undefined) throw sessionErrors.SessionInUseError("withContext", "addContext");
    const config = { ...options, label };
    checkConfig(config);
    if (this.#contextConfigs.some((other) => other.label === label)) throw blockErrors.BlockExistsError(label);
    this.#contextConfigs.push(config);
    return this;
  }

  /** Keeps the rendered prompt over restarts: in the agent's own storage, or in `store`. Before the first use. */
  withCachedPrompt(store?: WritableContextProvider): this {
    if (this.#provider !== undefined) throw sessionErrors.SessionInUseError("withCachedPrompt");
    this.#promptStore = store ?? true;
    return this;
  }

  /**
   * How this conversation is made shorter: `compact` picks a range of messages and writes the summary that histories
   * show in its place.
   *
   * @example
   * session.onCompaction(createCompactFunction({ summarize })).compactAfter(100_000);
   */
  onCompaction(compact: CompactFunction): this {
    this.#compaction.compact = compact;
    return this;
  }

  /** What compaction functions ask that have no model of their own. For the agent. */
  summarizesWith(summarize: Summarize): void {
    this.#compaction.summarize = summarize;
  }

  /** Adds a text to each summary that compaction stores, word for word. For features of an agent. */
  noteInSummaries(noteFor: SummaryNote): void {
    this.#compaction.noteFor = noteFor;
  }

  /** Compacts by itself after an append that leaves more than this many tokens. Needs `onCompaction`. */
  compactAfter(thresholdTokens: number, options: CompactAfterOptions = {}): this {
    this.#compaction.threshold = thresholdTokens;
    if (options.tokenCounter !== undefined) this.#compaction.tokenCounter = options.tokenCounter;
    return this;
  }

  /** Called when a compaction fails. The conversation goes on as it is. */
  onCompactionError(handler: CompactionErrorHandler): this {
    this.#compaction.onError = handler;
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
    if (this.#compaction.threshold !== undefined) await this.compactIfDue();
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
    await this.#contextOf().cleared();
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

  /**
   * Finds messages by their words, "quoted phrases" and all, best first: in every branch, and also where a summary hides
   * them. Throws SearchUnsupportedError if the provider cannot search.
   *
   * @example
   * const found = await session.search("deployment friday", { limit: 5 });
   */
  async search(query: string, options: { limit?: number } = {}): Promise<SearchResult[]> {
    const provider = this.#open();
    if (provider.searchMessages === undefined) throw sessionErrors.SearchUnsupportedError();
    return provider.searchMessages(query, searchLimit(options.limit));
  }

  async getPathLength(leafId?: string | null): Promise<number> {
    return this.#open().getPathLength(leafId);
  }

  /**
   * Makes the conversation shorter now, or the branch that ends at `leafId`. Null if it is not shorter afterwards: there
   * was nothing to summarize, or it failed. Throws NoCompactionFunctionError without `onCompaction`.
   */
  async compact(leafId?: string | null): Promise<CompactOutcome | null> {
    return this.#compactorOf().compact(leafId);
  }

  /** There is a size above which the conversation is compacted by itself. */
  get hasThreshold(): boolean {
    return this.#compaction.threshold !== undefined;
  }

  /** The same if the conversation is over the threshold of `compactAfter`. Never throws. */
  async compactIfDue(): Promise<CompactOutcome | null> {
    return this.#compactorOf().compactIfDue();
  }

  /** Shows a summary where the messages from one to another were. They stay stored. */
  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
    const provider = this.#open();
    if (provider.addCompaction === undefined) throw sessionErrors.CompactionUnsupportedError();
    return provider.addCompaction(summary, fromMessageId, toMessageId);
  }

  /** All summaries that were made, oldest first. */
  async getCompactions(): Promise<StoredCompaction[]> {
    return (await this.#open().getCompactions?.()) ?? [];
  }

  /** What a provider counted for the conversation up to a message. Kept only where a threshold is compared with it. */
  noteUsage(report: UsageReport): void {
    const { threshold, tokenCounter } = this.#compaction;
    if (threshold !== undefined && tokenCounter === undefined) this.store?.noteUsage(report);
  }

  /** How many tokens the conversation costs a model. */
  async estimateTokens(): Promise<number> {
    return this.#compactorOf().estimate();
  }

  /** A block as it was last read; null for an unknown one, or one of a provider that was not asked yet. */
  getContextBlock(label: string): ContextBlock | null {
    return this.#contextOf().block(label);
  }

  getContextBlocks(): ContextBlock[] {
    return this.#contextOf().blocks();
  }

  /** Writes a block. The frozen prompt shows it after the next refresh. Throws if the block takes no such text. */
  async replaceContextBlock(label: string, content: string): Promise<ContextBlock> {
    return this.#contextOf().replace(label, content);
  }

  /** Writes behind what is there, on a line of its own. */
  async appendContextBlock(label: string, content: string): Promise<ContextBlock> {
    return this.#contextOf().append(label, content);
  }

  /** Registers a block at run time and reads it. It joins the prompt at the next `refreshSystemPrompt`. */
  async addContext(label: string, options: SessionContextOptions = {}): Promise<ContextBlock> {
    return this.#contextOf().add(label, options);
  }

  /** Forgets a block; what is stored for it stays. False for an unknown one. */
  removeContext(label: string): boolean {
    return this.#contextOf().remove(label);
  }

  /** Reads every block that was not read yet. */
  async loadContext(): Promise<void> {
    await this.#contextOf().load();
  }

  /** The blocks as one text, rendered once and the same from then on; empty without blocks. */
  async freezeSystemPrompt(): Promise<string> {
    return this.#contextOf().freeze();
  }

  /** Reads every block again and renders the prompt anew. */
  async refreshSystemPrompt(): Promise<string> {
    return this.#contextOf().refresh();
  }

  /** What `freezeSystemPrompt` gives, without keeping it: for estimates. */
  async peekSystemPrompt(): Promise<string> {
    return this.#contextOf().peek();
  }

  /** The frozen prompt, block by block. */
  async promptSections(): Promise<readonly PromptBlock[]> {
    return this.#contextOf().sections();
  }

  /** What `promptSections` gives, without keeping it. */
  async peekPromptSections(): Promise<readonly PromptBlock[]> {
    return this.#contextOf().peekSections();
  }

  /** The tools for the blocks there are now, as descriptions with a JSON schema. */
  async tools(): Promise<ContextTools> {
    return this.#contextOf().tools();
  }

  /** Documents that `load_context` put into the conversation, as `label:key`. */
  async getLoadedSkillKeys(): Promise<Set<string>> {
    return this.#contextOf().loadedIds();
  }

  /** Takes a loaded document out of the stored messages. False if it was not loaded. */
  async unloadSkill(label: string, key: string): Promise<boolean> {
    return this.#contextOf().unload(label, key);
  }

  #compactorOf(): Compactor {
    const provider = this.#open();
    if (this.#compactor !== undefined) return this.#compactor;
    const hasPrompt = () =>
      this.#contextConfigs.length > 0 || this.#promptStore !== undefined || this.getContextBlocks().length > 0;
    const compactor = new Compactor({
      provider,
      settings: this.#compaction,
      prompt: {
        get isPresent() {
          return hasPrompt();
        },
        text: () => this.peekSystemPrompt(),
        blocks: async () => {
          await this.loadContext();
          return this.getContextBlocks();
        },
        refresh: async () => (hasPrompt() ? this.refreshSystemPrompt() : undefined)
      }
    });
    this.#compactor = compactor;
    if (provider instanceof MessageStore) compactor.frames = reportStatus(provider.scope, compactor);
    return compactor;
  }

  #contextOf(): SessionContext {
    const provider = this.#open();
    this.#context ??= new SessionContext({
      configs: this.#contextConfigs,
      sessionId: this.#sessionId,
      provider,
      promptStore: this.#promptStore,
      agent: isProvider(this.#source) ? undefined : this.#source
    });
    return this.#context;
  }

  #open(): SessionProvider {
    if (this.#provider !== undefined) return this.#provider;
    this.#provider = this.#openProvider();
    // A stored prompt must not outlive a clear, whichever code clears: the context listens from the start.
    this.#contextOf();
    // So do clients.
    this.#compactorOf();
    return this.#provider;
  }

  #openProvider(): SessionProvider {
    if (isProvider(this.#source)) return this.#source;
    return new AgentSessionProvider(this.#source, this.#sessionId);
  }
}

function isProvider(source: SessionAgent | SessionProvider): source is SessionProvider {
  return !("sql" in source);
}
