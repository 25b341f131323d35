import { abortAllDurableObjects, evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { ClientSocket, Frame } from "./client-socket.ts";
import { connect, env, fetchPath, rawStub, sqlOf, uniqueName } from "./world.ts";
import { linesOf, storedMessages, user } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

function ask(socket: ClientSocket, id: string, words: string): void {
  sendChat(socket, id, [user(`u-${id}`, words)]);
}

const terminal = (id: string) => (frame: Frame) =>
  frame.type === "cf_agent_use_chat_response" && frame["id"] === id && frame["done"] === true;

async function stored(path: string): Promise<string[]> {
  const messages = await storedMessages({ fetch: fetchPath }, path);
  return linesOf(messages);
}

test("a chat in workerd answers, stores the answer, and goes on after eviction on the same socket", async () => {
  const name = uniqueName();
  const path = `/agents/talker/${name}`;
  expect(await stored(path)).toEqual([]);
  const socket = await connect(path);
  ask(socket, "r1", "hello");
  expect(await socket.next(terminal("r1"))).toMatchObject({ outcome: "completed", messageIds: ["u-r1"] });
  await evictDurableObject(rawStub(env.Talker, name));
  ask(socket, "r2", "again");
  await socket.next(terminal("r2"));
  expect(await stored(path)).toEqual([
    "user:hello",
    "assistant:You said hello",
    "user:again",
    "assistant:You said again"
  ]);
});

test("an approval asked before an eviction is answered after it, and the tool runs once", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/talker/${name}`);
  ask(socket, "r1", "pay");
  await socket.next(terminal("r1"));
  await evictDurableObject(rawStub(env.Talker, name));
  const messages = await storedMessages({ fetch: fetchPath }, `/agents/talker/${name}`);
  const call = messages[1]?.parts.find((part) => "toolCallId" in part) as { toolCallId: string };
  socket.send({ type: "cf_agent_tool_approval", toolCallId: call.toolCallId, approved: true, autoContinue: true });
  await socket.next((frame) => frame.type === "cf_agent_use_chat_response" && frame["done"] === true);
  const stub = rawStub(env.Talker, name);
  expect(await stub.payments()).toBe(1);
  expect((await stored(`/agents/talker/${name}`)).at(-1)).toBe("assistant:done");
});

test("a schedule that a crash cut off after its question finds the answer when it runs again", async () => {
  const name = uniqueName();
  await rawStub(env.Talker, name).remindLater();
  await expect.poll(() => rawStub(env.Talker, name).reminders(), { timeout: 5_000 }).toBe(1);
  await abortAllDurableObjects();
  // The restart arms what the crash left; that alarm fires by itself.
  await expect.poll(() => rawStub(env.Talker, name).reminders(), { timeout: 5_000 }).toBe(2);
  expect(await stored(`/agents/talker/${name}`)).toEqual(["user:remember", "assistant:You said remember"]);
});

test("a chat agent works as a sub-agent: its client hears it through the root", async () => {
  const path = `/agents/talker/${uniqueName()}/sub/talker/inner`;
  const socket = await connect(path);
  ask(socket, "r1", "below");
  await socket.next(terminal("r1"));
  expect(await stored(path)).toEqual(["user:below", "assistant:You said below"]);
  const chunks = socket.frames.filter((frame) => typeof frame["seq"] === "number").map((frame) => frame["seq"]);
  expect(chunks).toEqual(chunks.map((_, index) => index));
});

test("a one-chunk turn leaves one open row and two records, and nothing open", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/talker/${name}`);
  ask(socket, "r1", "count");
  await socket.next(terminal("r1"));
  const stub = rawStub(env.Talker, name);
  expect(await sqlOf(stub, "SELECT COUNT(*) AS n FROM cf_journal")).toEqual([{ n: 2 }]);
  expect(await sqlOf(stub, "SELECT open_turns FROM cf_conversations")).toEqual([{ open_turns: "[]" }]);
});
