import { expect, test } from "vitest";
import { createTestHost } from "../../src/testing/index.ts";
import { Marked, MarkedChild, Member, Room } from "../conformance/agents.ts";

const open = () => createTestHost({ agents: { Room, AIAssistant: Marked, MarkedChild }, exports: [Member] });
type Frame = { type: string; [key: string]: unknown };
const types = (frames: unknown[]) => (frames as Frame[]).map(({ type }) => type);

test("connecting yields exactly one identity, one state and one MCP frame, identity first", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a?_pk=c1");
  await host.idle();
  expect(types(socket.frames)).toEqual(["cf_agent_identity", "cf_agent_state", "cf_agent_mcp_servers", "welcome"]);
  expect(socket.frames[0]).toEqual({ type: "cf_agent_identity", name: "a", agent: "room", stateFollows: true });
  expect(socket.frames[1]).toEqual({ type: "cf_agent_state", state: { count: 0 } });
});

test("a silent connection gets no protocol frame, then or later, and can still call", async () => {
  const host = open();
  const silent = await host.connect("/agents/room/a?silent");
  const other = await host.connect("/agents/room/a");
  other.send({ type: "rpc", id: "1", method: "increment", args: [2] });
  await other.next("rpc");
  silent.send({ type: "rpc", id: "2", method: "describe", args: [] });
  await silent.next("rpc");
  expect(types(silent.frames)).toEqual(["welcome", "rpc"]);
});

test("an agent is reachable under the kebab form of its binding, unknown bindings are refused, short paths fall through", async () => {
  const host = open();
  expect((await host.fetch("/agents/a-i-assistant/x")).status).toBe(404);
  expect(await (await host.fetch("/agents/a-i-assistant/x")).text()).toBe("Not implemented");
  expect((await host.fetch("/agents/stranger/x")).status).toBe(400);
  expect(await (await host.fetch("/agents/room")).text()).toBe("Not found");
});

test("a name reached by URL and by getAgentByName is the same agent", async () => {
  const host = open();
  const stub = await host.get(Room, "a b");
  await stub.write({ count: 7 });
  const socket = await host.connect("/agents/room/a%20b");
  expect(await socket.next("cf_agent_state")).toMatchObject({ state: { count: 7 } });
  expect(await (await host.fetch("/agents/room/a%20b/x?y=1")).json()).toMatchObject({
    name: "a b",
    search: "?y=1",
    sameRequest: true
  });
});

test("after a restart, a socket message starts the agent without onConnect, and the connection is intact", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a?_pk=c1&tag=red&readonly");
  socket.send({ type: "rpc", id: "1", method: "remember", args: [{ seat: 3 }] });
  await socket.next("rpc");
  await host.evict(Room, "a");
  socket.send({ type: "rpc", id: "2", method: "recall", args: [] });
  const { result } = (await socket.next("rpc")) as unknown as { result: { uri: string } };
  expect(result).toMatchObject({ state: { seat: 3 }, tags: ["c1", "red"], readonly: true });
  expect(result.uri).toContain("/agents/room/a?_pk=c1");
  const stub = await host.get(Room, "a");
  expect(await stub.entries()).toEqual(["start:", "connect:c1", "start:"]);
});

test("if onStart throws once, that request fails and the next one succeeds", async () => {
  const host = open();
  expect((await host.fetch("/agents/room/fail-once-1/x")).status).toBe(500);
  expect((await host.fetch("/agents/room/fail-once-1/x")).status).toBe(200);
});

test("falsy states survive a restart, and corrupt JSON falls back to initialState and is repaired", async () => {
  for (const state of [null, 0, false, ""]) {
    const host = open();
    await (await host.get(Room, "a")).write(state);
    await host.restart();
    expect(await (await host.get(Room, "a")).read()).toEqual({ state });
  }
  const host = open();
  await (await host.get(Room, "a")).write({ count: 5 });
  host.sql(Room, "a", "UPDATE cf_state SET json = '{broken'");
  await host.restart();
  expect(await (await host.get(Room, "a")).read()).toEqual({ state: { count: 0 } });
  expect(host.sql(Room, "a", "SELECT json FROM cf_state")).toEqual([{ json: '{"count":0}' }]);
  expect(host.sql(Room, "a", "SELECT source FROM cf_quarantine")).toEqual([{ source: "cf_state" }]);
});

test("a refused state leaves disk, memory and clients unchanged, and its sender is put right", async () => {
  const host = open();
  const a = await host.connect("/agents/room/a?_pk=a");
  const b = await host.connect("/agents/room/a?_pk=b");
  await host.idle();
  const before = b.frames.length;
  a.send({ type: "cf_agent_state", state: { count: -1 } });
  expect(await a.next("cf_agent_state_error")).toEqual({
    type: "cf_agent_state_error",
    error: "State update rejected"
  });
  expect(await a.next("cf_agent_state")).toMatchObject({ state: { count: 0 } });
  await expect((await host.get(Room, "a")).write({ count: -2 })).rejects.toThrow("count must not be negative");
  expect(b.frames.length).toBe(before);
  expect(host.sql(Room, "a", "SELECT json FROM cf_state")).toEqual([{ json: '{"count":0}' }]);
});

test("a client's own push is not echoed but reaches every other protocol-enabled client once", async () => {
  const host = open();
  const [a, b, silent] = [
    await host.connect("/agents/room/a?_pk=a"),
    await host.connect("/agents/room/a?_pk=b"),
    await host.connect("/agents/room/a?silent")
  ];
  await host.idle();
  const counts = [a, b, silent].map((socket) => socket.frames.length);
  a.send({ type: "cf_agent_state", state: { count: 3 } });
  await host.idle();
  expect([a, b, silent].map((socket, index) => socket.frames.length - (counts[index] ?? 0))).toEqual([0, 1, 0]);
  expect(b.frames.at(-1)).toEqual({ type: "cf_agent_state", state: { count: 3 } });
  expect(await (await host.get(Room, "a")).stateChanges()).toContainEqual([{ count: 3 }, "a"]);
});

test("several changes in one tick are one frame with the last value, and one onStateChanged each", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  await host.idle();
  const before = socket.frames.length;
  const stub = await host.get(Room, "a");
  await stub.writeThrice();
  await host.idle();
  expect(socket.frames.slice(before)).toEqual([{ type: "cf_agent_state", state: { count: 3 } }, { type: "after" }]);
  expect(await stub.stateChanges()).toHaveLength(4);
});

test("a readonly client can neither push state nor change it through a callable, whatever it stores for itself", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a?readonly");
  socket.send({ type: "cf_agent_state", state: { count: 9 } });
  expect(await socket.next("cf_agent_state_error")).toMatchObject({ error: "Connection is readonly" });
  socket.send({ type: "rpc", id: "1", method: "remember", args: [null] });
  await socket.next("rpc");
  socket.send({ type: "rpc", id: "2", method: "touchState", args: [] });
  expect(await socket.next("rpc")).toEqual({ type: "rpc", id: "2", success: false, error: "Connection is readonly" });
  expect(await (await host.get(Room, "a")).read()).toEqual({ state: { count: 0 } });
});

test("a malformed call is not answered and the next valid one succeeds; unmarked methods are refused by name", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  await host.idle();
  for (const frame of [
    '{"type":"rpc"}',
    '{"type":"rpc","id":1,"method":"describe","args":[]}',
    "null",
    "[]",
    '"x"',
    "{}",
    "",
    "x".repeat(1_000_000)
  ]) {
    socket.send(frame);
  }
  socket.send({ type: "rpc", id: "1", method: "describe", args: [] });
  expect(await socket.next("rpc")).toEqual({ type: "rpc", id: "1", success: true, result: "a room", done: true });
  const errors: [string, string][] = [
    ["notCallable", "Method notCallable is not callable"],
    ["missing", "Method missing does not exist"],
    ["name", "Method name does not exist"],
    ["destroy", "Method destroy is not callable"],
    ["internalCall", "Method internalCall is not callable"],
    ["fail", "as asked"],
    ["failOddly", "Unknown error occurred"]
  ];
  for (const [method, error] of errors) {
    socket.send({ type: "rpc", id: method, method, args: [] });
    expect(await socket.next("rpc")).toEqual({ type: "rpc", id: method, success: false, error });
  }
  socket.send({ type: "rpc", id: "void", method: "nothing", args: [] });
  expect(await socket.next("rpc")).toEqual({ type: "rpc", id: "void", success: true, done: true });
  socket.send({ type: "rpc", id: "c", method: "circular", args: [] });
  expect(await socket.next("rpc")).toMatchObject({ id: "c", success: false });
});

test("a streaming callable delivers chunks in order, then one end; a throw is one error; forgetting to end ends it", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  const call = async (method: string, ...args: unknown[]) => {
    await host.idle();
    const before = socket.frames.length;
    socket.send({ type: "rpc", id: method, method, args });
    await host.idle();
    return socket.frames.slice(before).map((frame) => ({ ...(frame as Frame), type: undefined, id: undefined }));
  };
  expect(await call("count", 3)).toEqual([
    { success: true, result: 1, done: false },
    { success: true, result: 2, done: false },
    { success: true, result: 3, done: false },
    { success: true, result: "done", done: true }
  ]);
  expect(await call("endTwice")).toEqual([{ success: true, result: 1, done: true }]);
  expect(await call("countThenThrow")).toEqual([
    { success: true, result: 1, done: false },
    { success: false, error: "half way" }
  ]);
  expect(await call("forgetToEnd")).toEqual([
    { success: true, result: "only", done: false },
    { success: true, done: true }
  ]);
});

test("a stream is told when its client leaves", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a?_pk=c1");
  socket.send({ type: "rpc", id: "1", method: "waitForClose", args: [] });
  await socket.next("rpc");
  socket.close(1000, "bye");
  await host.idle();
  expect(await (await host.get(Room, "a")).entries()).toEqual(
    expect.arrayContaining(["stream-aborted", "close:c1:1000"])
  );
});

test("concurrent calls each see their own connection", async () => {
  const host = open();
  const [a, b] = [await host.connect("/agents/room/a?_pk=a"), await host.connect("/agents/room/a?_pk=b")];
  a.send({ type: "rpc", id: "1", method: "whoAmI", args: [] });
  b.send({ type: "rpc", id: "1", method: "whoAmI", args: [] });
  expect(await a.next("rpc")).toMatchObject({ result: ["a", "a", true] });
  expect(await b.next("rpc")).toMatchObject({ result: ["b", "b", true] });
});

test("getCallableMethods reports what a call would find: an override without a mark is not callable", async () => {
  const host = open();
  const socket = await host.connect("/agents/marked-child/x");
  socket.send({ type: "rpc", id: "1", method: "plain", args: [] });
  expect(await socket.next("rpc")).toMatchObject({ result: "base" });
  socket.send({ type: "rpc", id: "2", method: "renamed", args: [] });
  expect(await socket.next("rpc")).toMatchObject({ error: "Method renamed is not callable" });
  const stub = await host.get(MarkedChild, "x");
  expect([...(await stub.getCallableMethods()).keys()]).toEqual(["plain"]);
});

test("no stack, path or message of a failure reaches a client", async () => {
  const host = open();
  const response = await host.fetch("/agents/room/strict/boom");
  expect([response.status, await response.text()]).toEqual([500, "Internal Server Error"]);
  const socket = await host.connect("/agents/room/strict?explode");
  await host.idle();
  expect(socket.frames.at(-1)).toEqual({ error: "Internal Server Error" });
  expect(socket.closed).toEqual({ code: 1011, reason: "Uncaught exception during session setup" });
});

test("an onError that returns has handled the error: the socket lives on", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a?explode");
  socket.send("throw");
  await host.idle();
  socket.send({ type: "rpc", id: "1", method: "describe", args: [] });
  expect(await socket.next("rpc")).toMatchObject({ success: true });
  expect(await (await host.get(Room, "a")).entries()).toEqual(
    expect.arrayContaining(["error:secret stack", "error:message handler failed"])
  );
});

test("binary frames reach onMessage as bytes", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  socket.send(new Uint8Array([1, 2, 3]));
  expect(await socket.next("echo")).toEqual({ type: "echo", kind: "binary", size: 3 });
});

test("two live sockets with one client id both receive, and closing one leaves the other intact", async () => {
  const host = open();
  const old = await host.connect("/agents/room/a?_pk=same&readonly");
  const fresh = await host.connect("/agents/room/a?_pk=same");
  const stub = await host.get(Room, "a");
  await stub.shout('{"type":"hi"}');
  await old.next("hi");
  await fresh.next("hi");
  old.close(1000);
  await host.idle();
  fresh.send({ type: "rpc", id: "1", method: "recall", args: [] });
  expect(await fresh.next("rpc")).toMatchObject({ result: { readonly: false } });
  expect(await stub.connectionIds()).toEqual(["same"]);
});

test("connections are found by tag, and bad tags fail the upgrade", async () => {
  const host = open();
  await host.connect("/agents/room/a?_pk=a&tag=red&tag=blue");
  await host.connect("/agents/room/a?_pk=b&tag=red");
  const stub = await host.get(Room, "a");
  expect(await stub.connectionIds("red")).toEqual(["a", "b"]);
  expect(await stub.connectionIds("blue")).toEqual(["a"]);
  const tooMany = Array.from({ length: 10 }, (_, n) => `tag=t${n}`).join("&");
  const refused = await host.connect(`/agents/room/strict?${tooMany}`);
  await host.idle();
  expect(refused.closed?.code).toBe(1011);
});

test("props reach onStart only through the call that starts the agent", async () => {
  const host = open();
  const { getAgentByName } = await import("../../src/agent-class/index.ts");
  const namespace = host.env["Room"] as DurableObjectNamespace<Room>;
  await getAgentByName(namespace, "p", { props: { greeting: "grüß dich" } });
  await getAgentByName(namespace, "p", { props: { greeting: "again" } });
  expect(await (await host.get(Room, "p")).entries()).toEqual(["start:grüß dich"]);
});

test("a raw stub starts the agent before any method runs", async () => {
  const host = open();
  const namespace = host.env["Room"] as DurableObjectNamespace<Room>;
  const stub = namespace.get(namespace.idFromName("raw"));
  expect(await stub.entries()).toEqual(["start:"]);
});
