// Large conversations inside workerd: what a start reads does not depend on what is stored, and large values cross a real
// socket and an eviction.
import { evictDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { Talker } from "./talker.ts";
import { connect, env, fetchPath, inside, rawStub, uniqueName } from "./world.ts";
import { sendChat } from "../kit/frames.ts";

const MEGABYTE = 1_000_000;
const HISTORY_MEGABYTES = 200;
/** 200 MB are written before they are read. */
const TIMEOUT_MS = 60_000;
const LINE = "A page of a conversation that has been going on for years. ";

async function fill(name: string, count: number): Promise<number> {
  const stub = rawStub(env.Talker, name);
  await fetchPath(`/agents/talker/${name}/wake`);
  for (let from = 0; from < count; from += 10) {
    await inside(stub, (talker) => talker.addMessages(pages(from, Math.min(10, count - from))));
  }
  return inside(stub, (_talker, state) => state.storage.sql.databaseSize);
}

function pages(from: number, count: number): UIMessage[] {
  const text = LINE.repeat(MEGABYTE / LINE.length);
  return Array.from({ length: count }, (_, index) => ({
    id: `page-${from + index}`,
    role: index % 2 === 0 ? "user" : "assistant",
    parts: [{ type: "text", text }]
  }));
}

/** Builds and starts a second instance on the object's storage, counting what it reads. */
function startAgain(name: string) {
  return inside(rawStub(env.Talker, name), async (_talker, state) => {
    const { sql } = state.storage;
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    const exec = sql.exec.bind(sql);
    const counted = (query: string, ...values: unknown[]) => {
      const cursor = exec(query, ...values);
      cursors.push(cursor);
      return cursor;
    };
    Object.defineProperty(sql, "exec", { value: counted, configurable: true });
    try {
      const again = new Talker(state, env);
      await again.fetch(new Request(`http://agents.test/agents/talker/${name}/wake`));
      return cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
    } finally {
      Reflect.deleteProperty(sql, "exec");
    }
  });
}

test(
  `a conversation of ${HISTORY_MEGABYTES} MB starts with as few rows read as one of a single message`,
  async () => {
    const [small, large] = [uniqueName("small"), uniqueName("large")];
    await fill(small, 1);
    expect(await fill(large, HISTORY_MEGABYTES)).toBeGreaterThan(HISTORY_MEGABYTES * MEGABYTE);
    const [few, many] = [await startAgain(small), await startAgain(large)];
    expect(many).toBe(few);
    expect(many).toBeLessThanOrEqual(30);

    await evictDurableObject(rawStub(env.Talker, large));
    const socket = await connect(`/agents/talker/${large}`);
    const frame = await socket.next("cf_agent_chat_messages");
    const messages = frame["messages"] as UIMessage[];
    expect(messages.at(-1)?.id).toBe(`page-${HISTORY_MEGABYTES - 1}`);
    expect(messages.length).toBeLessThan(30);
    socket.close();
  },
  TIMEOUT_MS
);

test("an image of 1 MB in a question is answered, and shown again after an eviction", async () => {
  const name = uniqueName("picture");
  const url = `data:image/png;base64,${"AAAA".repeat(MEGABYTE / 3)}`;
  const parts: UIMessage["parts"] = [
    { type: "file", mediaType: "image/png", url },
    { type: "text", text: "seven" }
  ];
  const socket = await connect(`/agents/talker/${name}`);
  sendChat(socket, "r1", [{ id: "u1", role: "user", parts }]);
  await socket.next((frame) => frame.type === "cf_agent_use_chat_response" && frame["done"] === true);
  socket.close();
  await evictDurableObject(rawStub(env.Talker, name));
  const late = await connect(`/agents/talker/${name}`);
  const { messages } = (await late.next("cf_agent_chat_messages")) as { messages?: UIMessage[] };
  expect(messages?.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(JSON.stringify(messages?.[0]?.parts) === JSON.stringify(parts)).toBe(true);
  expect(JSON.stringify(messages?.[1])).toContain("You said ");
  late.close();
});
