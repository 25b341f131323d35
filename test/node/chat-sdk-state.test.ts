// The state of a Chat SDK `Chat` on facets: what each operation promises, over restarts.
import { expect, test } from "vitest";
import { Agent } from "../../src/agent-class/index.ts";
import {
  createChatSdkState,
  defaultKeyShard,
  defaultThreadShard,
  type ChatLock
} from "../../src/features/chat-sdk/index.ts";
import { ThinkMessengerStateAgent } from "../../src/features/messengers/index.ts";
import { createTestHost } from "../../src/testing/index.ts";

type Adapter = ReturnType<typeof createChatSdkState>;

class State extends ThinkMessengerStateAgent {
  async scheduled(): Promise<number> {
    return (await this.listSchedules()).length;
  }
}

class Root extends Agent {
  /** One operation, as code of the agent would call it. */
  async on(operation: keyof Adapter, ...args: unknown[]): Promise<unknown> {
    const state = createChatSdkState({ agent: State });
    await state.connect();
    return (state[operation] as (...given: unknown[]) => Promise<unknown>).apply(state, args);
  }

  async unconnected(): Promise<unknown> {
    return createChatSdkState({ parent: this }).get("k");
  }

  async schedulesOf(shard: string): Promise<number> {
    const facet = await this.subAgent(State, shard);
    return facet.scheduled();
  }
}

const T = "telegram:7";
const entry = (n: number, expiresAt = 1e15) => ({ n, enqueuedAt: n, expiresAt });

async function opened() {
  const host = createTestHost({ agents: { Root, State } });
  const root = await host.get(Root, "main");
  return { host, root, on: async (...call: Parameters<Root["on"]>) => (await host.get(Root, "main")).on(...call) };
}

test("nothing works before connect(), and outside an agent there is no state", async () => {
  const { root } = await opened();
  await expect(root.unconnected()).rejects.toThrow("not connected");
  expect(() => createChatSdkState()).toThrow("outside an agent");
});

test("subscriptions are a set that survives a restart", async () => {
  const { host, on } = await opened();
  await on("subscribe", T);
  await on("subscribe", T);
  await host.restart();
  expect(await on("isSubscribed", T)).toBe(true);
  await on("unsubscribe", T);
  expect(await on("isSubscribed", T)).toBe(false);
});

test("a lock is held by one, extended while it lives by its token, and never comes back", async () => {
  const { host, on } = await opened();
  const lock = (await on("acquireLock", T, 5_000)) as ChatLock;
  expect(await on("acquireLock", T, 5_000)).toBeNull();
  expect(await on("extendLock", { ...lock, token: "other" }, 9_000)).toBe(false);
  expect(await on("extendLock", lock, 9_000)).toBe(true);
  await on("releaseLock", { ...lock, token: "other" });
  expect(await on("acquireLock", T, 5_000)).toBeNull();
  await host.advance(9_001);
  expect(await on("extendLock", lock, 9_000)).toBe(false);
  expect(await on("acquireLock", T, 5_000)).not.toBeNull();
  await on("forceReleaseLock", T);
  expect(await on("acquireLock", T, 5_000)).not.toBeNull();
});

test("a queue keeps the newest, gives the oldest first, and never what has expired", async () => {
  const { on } = await opened();
  const depths: unknown[] = [];
  for (const n of [1, 2, 3, 4]) depths.push(await on("enqueue", T, entry(n), 3));
  expect(depths).toEqual([1, 2, 3, 3]);
  expect([await on("dequeue", T), await on("dequeue", T)]).toMatchObject([{ n: 2 }, { n: 3 }]);
  await on("enqueue", "telegram:8", entry(5, 1), 3);
  expect([await on("queueDepth", "telegram:8"), await on("dequeue", "telegram:8")]).toEqual([0, null]);
  await expect(on("enqueue", T, { n: 6 }, 3)).rejects.toThrow("enqueuedAt");
});

test("a value expires strictly, and setIfNotExists takes an expired one for absent", async () => {
  const { host, on } = await opened();
  await on("set", "k", { a: 1 }, 1_000);
  expect(await on("get", "k")).toEqual({ a: 1 });
  expect(await on("setIfNotExists", "k", 2)).toBe(false);
  await host.advance(1_000);
  expect(await on("get", "k")).toBeNull();
  expect([await on("setIfNotExists", "k", 3), await on("get", "k")]).toEqual([true, 3]);
  await on("delete", "k");
  expect(await on("get", "k")).toBeNull();
});

test("a list is trimmed to the newest, and a time to live is the whole list's", async () => {
  const { host, on } = await opened();
  for (const n of [1, 2, 3]) await on("appendToList", "l", n, { maxLength: 2, ttlMs: 1_000 });
  await host.advance(600);
  await on("appendToList", "l", 4, { ttlMs: 1_000 });
  await host.advance(600);
  expect(await on("getList", "l")).toEqual([2, 3, 4]);
  await host.advance(1_000);
  expect(await on("getList", "l")).toEqual([]);
});

test("after everything has expired and was cleaned up, the facet has no schedule", async () => {
  const { host, root, on } = await opened();
  await on("set", "thread-state:telegram:7", 1, 5_000);
  await on("set", "thread-state:telegram:7:x", 1, 2_000);
  expect(await root.schedulesOf("telegram:7")).toBe(1);
  await host.advance(10_000);
  expect(await root.schedulesOf("telegram:7")).toBe(0);
});

test("a facet that the packages everthink replaces have written keeps its subscriptions", async () => {
  const { host } = await opened();
  host.sql(State, "a", "CREATE TABLE cf_agents_state (id TEXT PRIMARY KEY NOT NULL, state TEXT)");
  host.sql(State, "a", "INSERT INTO cf_agents_state VALUES ('cf_schema_version', '6')");
  host.sql(State, "a", "CREATE TABLE chat_sdk_state_subscriptions (thread_id TEXT PRIMARY KEY) WITHOUT ROWID");
  host.sql(State, "a", "INSERT INTO chat_sdk_state_subscriptions VALUES ('telegram:7')");
  const state = await host.get(State, "a");
  expect(await state.chatSdkState("isSubscribed", [T])).toBe(true);
});

test("threads and their keys are in one facet; keys of no thread in the default one", () => {
  expect(defaultThreadShard("telegram:-100:42")).toBe("telegram:-100");
  expect(defaultThreadShard("odd")).toBe("default");
  expect(defaultKeyShard("thread-state:telegram:-100:42")).toBe("telegram:-100");
  expect(defaultKeyShard("dedupe:telegram:1")).toBeUndefined();
});
