// The facet that keeps the state of Chat SDK adapters. It runs the operations of one store and schedules one clean-up, at
// the earliest expiry; nothing left to expire is no schedule.
import { AgentBase } from "../../agent/agent-base.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import { withCapabilities } from "../../feature/with-capabilities.ts";
import { agentTakeover } from "../../takeover/capability.ts";
import { schedules } from "../schedules/capability.ts";
import { ChatSdkStateStore } from "./state-store.ts";

/** The operations of a store that an adapter may ask for, by name. */
export type StateOperation = Exclude<keyof ChatSdkStateStore, "cleanUp" | "earliestExpiry" | "deleteExpired">;

const OPERATIONS: Readonly<Record<StateOperation, true>> = {
  subscribe: true,
  unsubscribe: true,
  isSubscribed: true,
  acquireLock: true,
  releaseLock: true,
  extendLock: true,
  forceReleaseLock: true,
  enqueue: true,
  dequeue: true,
  queueDepth: true,
  get: true,
  set: true,
  setIfNotExists: true,
  delete: true,
  appendToList: true,
  getList: true
};

/** The facet that the Worker's entry exports. It needs neither a binding nor a migration of its own. */
export class ChatSdkStateAgent extends withCapabilities(AgentBase, schedules, agentTakeover) {
  #opened: ChatSdkStateStore | undefined;

  /** Runs one operation of the state, for `ChatSdkStateAdapter`. */
  async chatSdkState(operation: StateOperation, args: readonly unknown[]): Promise<unknown> {
    if (!Object.hasOwn(OPERATIONS, operation)) throw new TypeError("There is no such operation.");
    const store = this.#store;
    // The adapter has the types: the names and arguments of both sides are those of the store.
    const result = (store[operation] as (...given: unknown[]) => unknown).apply(store, [...args]);
    await this.#scheduleCleanUp(store);
    return result;
  }

  /** Deletes what has expired. The agent's own schedule calls it; a schedule that another time has replaced does nothing. */
  async cleanUpChatSdkState({ at }: { readonly at: number }): Promise<void> {
    const store = this.#store;
    if (store.cleanUp?.at !== at) return;
    store.cleanUp = undefined;
    store.deleteExpired();
    await this.#scheduleCleanUp(store);
  }

  async #scheduleCleanUp(store: ChatSdkStateStore): Promise<void> {
    const earliest = store.earliestExpiry();
    if (earliest === undefined) return;
    const at = Math.ceil(earliest / 1_000) * 1_000;
    const known = store.cleanUp;
    if (known && known.at <= at) return;
    const { id } = await this.schedule(new Date(at), "cleanUpChatSdkState", { at });
    store.cleanUp = { id, at };
    if (known) await this.cancelSchedule(known.id);
  }

  get #store(): ChatSdkStateStore {
    if (!this.#opened) {
      const { sql, clock } = runtimeOf(this);
      this.#opened = new ChatSdkStateStore(sql, () => clock.now());
    }
    return this.#opened;
  }
}
