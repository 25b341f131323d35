// Everything a session knows besides its messages: blocks, the prompt made of them, the documents the model loaded, and
// the tools for all of it. Nothing is read before it is needed, and a session without blocks costs nothing.
import type { MessageChange } from "../message-changes.ts";
import { MessageStore } from "../message-store.ts";
import type { SessionProvider } from "../session-provider.ts";
import { AgentContextProvider } from "./agent-context-provider.ts";
import type { ContextBlock, ContextConfig, SessionContextOptions } from "./block.ts";
import { BlockSet } from "./block-set.ts";
import { blockErrors } from "./errors.ts";
import { FrozenPrompt } from "./frozen-prompt.ts";
import { LoadedDocuments } from "./loaded-documents.ts";
import { CustomPromptStore, StoredPrompt, type PromptStore } from "./prompt-store.ts";
import type { WritableContextProvider } from "./provider.ts";
import { joinPrompt, type PromptBlock } from "./render.ts";
import { contextTools, type ContextTools } from "./tools.ts";

export interface SessionContextInit {
  /** The blocks that were declared before the session was used. */
  readonly configs: readonly ContextConfig[];
  /** `true`: in the agent's storage. Undefined: nowhere. */
  readonly promptStore?: WritableContextProvider | true;
  readonly sessionId: string;
  /** The agent whose storage the session is in, if it is in one. */
  readonly agent?: object;
  readonly provider: SessionProvider;
}

export class SessionContext {
  readonly #init: SessionContextInit;
  readonly #blocks: BlockSet;
  readonly #documents: LoadedDocuments;
  readonly #prompt: FrozenPrompt;
  #isFollowing = false;

  constructor(init: SessionContextInit) {
    const { agent, sessionId, provider } = init;
    this.#init = init;
    this.#blocks = new BlockSet(sessionId, agent && (() => new AgentContextProvider(agent)));
    for (const config of init.configs) this.#blocks.add(config, true);
    this.#documents = new LoadedDocuments(provider);
    const store = this.#promptStore();
    this.#prompt = new FrozenPrompt(this.#blocks, store);
    if (init.configs.length > 0 || store !== undefined) this.#follow();
  }

  /** Null for a block that there is not, or that was not read yet and is not in the agent's own storage. */
  block(label: string): ContextBlock | null {
    return this.#blocks.find(label)?.view ?? null;
  }

  blocks(): ContextBlock[] {
    return this.#blocks.views();
  }

  /** Reads what was not read yet. */
  load(): Promise<void> {
    return this.#blocks.load();
  }

  replace(label: string, content: string): Promise<ContextBlock> {
    return this.#blocks.replace(label, content);
  }

  append(label: string, content: string): Promise<ContextBlock> {
    return this.#blocks.append(label, content);
  }

  /** Registers a block at run time and reads it. A block that cannot be read is not registered. */
  async add(label: string, options: SessionContextOptions): Promise<ContextBlock> {
    if (options.provider === undefined && this.#init.agent === undefined)
      throw blockErrors.ProviderRequiredError(label);
    const held = this.#blocks.add({ ...options, label }, false);
    this.#follow();
    try {
      return await held.load();
    } catch (error) {
      if (this.#blocks.find(label) === held) this.#blocks.remove(label);
      throw error;
    }
  }

  remove(label: string): boolean {
    this.#documents.forgetLabel(label);
    return this.#blocks.remove(label);
  }

  /** The frozen prompt, block by block. */
  sections(): Promise<readonly PromptBlock[]> {
    return this.#prompt.freeze();
  }

  /** The same, without keeping anything: for inspectors and estimates. */
  peekSections(): Promise<readonly PromptBlock[]> {
    return this.#prompt.peek();
  }

  async freeze(): Promise<string> {
    return joinPrompt(await this.sections());
  }

  async refresh(): Promise<string> {
    return joinPrompt(await this.#prompt.refresh());
  }

  /** For estimates: never stores a prompt. */
  async peek(): Promise<string> {
    return joinPrompt(await this.peekSections());
  }

  async tools(): Promise<ContextTools> {
    if (this.#blocks.size === 0) return {};
    await this.#blocks.load();
    return contextTools(this.#blocks, this.#documents);
  }

  async loadedIds(): Promise<Set<string>> {
    return this.#hasDocuments() ? this.#documents.ids() : new Set();
  }

  async unload(label: string, key: string): Promise<boolean> {
    return this.#hasDocuments() && this.#documents.unload({ label, key });
  }

  /** The conversation was emptied through the session. In the agent's own storage that was noticed already. */
  async cleared(): Promise<void> {
    if (this.#init.provider instanceof MessageStore) return;
    this.#forget();
    // A store of the user's still holds the old text: it is replaced now, for a restart would find it.
    if (this.#init.promptStore !== undefined) await this.#prompt.refresh();
  }

  #promptStore(): PromptStore | undefined {
    const { promptStore, provider, sessionId } = this.#init;
    if (promptStore === undefined) return undefined;
    const own = provider instanceof MessageStore ? new StoredPrompt(provider.scope.host.sql, sessionId) : undefined;
    if (promptStore === true) return own;
    const isDeclared = () => this.#blocks.size === 0 || this.#blocks.all.some((block) => block.isDeclared);
    return new CustomPromptStore(promptStore, isDeclared, own);
  }

  /** Receives every change of the messages, also without this session. A session that is no longer held receives nothing. */
  #follow(): void {
    const { provider } = this.#init;
    if (this.#isFollowing || !(provider instanceof MessageStore)) return;
    this.#isFollowing = true;
    const self = new WeakRef<SessionContext>(this);
    const stop = provider.scope.changes.subscribe((change) => {
      const context = self.deref();
      if (context === undefined) stop();
      else context.#changed(change);
    });
  }

  /** Called inside the transaction that changes the messages: what is deleted here is deleted with it. */
  #changed(change: MessageChange): void {
    if (change.kind === "cleared") return this.#forget();
    if (change.kind === "restructured") return this.#documents.reconsider();
    if ((change.kind !== "appended" && change.kind !== "updated") || !this.#hasDocuments()) return;
    const { id, kind } = change;
    // The first message of a branch: what the other branch loaded is not on this path.
    if (kind === "appended" && this.#isBranch(id)) this.#documents.reconsider();
    // After the transaction: the message is looked at once it is stored.
    if (this.#documents.hasPending) queueMicrotask(() => void this.#tidy(id));
  }

  #isBranch(messageId: string): boolean {
    const { provider } = this.#init;
    return provider instanceof MessageStore && provider.rows.header(messageId)?.isBranch === 1;
  }

  async #tidy(messageId: string): Promise<void> {
    try {
      await this.#documents.tidy(messageId);
    } catch (error) {
      console.warn("An unloaded document could not be taken out of its message:", error);
    }
  }

  #forget(): void {
    this.#documents.forget();
    this.#prompt.forget();
  }

  #hasDocuments(): boolean {
    return this.#blocks.all.some(({ kind }) => kind.isSkill);
  }
}
