import { expect, test, vi } from "vitest";
import { getSubAgentByName, routeSubAgentRequest } from "../../src/agent-class/index.ts";
import { subscribe } from "../../src/observe/index.ts";
import { createTestHost } from "../../src/testing/index.ts";
import { Member, Room } from "../conformance/agents.ts";

const open = () => createTestHost({ agents: { Room }, exports: [Member] });
type Frame = { type: string; [key: string]: unknown };
const types = (frames: unknown[]) => (frames as Frame[]).map(({ type }) => type);

test("a client connected to a child gets that child's frames and none of its parent's", async () => {
  const host = open();
  const parent = await host.connect("/agents/room/r");
  const child = await host.connect("/agents/room/r/sub/member/a%2Fb");
  await host.idle();
  expect(types(child.frames)).toEqual([
    "cf_agent_identity",
    "cf_agent_state",
    "cf_agent_mcp_servers",
    "member-welcome"
  ]);
  expect(child.frames[0]).toMatchObject({ name: "a/b", agent: "member" });
  const room = await host.get(Room, "r");
  await room.shout('{"type":"from-parent"}');
  child.send({ type: "rpc", id: "1", method: "setMood", args: ["happy"] });
  await child.next("rpc");
  await host.idle();
  expect(types(child.frames)).not.toContain("from-parent");
  expect(child.frames).toContainEqual({ type: "cf_agent_state", state: { mood: "happy" } });
  expect(parent.frames.filter((frame) => (frame as Frame).type === "cf_agent_state")).toHaveLength(1);
  expect(await room.connectionIds()).toHaveLength(1);
});

test("onBeforeSubAgent runs once per connection, not per frame, with the agent started and its context set", async () => {
  const host = open();
  const child = await host.connect("/agents/room/r/sub/member/m");
  child.send("one");
  child.send("two");
  await host.idle();
  expect(await (await host.get(Room, "r")).entries()).toEqual(["start:", "before:Member:m:true"]);
});

test("a Response from onBeforeSubAgent reaches the client unchanged and no child is created", async () => {
  const host = open();
  const response = await host.fetch("/agents/room/r/sub/member/forbidden/x");
  expect([response.status, await response.text()]).toEqual([401, "no entry"]);
  await expect(host.connect("/agents/room/r/sub/member/forbidden")).rejects.toThrow("401");
  expect(await (await host.get(Room, "r")).members()).toEqual([]);
});

test("a refusal below the first level closes the socket for good", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/r/sub/member/a/sub/member/forbidden");
  await host.idle();
  expect(socket.closed).toEqual({ code: 1008, reason: "Sub-agent connection rejected" });
});

test("HTTP reaches a child with what is left of the path and the query, bad names are refused without detail", async () => {
  const host = open();
  expect(await (await host.fetch("/agents/room/r/sub/member/m/files/a?x=1")).json()).toEqual({
    member: "m",
    path: "/files/a",
    search: "?x=1"
  });
  expect(await (await host.fetch("/agents/room/r/sub/member/m/sub/member/n")).json()).toMatchObject({
    member: "n",
    path: "/"
  });
  const nul = await host.fetch("/agents/room/r/sub/member/a%00b");
  expect([nul.status, await nul.text()]).toEqual([400, "Bad Request"]);
  const broken = await host.fetch("/agents/room/r/sub/member/unstartable");
  expect([broken.status, await broken.text()]).toEqual([404, "Not Found"]);
  expect(await (await host.get(Room, "r")).members()).toEqual(["m"]);
  await expect(host.connect("/agents/room/r/sub/stranger/x")).rejects.toThrow("404");
});

test("children with equal names under different parents or depths never share a row", async () => {
  const host = open();
  for (const path of [
    "/agents/room/r1/sub/member/m",
    "/agents/room/r2/sub/member/m",
    "/agents/room/r1/sub/member/m/sub/member/m"
  ]) {
    const socket = await host.connect(path);
    socket.send({ type: "rpc", id: "1", method: "setMood", args: [path] });
    await socket.next("rpc");
  }
  for (const path of [
    "/agents/room/r1/sub/member/m",
    "/agents/room/r2/sub/member/m",
    "/agents/room/r1/sub/member/m/sub/member/m"
  ]) {
    expect(await (await host.connect(path)).next("cf_agent_state")).toMatchObject({ state: { mood: path } });
  }
});

test("agents nest four deep with the root, one more gets a named error", async () => {
  const host = open();
  const stub = await getSubAgentByName(await host.get(Room, "r"), Member, "1");
  expect(await stub.nest(["2", "3"])).toMatchObject({ path: ["Room/r", "Member/1", "Member/2", "Member/3"] });
  await expect(stub.nest(["2", "3", "4"])).rejects.toThrow("agents nest at most 4 deep");
});

test("a child's schedule fires in the child after root and child were both evicted; a sibling cannot cancel it", async () => {
  const host = open();
  const room = await host.get(Room, "r");
  const a = await getSubAgentByName(room, Member, "a");
  const b = await getSubAgentByName(room, Member, "b");
  const id = await a.remindMe(60, "ding");
  expect(await b.cancelReminder(id)).toBe(false);
  expect(await b.reminders()).toEqual([]);
  await host.evictAll();
  await host.advance(61_000);
  expect(await a.marks()).toEqual(["ding"]);
  expect(host.alarm(Room, "r")).toBeNull();
});

test("deleting a child leaves the schedules of siblings whose names look like patterns or paths of it", async () => {
  const host = open();
  const room = await host.get(Room, "r");
  const names = ["a", "a/b", "a%", 'a"', "a_"];
  for (const name of names) await (await getSubAgentByName(room, Member, name)).remindMe(60, name);
  expect(await room.dropMember("a")).toBe(false);
  await host.advance(61_000);
  for (const name of names.slice(1))
    expect(await (await getSubAgentByName(room, Member, name)).marks()).toEqual([name]);
  expect(await (await getSubAgentByName(room, Member, "a")).marks()).toEqual([]);
});

test("work of a child whose name in the registry became garbage is named by an event, and runs when the child is next asked for", async () => {
  const host = open();
  const room = await host.get(Room, "r");
  await (await getSubAgentByName(room, Member, "a")).remindMe(60, "a");
  host.kill();
  host.sql(Room, "r", "UPDATE cf_children SET name = '{\"broken'");
  const events: unknown[] = [];
  const stop = subscribe("lifecycle", ({ type, payload }) => void events.push({ type, ...payload }));
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  await host.restart();
  await host.advance(61_000);
  stop();
  const key = '[["Member","a"]]';
  expect(events).toContainEqual(
    expect.objectContaining({ type: "storage:row:quarantined", table: "cf_children", key })
  );
  expect(String(error.mock.calls.at(-1))).toContain(key);
  error.mockRestore();
  const again = await getSubAgentByName(await host.get(Room, "r"), Member, "a");
  await host.advance(1_000);
  expect(await again.marks()).toEqual(["a"]);
});

test("destroy() in a child removes its schedules, wakes and registry row, and those of its descendants", async () => {
  const host = open();
  const room = await host.get(Room, "r");
  const a = await getSubAgentByName(room, Member, "a");
  await a.remindMe(60, "a");
  await a.nestAndRemind(["b"], 60);
  expect(host.sql(Room, "r", "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toHaveLength(2);
  await a.end().catch(() => undefined);
  await host.idle();
  expect(host.sql(Room, "r", "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toEqual([]);
  expect(await room.members()).toEqual([]);
  expect(host.alarm(Room, "r")).toBeNull();
});

test("clients of a deleted child are told for good and cannot bring it back", async () => {
  const host = open();
  const child = await host.connect("/agents/room/r/sub/member/m");
  await host.idle();
  await (await host.get(Room, "r")).dropMember("m");
  await host.idle();
  expect(child.closed).toEqual({ code: 1008, reason: "Sub-agent deleted" });
  expect(await (await host.get(Room, "r")).members()).toEqual([]);
});

test("after eviction a child knows its connections and reaches them before any new frame", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/r/sub/member/a/sub/member/b?_pk=c1");
  socket.send({ type: "rpc", id: "1", method: "remember", args: ["seat 3"] });
  await socket.next("rpc");
  await host.idle();
  await host.evictAll();
  const a = await getSubAgentByName(await host.get(Room, "r"), Member, "a");
  expect(await a.connectionsBelow("b")).toEqual([{ id: "c1", state: "seat 3" }]);
  await a.shoutBelow("b", '{"type":"hello-again"}');
  await socket.next("hello-again");
});

test("frames of a child arrive in the order it sent them, broadcast or not", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/r/sub/member/m");
  socket.send({ type: "rpc", id: "1", method: "burst", args: [20] });
  await socket.next("rpc");
  const order = (socket.frames as Frame[]).filter(({ type }) => type === "burst").map(({ n }) => n);
  expect(order).toEqual(Array.from({ length: 20 }, (_, n) => n));
});

test("frames to a child are handled in the order they came", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/r/sub/member/m");
  for (let n = 0; n < 10; n++) socket.send(`m${n}`);
  await host.idle();
  const echoes = (socket.frames as Frame[]).filter(({ type }) => type === "member-echo").map(({ message }) => message);
  expect(echoes).toEqual(Array.from({ length: 10 }, (_, n) => `m${n}`));
});

test("parentAgent reaches the direct parent only, and a wrong class is named with the right one", async () => {
  const host = open();
  const a = await getSubAgentByName(await host.get(Room, "r"), Member, "a");
  expect(await a.askParent()).toBe("a room");
  await expect(a.askParentFromBelow("b")).rejects.toThrow('is a "Member", not a "Room"');
  expect(await a.helloParentFromBelow("b")).toMatchObject({ name: "a" });
  expect(await a.describeRootFromBelow("b")).toBe("a room");
});

test("awaiting or printing a child's stub makes no call, and unknown methods are named", async () => {
  const host = open();
  const stub = await getSubAgentByName(await host.get(Room, "r"), Member, "a");
  const { awaits } = host.counts;
  expect(await Promise.resolve(stub)).toBe(stub);
  expect(JSON.stringify(stub)).toBe("{}");
  expect(host.counts.awaits).toBe(awaits);
  const untyped = stub as unknown as { nonsense(): Promise<void> };
  await expect(untyped.nonsense()).rejects.toThrow('Member has no method "nonsense"');
  await expect(async () => stub.fetch(new Request("http://x/"))).rejects.toThrow("routeSubAgentRequest");
});

test("what every object inherits can be called neither across the tree nor by a client", async () => {
  const host = open();
  const room = await host.get(Room, "r");
  await room.spawnMember("a");
  const socket = await host.connect("/agents/room/r/sub/member/a");
  const to = [{ className: "Member", name: "a" }];
  const inherited = Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== "__proto__");
  expect(inherited).toContain("__defineGetter__");
  for (const method of inherited) {
    // As a stub of the other side would ask: stubs of ours do not even ask for some of them.
    const call = { op: "invoke" as const, method, args: ["name", "x"] };
    await expect(room.internalCall({ to, call })).rejects.toThrow(`Member has no method "${method}"`);
    await expect(room.internalCall({ to: [], call })).rejects.toThrow(`Room has no method "${method}"`);
    socket.send({ type: "rpc", id: method, method, args: ["name"] });
    expect(await socket.next("rpc")).toMatchObject({ success: false, error: `Method ${method} is not callable` });
  }
});

test("a class cannot list what every object inherits as callable", async () => {
  class Odd extends Member {
    static override callables = ["hasOwnProperty"];
  }
  const host = createTestHost({ agents: { Odd } });
  await expect(host.get(Odd, "a")).rejects.toThrow('static callables lists "hasOwnProperty"');
});

test.each([
  ["/agents/room/r/sub/stranger/x", 404],
  ["/agents/room/r/sub/stranger/x/files", 404],
  ["/agents/room/r/sub/default/x", 404],
  ["/agents/room/r/sub/member/%zz", 404],
  ["/agents/room/r/sub/member/m/sub/stranger/x", 404],
  ["/agents/room/r/sub/member/a%00b", 400]
])("%s is not found: the parent does not answer for a child that cannot be", async (path, status) => {
  const host = open();
  for (const init of [{}, { method: "POST", body: "x" }]) expect((await host.fetch(path, init)).status).toBe(status);
  const room = await host.get(Room, "r");
  expect((await room.members()).filter((name) => name !== "m")).toEqual([]);
});

test.each([
  "/agents/room/r/notes/sub/stranger/x",
  "/agents/room/r/sub",
  "/agents/room/r/sub/stranger",
  "/agents/room/sub/sub/x"
])("%s is the parent's own", async (path) => {
  const host = open();
  expect(await (await host.fetch(path)).json()).toMatchObject({ path });
});

test("routeSubAgentRequest needs a sub path, and fromPath replaces only the path", async () => {
  const host = open();
  const room = await host.get(Room, "r");
  expect((await routeSubAgentRequest(new Request("http://x/other"), room)).status).toBe(400);
  const routed = await routeSubAgentRequest(new Request("http://x/other?q=1"), room, { fromPath: "/sub/member/m/y" });
  expect(await routed.json()).toEqual({ member: "m", path: "/y", search: "?q=1" });
});

test("a child of a child that is aborted keeps its storage and starts again", async () => {
  const host = open();
  const room = await host.get(Room, "r");
  const a = await getSubAgentByName(room, Member, "a");
  await a.mark("kept");
  await room.abortMember("a");
  expect(await a.marks()).toEqual(["kept"]);
});
