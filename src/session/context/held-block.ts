// One block of a session: its declaration, its provider, and its text as it was last read. Reads and writes of the same
// block wait for each other, so that two appends are both kept and a slow read never hides a write.
import { blockOf, joinLines, type ContextBlock, type ContextConfig } from "./block.ts";
import { AgentContextProvider } from "./agent-context-provider.ts";
import { blockErrors } from "./errors.ts";
import {
  isKeyedProvider,
  isSkillProvider,
  isWritableProvider,
  kindOf,
  type ProviderKind,
  type WritableContextProvider
} from "./provider.ts";
import { OneByOne } from "../../util/one-by-one.ts";

/** An entry of a collection as the model gives it. */
export interface BlockEntry {
  readonly key: string;
  readonly content: string;
  /** For collections that keep one. */
  readonly description?: string;
}

export class HeldBlock {
  readonly config: ContextConfig;
  readonly kind: ProviderKind;
  /** By withContext, and not at run time. */
  readonly isDeclared: boolean;
  readonly #sessionId: string;
  #view: ContextBlock | undefined;
  /** Of the agent's own storage: `rollbacks` when the view was read or written. */
  #rollbacks = 0;
  readonly #work = new OneByOne();

  constructor(config: ContextConfig, init: { sessionId: string; isDeclared: boolean }) {
    this.config = config;
    this.kind = kindOf(config.provider);
    this.isDeclared = init.isDeclared;
    this.#sessionId = init.sessionId;
  }

  get label(): string {
    return this.config.label;
  }

  /** Undefined before the first read; a block in the agent's own storage is read when it is asked for. */
  get view(): ContextBlock | undefined {
    const { provider } = this.config;
    if (this.#kept === undefined && provider instanceof AgentContextProvider) {
      provider.init(this.label, this.#sessionId);
      this.#see(provider.read());
    }
    return this.#view;
  }

  /** Reads the provider; with `isEnough`, only if nothing was read yet. */
  load(isEnough = true): Promise<ContextBlock> {
    return this.#work.run(async () => (isEnough ? this.#kept : undefined) ?? this.#read());
  }

  replace(content: string): Promise<ContextBlock> {
    // A block that could not be read is not overwritten unseen.
    return this.#work.run(async () => {
      const provider = this.#writable();
      if (this.#kept === undefined) await this.#read();
      return this.#write(provider, content);
    });
  }

  append(addition: string): Promise<ContextBlock> {
    return this.#work.run(async () => {
      const provider = this.#writable();
      // Read again: another session may have written the same row.
      return this.#write(provider, joinLines((await this.#read()).content, addition));
    });
  }

  /** Writes one entry of a collection, and reads again what the collection says of itself. */
  writeEntry({ key, content, description }: BlockEntry): Promise<void> {
    return this.#work.run(async () => {
      const { provider } = this.config;
      if (provider === undefined || !isKeyedProvider(provider) || !provider.set) {
        throw blockErrors.ReadonlyBlockError(this.label);
      }
      await provider.init?.(this.label, this.#sessionId);
      if (isSkillProvider(provider)) await provider.set?.(key, content, description);
      else await provider.set(key, content);
      await this.#read();
    });
  }

  async loadDocument(key: string): Promise<string | null> {
    const { provider } = this.config;
    if (provider === undefined || !isSkillProvider(provider)) return null;
    await provider.init?.(this.label, this.#sessionId);
    return provider.load(key);
  }

  async search(query: string): Promise<string | null> {
    const { provider } = this.config;
    if (provider === undefined || !("search" in provider)) return null;
    await provider.init?.(this.label, this.#sessionId);
    return provider.search(query);
  }

  #writable() {
    const { provider } = this.config;
    if (provider === undefined || !this.kind.writable) throw blockErrors.ReadonlyBlockError(this.label);
    if (!isWritableProvider(provider)) throw blockErrors.KeyedBlockError(this.label);
    return provider;
  }

  #checkTokens(content: string): void {
    const { tokens, maxTokens } = blockOf(this.config, content);
    if (maxTokens !== undefined && tokens > maxTokens)
      throw blockErrors.BlockOverTokensError(this.label, tokens, maxTokens);
  }

  async #read(): Promise<ContextBlock> {
    const { provider } = this.config;
    await provider?.init?.(this.label, this.#sessionId);
    return this.#see((await provider?.get()) ?? null);
  }

  async #write(provider: WritableContextProvider, content: string): Promise<ContextBlock> {
    this.#checkTokens(content);
    const rollbacks = this.#rollbacksNow();
    await provider.set(content);
    return this.#see(content, rollbacks);
  }

  #see(content: string | null, rollbacks = this.#rollbacksNow()): ContextBlock {
    this.#rollbacks = rollbacks;
    this.#view = blockOf(this.config, content ?? "");
    return this.#view;
  }

  /** Undefined: to be read. */
  get #kept(): ContextBlock | undefined {
    return this.#rollbacks === this.#rollbacksNow() ? this.#view : undefined;
  }

  /** What other providers hold is not part of our transactions. */
  #rollbacksNow(): number {
    const { provider } = this.config;
    return provider instanceof AgentContextProvider ? provider.rollbacks : 0;
  }
}
