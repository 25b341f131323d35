import { abortAllDurableObjects, evictAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, expect, test } from "vitest";
import { getAgentByName, getSubAgentByName, routeSubAgentRequest } from "../../src/agent-class/index.ts";
import { Member } from "../conformance/agents.ts";
import { Clerk } from "./clerk.ts";
import { alarmOf, connect, env, errorOf, fetchPath, plain, rawStub, sqlOf, uniqueName, upgrade } from "./world.ts";

const CHILD_FRAMES = ["cf_agent_identity", "cf_agent_state", "cf_agent_mcp_servers", "member-welcome"];

// What an earlier test left running must not hold up this one's evictions.
beforeEach(() => abortAllDurableObjects());

async function openRoom() {
  const name = uniqueName("room");
  return { name, path: `/agents/room/${name}`, room: await getAgentByName(env.Room, name) };
}

test("a client of a child gets that child's frames and none of its parent's, while the root has a live socket", async () => {
  const { path, room } = await openRoom();
  const parent = await connect(`${path}?_pk=p`);
  const child = await connect(`${path}/sub/member/a%2Fb?_pk=c`);
  const sibling = await connect(`${path}/sub/member/other?_pk=s`);
  await sibling.next("member-welcome");
  await child.next("member-welcome");
  expect(child.types).toEqual(CHILD_FRAMES);
  expect(child.frames[0]).toEqual({ type: "cf_agent_identity", name: "a/b", agent: "member", stateFollows: true });
  await room.shout('{"type":"from-parent"}');
  await parent.next("from-parent");
  await child.call("setMood", "happy");
  await child.next((frame) => JSON.stringify(frame.state) === '{"mood":"happy"}');
  await (await getSubAgentByName(room, Member, "a/b")).shout('{"type":"from-child"}');
  await child.next("from-child");
  await Promise.all([parent.call("describe"), child.call("hello"), sibling.call("hello")]);
  expect(child.types).not.toContain("from-parent");
  expect(parent.types).toEqual([
    "cf_agent_identity",
    "cf_agent_state",
    "cf_agent_mcp_servers",
    "welcome",
    "from-parent",
    "rpc"
  ]);
  expect(sibling.types).toEqual([...CHILD_FRAMES, "rpc"]);
  expect(await room.connectionIds()).toEqual(["p"]);
});

test("onBeforeSubAgent runs once per connection, not per frame, with the agent started and its context set", async () => {
  const { path, room } = await openRoom();
  const child = await connect(`${path}/sub/member/m`);
  child.send("one");
  child.send("two");
  await child.call("hello");
  await evictAllDurableObjects();
  await child.call("hello");
  expect((await room.entries()).filter((entry) => entry !== "start:")).toEqual(["before:Member:m:true"]);
});

test("a Response from onBeforeSubAgent reaches the client unchanged and no child is created", async () => {
  const { path, room } = await openRoom();
  for (const response of [
    await fetchPath(`${path}/sub/member/forbidden/x`),
    await upgrade(`${path}/sub/member/forbidden`)
  ]) {
    expect([response.status, await response.text()]).toEqual([401, "no entry"]);
  }
  expect(await room.members()).toEqual([]);
});

test("a refusal below the first level closes the socket for good", async () => {
  const { path } = await openRoom();
  const socket = await connect(`${path}/sub/member/a/sub/member/forbidden`);
  expect(await socket.ended).toEqual({ code: 1008, reason: "Sub-agent connection rejected" });
});

test("HTTP reaches a child with what is left of the path and the query", async () => {
  const { path } = await openRoom();
  const first = await fetchPath(`${path}/sub/member/m/files/a?x=1`);
  expect(await first.json()).toEqual({ member: "m", path: "/files/a", search: "?x=1" });
  const second = await fetchPath(`${path}/sub/member/m/sub/member/n%20o`);
  expect(await second.json()).toEqual({ member: "n o", path: "/", search: "" });
});

test("a name with NUL is a bad request, a child that cannot start and an unknown class are not found, without detail", async () => {
  const { path, room } = await openRoom();
  for (const response of [await fetchPath(`${path}/sub/member/a%00b`), await upgrade(`${path}/sub/member/a%00b`)]) {
    expect([response.status, await response.text()]).toEqual([400, "Bad Request"]);
  }
  const broken = await fetchPath(`${path}/sub/member/unstartable`);
  expect([broken.status, await broken.text()]).toEqual([404, "Not Found"]);
  for (const stranger of [await upgrade(`${path}/sub/stranger/x`), await fetchPath(`${path}/sub/stranger/x/y`)]) {
    expect([stranger.status, await stranger.text()]).toEqual([404, "Not Found"]);
  }
  expect(await room.members()).toEqual([]);
  expect(await errorOf(() => room.spawnMember("a\0b"))).toBe("A sub-agent's name must not contain a null character.");
});

test("an upgrade for an export that is not an agent is not found and never reaches the parent", async () => {
  const { path, room } = await openRoom();
  const response = await upgrade(`${path}/sub/default/x`);
  expect(response.status).toBe(404);
  await response.text();
  expect((await room.entries()).filter((entry) => entry.startsWith("connect:"))).toEqual([]);
});

test("children with equal names under different parents, classes or depths never share a row", async () => {
  const [one, two] = [await openRoom(), await openRoom()];
  const paths = [
    `${one.path}/sub/member/${one.name}`,
    `${two.path}/sub/member/${one.name}`,
    `${one.path}/sub/member/${one.name}/sub/member/${one.name}`
  ];
  for (const path of paths) await (await connect(path)).call("setMood", path);
  await evictAllDurableObjects();
  for (const path of paths) {
    expect(await (await connect(path)).next("cf_agent_state")).toMatchObject({ state: { mood: path } });
  }
});

test("a child's name is data: separators, patterns and long names are kept apart", async () => {
  const { room } = await openRoom();
  const names = ["a", "a/b", "a:b", "a%", "a_", 'a"', "ä😀", "x".repeat(300), `${"x".repeat(300)}y`];
  for (const name of names) await (await getSubAgentByName(room, Member, name)).mark(name);
  await evictAllDurableObjects();
  for (const name of names) {
    const member = await getSubAgentByName(room, Member, name);
    expect(await member.marks()).toEqual([name]);
  }
  expect(await room.members()).toEqual(names);
});

test("agents nest four deep with the root, one more gets a named error and leaves nothing behind", async () => {
  const { name, path, room } = await openRoom();
  const first = await getSubAgentByName(room, Member, "1");
  const path4 = [`Room/${name}`, "Member/1", "Member/2", "Member/3"];
  expect(await plain(first.nest(["2", "3"]))).toMatchObject({ path: path4 });
  expect(await errorOf(() => first.nest(["2", "3", "4"]))).toContain("agents nest at most 4 deep");
  const tooDeep = await fetchPath(`${path}/sub/member/1/sub/member/2/sub/member/3/sub/member/4`);
  expect(tooDeep.status).toBe(404);
  await tooDeep.text();
  const socket = await connect(`${path}/sub/member/1/sub/member/2/sub/member/3/sub/member/4`);
  expect(await socket.ended).toEqual({ code: 1008, reason: "Sub-agent connection rejected" });
  expect(await plain(first.nest(["2", "3"]))).toMatchObject({ path: path4 });
});

test("a deep child knows its connections after everything was evicted and reaches them before any new frame", async () => {
  const { path, room } = await openRoom();
  const deep = `${path}/sub/member/a/sub/member/b`;
  const sockets = [await connect(`${deep}?_pk=c1`), await connect(`${deep}?_pk=c2`)];
  const root = await connect(`${path}?_pk=root`);
  await root.next("welcome");
  await sockets[0]!.call("remember", "seat 3");
  await sockets[1]!.next("member-welcome");
  await evictAllDurableObjects();
  const a = await getSubAgentByName(room, Member, "a");
  const known = await plain(a.connectionsBelow("b"));
  expect(known.sort((x, y) => (x.id < y.id ? -1 : 1))).toEqual([
    { id: "c1", state: "seat 3" },
    { id: "c2", state: null }
  ]);
  await a.shoutBelow("b", '{"type":"hello-again"}');
  await Promise.all(sockets.map((socket) => socket.next("hello-again")));
  expect(await sockets[0]!.call("recall")).toMatchObject({ result: "seat 3" });
  await root.call("describe");
  expect(root.types).not.toContain("hello-again");
});

test("after its abort, a change and an eviction a child has the latest state of a connection", async () => {
  const { path, room } = await openRoom();
  const socket = await connect(`${path}/sub/member/m?_pk=c1`);
  await socket.call("remember", "old");
  await room.abortMember("m");
  await socket.call("recall");
  await socket.call("remember", "new");
  await evictAllDurableObjects();
  expect(await socket.call("recall")).toMatchObject({ result: "new" });
});

test("a message to an evicted deep child wakes it without a second greeting", async () => {
  const { path } = await openRoom();
  const socket = await connect(`${path}/sub/member/a/sub/member/b?_pk=c1`);
  await socket.call("remember", { seat: 3 });
  await evictAllDurableObjects();
  expect(await socket.call("recall")).toMatchObject({ result: { seat: 3 } });
  expect(socket.types).toEqual([...CHILD_FRAMES, "rpc", "rpc"]);
});

test("frames of a child arrive in the order it sent them, broadcast or not", async () => {
  const { path } = await openRoom();
  const socket = await connect(`${path}/sub/member/a/sub/member/b`);
  await socket.call("burst", 40);
  const order = socket.frames.filter(({ type }) => type === "burst").map(({ n }) => n);
  expect(order).toEqual(Array.from({ length: 40 }, (_, n) => n));
});

test("frames to a child are handled in the order they came, after its connect sequence", async () => {
  const { path } = await openRoom();
  const socket = await connect(`${path}/sub/member/a/sub/member/b`);
  const sent = Array.from({ length: 20 }, (_, n) => `m${n}`);
  for (const message of sent) socket.send(message);
  await socket.next((frame) => frame["message"] === "m19");
  expect(socket.types.slice(0, 4)).toEqual(CHILD_FRAMES);
  const echoes = socket.frames.filter(({ type }) => type === "member-echo").map(({ message }) => message);
  expect(echoes).toEqual(sent);
});

test("binary and large frames pass to a child and back", async () => {
  const { path } = await openRoom();
  const socket = await connect(`${path}/sub/member/m`);
  socket.send("x".repeat(1_000_000));
  expect(String((await socket.next("member-echo"))["message"])).toHaveLength(1_000_000);
  socket.send(new Uint8Array(1_000_000));
  expect(await socket.next("member-echo")).toMatchObject({ message: "[object ArrayBuffer]" });
});

test("clients of a deleted child are closed with 1008 and cannot bring it back", async () => {
  const { path, room } = await openRoom();
  const own = await connect(`${path}?_pk=own`);
  const child = await connect(`${path}/sub/member/m`);
  const grandchild = await connect(`${path}/sub/member/m/sub/member/n`);
  const sibling = await connect(`${path}/sub/member/m2`);
  await Promise.all([child, grandchild, sibling].map((socket) => socket.next("member-welcome")));
  child.send({ type: "rpc", id: "1", method: "setMood", args: ["doomed"] });
  await child.next("rpc");
  expect(await room.dropMember("m")).toBe(false);
  expect(await child.ended).toEqual({ code: 1008, reason: "Sub-agent deleted" });
  expect(await grandchild.ended).toEqual({ code: 1008, reason: "Sub-agent deleted" });
  expect(await sibling.call("hello")).toMatchObject({ success: true });
  expect(await own.call("describe")).toMatchObject({ success: true });
  expect(await room.members()).toEqual(["m2"]);
  expect(await (await connect(`${path}/sub/member/m`)).next("cf_agent_state")).toMatchObject({
    state: { mood: "calm" }
  });
});

test("deleting or aborting a child that never was is not an error", async () => {
  const { room } = await openRoom();
  expect(await room.dropMember("never")).toBe(false);
  await room.abortMember("never");
  expect(await room.members()).toEqual([]);
});

test("an aborted child rejects what it was doing, keeps its storage and starts again", async () => {
  const clerk = await getAgentByName(env.Clerk, uniqueName());
  const cut = errorOf(() => clerk.below(["a"], "gated", "x"));
  await clerk.below(["a"], "seen", "gated:x");
  await clerk.stopChild("a");
  expect(await cut).toContain("stopped by its parent");
  expect(await clerk.below(["a"], "entries")).toEqual(["start", "gated:x", "start"]);
});

test("a client of an aborted child stays connected and finds it restarted", async () => {
  const { path, room } = await openRoom();
  const socket = await connect(`${path}/sub/member/m?_pk=c1`);
  await socket.call("remember", "seat 3");
  await room.abortMember("m");
  expect(await socket.call("recall")).toMatchObject({ result: "seat 3" });
});

test("parentAgent reaches the parent through facets, farther ancestors by level, and names the right class", async () => {
  const { room } = await openRoom();
  const a = await getSubAgentByName(room, Member, "a");
  expect(await a.askParent()).toBe("a room");
  expect(await plain(a.helloParentFromBelow("b"))).toMatchObject({ name: "a" });
  expect(await a.describeRootFromBelow("b")).toBe("a room");
  await evictAllDurableObjects();
  expect(await plain(a.helloParentFromBelow("b"))).toMatchObject({ name: "a" });
  expect(await errorOf(() => a.askParentFromBelow("b"))).toBe('The parent of this agent is a "Member", not a "Room".');
});

test("a child's schedule fires in the child through the root's alarm after both were evicted; a sibling cannot cancel it", async () => {
  const { room } = await openRoom();
  const [a, b] = [await getSubAgentByName(room, Member, "a"), await getSubAgentByName(room, Member, "b")];
  await b.reminders();
  // The platform's own alarm runs it: late enough that all of this happens before it.
  const id = await a.remindMe(2, "ding");
  expect(await alarmOf(room)).toBeGreaterThan(0);
  expect(await b.cancelReminder(id)).toBe(false);
  expect(await b.reminders()).toEqual([]);
  await evictAllDurableObjects();
  await expect
    .poll(async () => (await sqlOf(room, "SELECT key FROM cf_work WHERE kind = 'child-wake'")).length, {
      timeout: 10_000
    })
    .toBe(0);
  expect(await a.marks()).toEqual(["ding"]);
  expect(await alarmOf(room)).toBeNull();
});

test("a far schedule of a grandchild is the root's alarm, and cancelling it clears the alarm", async () => {
  const clerk = await getAgentByName(env.Clerk, uniqueName());
  const id = await clerk.below(["a", "b"], "book", 3_600, "record", "later");
  const at = (await alarmOf(clerk)) ?? 0;
  expect(at - Date.now()).toBeGreaterThan(3_500_000);
  await evictAllDurableObjects();
  expect(await clerk.below(["a", "b"], "cancelSchedule", id)).toBe(true);
  expect(await alarmOf(clerk)).toBeNull();
  expect(await runDurableObjectAlarm(clerk)).toBe(false);
});

test("a fiber of a grandchild that was cut off is recovered through the root's alarm, and its wake disappears", async () => {
  const name = uniqueName();
  const cut = errorOf(() => rawStub(env.Clerk, name).below(["a", "b"], "runGated", "deep"));
  await rawStub(env.Clerk, name).below(["a", "b"], "seen", "gated:deep");
  await abortAllDurableObjects();
  await cut;
  const root = rawStub(env.Clerk, name);
  expect(await sqlOf(root, "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toEqual([
    { key: '[["Clerk","a"],["Clerk","b"]]' }
  ]);
  // Due at the next heartbeat; the test cannot wait for it.
  await sqlOf(root, "UPDATE cf_work SET due_at = 1 WHERE kind = 'child-wake'");
  expect(await runDurableObjectAlarm(root)).toBe(true);
  expect(await root.below(["a", "b"], "entries")).toContain('recovered:deep:{"step":2}');
  await expect.poll(() => sqlOf(root, "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toEqual([]);
  expect(await alarmOf(root)).toBeNull();
});

test("destroy() of a child removes its schedules, wakes, registry row and storage, and those of its descendants", async () => {
  const { room } = await openRoom();
  const a = await getSubAgentByName(room, Member, "a");
  await a.mark("gone soon");
  await a.remindMe(60, "a");
  await a.nestAndRemind(["b"], 60);
  expect(await sqlOf(room, "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toHaveLength(2);
  // The caller may see the connection to the destroyed child break.
  await a.end().catch(() => undefined);
  await expect.poll(() => room.members()).toEqual([]);
  expect(await sqlOf(room, "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toEqual([]);
  expect(await alarmOf(room)).toBeNull();
  expect(await (await getSubAgentByName(room, Member, "a")).marks()).toEqual([]);
});

test("deleting a child leaves the schedules of siblings whose names look like patterns or paths of it", async () => {
  const { room } = await openRoom();
  const names = ["a", "a/b", "a%", 'a"', "a_"];
  for (const name of names) await (await getSubAgentByName(room, Member, name)).remindMe(3_600, name);
  await room.dropMember("a");
  expect(await sqlOf(room, "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toHaveLength(4);
  await (await getSubAgentByName(room, Member, "a")).mark("new");
  for (const name of names.slice(1)) {
    expect(await (await getSubAgentByName(room, Member, name)).reminders()).toHaveLength(1);
  }
});

test("routeSubAgentRequest forwards with the parent's say, and unknown methods of a child's stub are named", async () => {
  const { room } = await openRoom();
  const none = await routeSubAgentRequest(new Request("http://x/other"), room);
  expect(none.status).toBe(400);
  const routed = await routeSubAgentRequest(new Request("http://x/other?q=1"), room, { fromPath: "/sub/member/m/y" });
  expect(await routed.json()).toEqual({ member: "m", path: "/y", search: "?q=1" });
  const stub = await getSubAgentByName(room, Member, "m");
  expect(JSON.stringify(stub)).toBe("{}");
  const untyped: object = stub;
  const call = Reflect.get(untyped, "nonsense") as () => Promise<unknown>;
  expect(await errorOf(call)).toBe('Member has no method "nonsense".');
  const inherited = Reflect.get(untyped, "hasOwnProperty") as (name: string) => Promise<unknown>;
  expect(await errorOf(() => inherited("ctx"))).toBe('Member has no method "hasOwnProperty".');
});

test("a child's answer that is passed on and dropped keeps no agent awake", { timeout: 2_000 }, async () => {
  const { room } = await openRoom();
  const member = await getSubAgentByName(room, Member, "m");
  expect(await member.hello()).toMatchObject({ name: "m" });
  await evictAllDurableObjects();
  expect(await (await getSubAgentByName(room, Member, "m")).marks()).toEqual([]);
});

test("a child's answer that a parent's method returns keeps no agent awake", { timeout: 2_000 }, async () => {
  const { room } = await openRoom();
  expect(await room.spawnMember("m")).toMatchObject({ name: "m" });
  await evictAllDurableObjects();
  expect(await room.members()).toEqual(["m"]);
});

test("what a child's method returns is never mistaken for the tree's own answers", async () => {
  const child = await getSubAgentByName(await getAgentByName(env.Clerk, uniqueName()), Clerk, "a");
  expect(await plain(child.echo({ unknownChild: "a user's word" }))).toEqual({ unknownChild: "a user's word" });
});
