// The Chat SDK's `StateAdapter` over facets of an agent: threads and keys are spread over them by name.
import type { AgentBase } from "../../agent/agent-base.ts";
import { currentContext } from "../../agent/context.ts";
import { chatSdkErrors } from "./errors.ts";
import { ChatSdkStateAgent, type StateOperation } from "./state-agent.ts";
import type { ChatLock, QueueEntry } from "./state-store.ts";

const DEFAULT_SHARD = "default";
const THREAD_PREFIXES = ["thread-state:", "channel-state:", "msg-history:", "transcripts:user:"];

export interface ChatSdkStateOptions {
  /** The class of the facets, exported from the Worker's entry. Default ChatSdkStateAgent. */
  readonly agent?: typeof ChatSdkStateAgent;
  /** Default: the agent whose code calls. */
  readonly parent?: Pick<AgentBase, "subAgent">;
  /** The facet of keys that belong to no thread. */
  readonly name?: string;
  readonly shardKey?: (threadId: string) => string | undefined;
  readonly keyShard?: (key: string) => string | undefined;
}

/** Names the facet of a thread by its first two segments: all topics of one chat share a facet. */
export function defaultThreadShard(threadId: string): string {
  const [provider, chat] = threadId.split(":");
  return provider && chat ? `${provider}:${chat}` : DEFAULT_SHARD;
}

/** Names the facet of a key: keys of a thread are where the thread is. Undefined: the key belongs to no thread. */
export function defaultKeyShard(key: string): string | undefined {
  const prefix = THREAD_PREFIXES.find((one) => key.startsWith(one));
  return prefix === undefined ? undefined : defaultThreadShard(key.slice(prefix.length));
}

/**
 * Makes the state of a `Chat`.
 *
 * @example
 * const chat = new Chat({ userName: "bot", adapters, state: createChatSdkState({ parent: this }) });
 */
export function createChatSdkState(options: ChatSdkStateOptions = {}): ChatSdkStateAdapter {
  const parent = options.parent ?? currentContext().agent;
  if (!parent) throw chatSdkErrors.NoStateParentError();
  return new ChatSdkStateAdapter({ ...options, parent });
}

export class ChatSdkStateAdapter {
  readonly #options: ChatSdkStateOptions & { readonly parent: Pick<AgentBase, "subAgent"> };
  #isConnected = false;

  constructor(options: ChatSdkStateOptions & { readonly parent: Pick<AgentBase, "subAgent"> }) {
    this.#options = options;
  }

  async connect(): Promise<void> {
    this.#isConnected = true;
  }

  async disconnect(): Promise<void> {
    this.#isConnected = false;
  }

  async subscribe(threadId: string): Promise<void> {
    await this.#ofThread(threadId, "subscribe", [threadId]);
  }

  async unsubscribe(threadId: string): Promise<void> {
    await this.#ofThread(threadId, "unsubscribe", [threadId]);
  }

  async isSubscribed(threadId: string): Promise<boolean> {
    return (await this.#ofThread(threadId, "isSubscribed", [threadId])) === true;
  }

  async acquireLock(threadId: string, ttlMs: number): Promise<ChatLock | null> {
    return (await this.#ofThread(threadId, "acquireLock", [threadId, ttlMs])) as ChatLock | null;
  }

  async releaseLock(lock: ChatLock): Promise<void> {
    await this.#ofThread(lock.threadId, "releaseLock", [lock]);
  }

  async extendLock(lock: ChatLock, ttlMs: number): Promise<boolean> {
    return (await this.#ofThread(lock.threadId, "extendLock", [lock, ttlMs])) === true;
  }

  async forceReleaseLock(threadId: string): Promise<void> {
    await this.#ofThread(threadId, "forceReleaseLock", [threadId]);
  }

  async enqueue(threadId: string, entry: QueueEntry, maxSize: number): Promise<number> {
    return Number(await this.#ofThread(threadId, "enqueue", [threadId, entry, maxSize]));
  }

  async dequeue<Entry extends QueueEntry = QueueEntry>(threadId: string): Promise<Entry | null> {
    return (await this.#ofThread(threadId, "dequeue", [threadId])) as Entry | null;
  }

  async queueDepth(threadId: string): Promise<number> {
    return Number(await this.#ofThread(threadId, "queueDepth", [threadId]));
  }

  async get<Value = unknown>(key: string): Promise<Value | null> {
    return (await this.#ofKey(key, "get", [key])) as Value | null;
  }

  async set(key: string, value: unknown, ttlMs?: number): Promise<void> {
    await this.#ofKey(key, "set", [key, value, ttlMs]);
  }

  async setIfNotExists(key: string, value: unknown, ttlMs?: number): Promise<boolean> {
    return (await this.#ofKey(key, "setIfNotExists", [key, value, ttlMs])) === true;
  }

  async delete(key: string): Promise<void> {
    await this.#ofKey(key, "delete", [key]);
  }

  async appendToList(key: string, value: unknown, options?: { maxLength?: number; ttlMs?: number }): Promise<void> {
    await this.#ofKey(key, "appendToList", [key, value, options]);
  }

  async getList<Value = unknown>(key: string): Promise<Value[]> {
    return (await this.#ofKey(key, "getList", [key])) as Value[];
  }

  #ofThread(threadId: string, operation: StateOperation, args: readonly unknown[]): Promise<unknown> {
    return this.#ask(this.#options.shardKey?.(threadId) || defaultThreadShard(threadId), operation, args);
  }

  #ofKey(key: string, operation: StateOperation, args: readonly unknown[]): Promise<unknown> {
    const { keyShard, name = DEFAULT_SHARD } = this.#options;
    return this.#ask(keyShard?.(key) || (defaultKeyShard(key) ?? name), operation, args);
  }

  async #ask(shard: string, operation: StateOperation, args: readonly unknown[]): Promise<unknown> {
    if (!this.#isConnected) throw chatSdkErrors.StateNotConnectedError();
    const { parent, agent = ChatSdkStateAgent } = this.#options;
    const facet = await parent.subAgent(agent, shard);
    return facet.chatSdkState(operation, args);
  }
}
