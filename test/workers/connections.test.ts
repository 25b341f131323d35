import { evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { connect, env, inside, rawStub, uniqueName } from "./world.ts";

const CONNECT_FRAMES = ["cf_agent_identity", "cf_agent_state", "cf_agent_mcp_servers", "welcome"];
const ONE_MEGABYTE = 1_000_000;

test("connecting yields exactly one identity, one state and one MCP frame, identity first", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/room/${name}?_pk=c1`);
  await socket.call("describe");
  expect(socket.types).toEqual([...CONNECT_FRAMES, "rpc"]);
  expect(socket.frames[0]).toEqual({ type: "cf_agent_identity", name, agent: "room", stateFollows: true });
  expect(socket.frames[1]).toEqual({ type: "cf_agent_state", state: { count: 0 } });
});

test.each([undefined, 1000, 4001])(
  "a client that closes with code %s is answered, and does not wait for the end",
  async (code) => {
    const socket = await connect(`/agents/room/${uniqueName()}`);
    await socket.call("describe");
    socket.close(code);
    expect((await socket.ended).code).toBe(code ?? 1005);
  }
);

test("an agent without state sends identity and MCP frames and does not promise a state", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/a-i-assistant/${name}`);
  await socket.call("plain");
  expect(socket.types).toEqual(["cf_agent_identity", "cf_agent_mcp_servers", "rpc"]);
  expect(socket.frames[0]).toEqual({ type: "cf_agent_identity", name, agent: "marked" });
});

test("many clients that connect at once each get one complete greeting, the first ones of a cold object included", async () => {
  const name = uniqueName();
  const sockets = await Promise.all(Array.from({ length: 10 }, (_, n) => connect(`/agents/room/${name}?_pk=c${n}`)));
  for (const socket of sockets) {
    await socket.call("describe");
    expect(socket.types).toEqual([...CONNECT_FRAMES, "rpc"]);
  }
  const entries = await rawStub(env.Room, name).entries();
  expect(entries.filter((entry) => entry.startsWith("start:"))).toHaveLength(1);
});

test("a silent connection gets no protocol frame, then or later or after an eviction, and can still call", async () => {
  const name = uniqueName();
  const silent = await connect(`/agents/room/${name}?silent`);
  const other = await connect(`/agents/room/${name}`);
  await other.call("increment", 2);
  await silent.call("describe");
  await evictDurableObject(rawStub(env.Room, name));
  await other.call("increment", 2);
  await silent.call("describe");
  expect(silent.types).toEqual(["welcome", "rpc", "rpc"]);
});

test("after an eviction a message starts the agent without onConnect, and the connection is intact", async () => {
  const name = uniqueName();
  const path = `/agents/room/${name}?_pk=c1&tag=red&readonly`;
  const socket = await connect(path);
  await socket.call("remember", { seat: 3 });
  const stub = rawStub(env.Room, name);
  await evictDurableObject(stub);
  const { result } = await socket.call("recall");
  const uri: unknown = expect.stringContaining(path);
  expect(result).toEqual({ state: { seat: 3 }, tags: ["c1", "red"], readonly: true, uri });
  expect(await socket.call("touchState")).toMatchObject({ success: false, error: "Connection is readonly" });
  expect(await stub.connectionIds("red")).toEqual(["c1"]);
  expect(await stub.entries()).toEqual(["start:", "connect:c1", "start:"]);
});

test("an evicted agent reaches its clients before any of them speaks", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/room/${name}?_pk=c1`);
  await socket.next("welcome");
  const stub = rawStub(env.Room, name);
  await evictDurableObject(stub);
  await stub.shout('{"type":"first-word"}');
  await socket.next("first-word");
});

test("a client that leaves an evicted agent is reported with its code and no longer listed", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/room/${name}?_pk=c1`);
  await socket.next("welcome");
  const stub = rawStub(env.Room, name);
  await evictDurableObject(stub);
  socket.close(4001, "bye");
  expect(await socket.ended).toEqual({ code: 4001, reason: "bye" });
  await expect.poll(() => stub.entries()).toContain("close:c1:4001");
  expect(await stub.connectionIds()).toEqual([]);
});

test("concurrent calls each see their own connection", async () => {
  const name = uniqueName();
  const ids = Array.from({ length: 8 }, (_, n) => `c${n}`);
  const sockets = await Promise.all(ids.map((id) => connect(`/agents/room/${name}?_pk=${id}`)));
  const answers = await Promise.all(sockets.map((socket) => socket.call("whoAmI")));
  expect(answers.map(({ result }) => result)).toEqual(ids.map((id) => [id, id, true]));
});

test("a call over a stub has an agent but no connection, also while a client's call runs", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/room/${name}?_pk=c1`);
  const [byStub, byClient] = await Promise.all([rawStub(env.Room, name).whoAmI(), socket.call("whoAmI")]);
  expect(byStub).toEqual([undefined, undefined, true]);
  expect(byClient).toMatchObject({ result: ["c1", "c1", true] });
});

test("connections are listed in the order they came, and an id shared by two sockets means the newer one", async () => {
  const name = uniqueName();
  for (const query of ["_pk=a", "_pk=b", "_pk=c", "_pk=a&newer"]) {
    await (await connect(`/agents/room/${name}?${query}`)).next("welcome");
  }
  const stub = rawStub(env.Room, name);
  const newest = () => inside(stub, (room) => room.getConnection("a")?.uri.endsWith("&newer"));
  expect(await stub.connectionIds()).toEqual(["a", "b", "c", "a"]);
  expect(await newest()).toBe(true);
  await evictDurableObject(stub);
  expect(await stub.connectionIds()).toEqual(["a", "b", "c", "a"]);
  expect(await newest()).toBe(true);
});

test("two live sockets with one client id both receive, and closing one leaves the other intact", async () => {
  const name = uniqueName();
  const old = await connect(`/agents/room/${name}?_pk=same&readonly`);
  const fresh = await connect(`/agents/room/${name}?_pk=same`);
  const stub = rawStub(env.Room, name);
  await stub.shout('{"type":"hi"}');
  await Promise.all([old.next("hi"), fresh.next("hi")]);
  old.close(1000);
  await old.ended;
  expect(await fresh.call("recall")).toMatchObject({ result: { readonly: false } });
  expect(await stub.connectionIds()).toEqual(["same"]);
});

test("malformed, huge and binary frames break neither their own connection nor another", async () => {
  const name = uniqueName();
  const [rude, calm] = await Promise.all([connect(`/agents/room/${name}`), connect(`/agents/room/${name}`)]);
  const malformed = [
    '{"type":"rpc"}',
    '{"type":"rpc","id":1,"method":"describe","args":[]}',
    "null",
    "[]",
    "{",
    "",
    "\0"
  ];
  for (const frame of malformed) rude.send(frame);
  for (const { length } of malformed) {
    expect(await rude.next("echo")).toEqual({ type: "echo", kind: "text", size: length });
  }
  rude.send("x".repeat(ONE_MEGABYTE));
  expect(await rude.next("echo")).toEqual({ type: "echo", kind: "text", size: ONE_MEGABYTE });
  rude.send(new Uint8Array(ONE_MEGABYTE));
  expect(await rude.next("echo")).toEqual({ type: "echo", kind: "binary", size: ONE_MEGABYTE });
  rude.send({ type: "rpc", id: "big", method: "describe", args: ["x".repeat(ONE_MEGABYTE)] });
  expect(await rude.next("rpc")).toMatchObject({ id: "big", success: true });
  rude.send("throw");
  expect(await rude.call("describe")).toMatchObject({ success: true });
  expect(await calm.call("describe")).toMatchObject({ success: true });
  expect(calm.types).toEqual([...CONNECT_FRAMES, "rpc"]);
});

test("a state of one megabyte reaches every client, and one that cannot be stored is refused without harm", async () => {
  const name = uniqueName();
  const [writer, reader] = await Promise.all([connect(`/agents/room/${name}`), connect(`/agents/room/${name}`)]);
  await Promise.all([writer.next("welcome"), reader.next("welcome")]);
  await reader.next("cf_agent_state");
  writer.send({ type: "cf_agent_state", state: { count: 1, note: "x".repeat(ONE_MEGABYTE) } });
  expect(await reader.next("cf_agent_state")).toMatchObject({ state: { count: 1 } });
  writer.send({ type: "cf_agent_state", state: { count: 2, note: "x".repeat(2 * ONE_MEGABYTE) } });
  expect(await writer.next("cf_agent_state_error")).toMatchObject({ error: "State update rejected" });
  expect(
    await writer.next((frame) => frame.type === "cf_agent_state" && JSON.stringify(frame).includes('"count":1'))
  ).toBeDefined();
  expect(await reader.call("describe")).toMatchObject({ success: true });
});

test("a connection state that is too large is refused by name and the connection keeps its old one", async () => {
  const socket = await connect(`/agents/room/${uniqueName()}?_pk=c1`);
  await socket.call("remember", "small");
  const refused = await socket.call("remember", "x".repeat(20_000));
  expect(refused).toMatchObject({ success: false, error: "The connection's state is too large to keep." });
  expect(await socket.call("recall")).toMatchObject({ result: { state: "small" } });
});

test("connections are found by tag, and bad tags fail the upgrade without detail", async () => {
  const name = uniqueName("strict");
  await connect(`/agents/room/${name}?_pk=a&tag=red&tag=blue`);
  await connect(`/agents/room/${name}?_pk=b&tag=red`);
  const stub = rawStub(env.Room, name);
  expect((await stub.connectionIds("red")).sort()).toEqual(["a", "b"]);
  expect(await stub.connectionIds("blue")).toEqual(["a"]);
  const tooMany = Array.from({ length: 10 }, (_, n) => `tag=t${n}`).join("&");
  const refused = await connect(`/agents/room/${name}?${tooMany}`);
  expect(await refused.ended).toEqual({ code: 1011, reason: "Uncaught exception during session setup" });
  expect(refused.frames).toEqual([{ error: "Internal Server Error" }]);
});
