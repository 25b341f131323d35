import { evictDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import type { ClientSocket } from "./client-socket.ts";
import { connect, env, errorOf, fetchPath, rawStub, sqlOf, uniqueName } from "./world.ts";

/** Everything sent to the socket before this call has arrived when it returns. */
async function settle(...sockets: ClientSocket[]): Promise<number[]> {
  for (const socket of sockets) await socket.call("describe");
  return sockets.map((socket) => socket.frames.length);
}

test("a client's own push is not echoed but reaches every other protocol-enabled client once", async () => {
  const name = uniqueName();
  const paths = ["?_pk=a", "?_pk=b", "?_pk=c&silent"];
  const sockets = await Promise.all(paths.map((query) => connect(`/agents/room/${name}${query}`)));
  const [a, b, silent] = sockets as [ClientSocket, ClientSocket, ClientSocket];
  const before = await settle(a, b, silent);
  a.send({ type: "cf_agent_state", state: { count: 3 } });
  await b.next((frame) => frame.type === "cf_agent_state" && JSON.stringify(frame.state) === '{"count":3}');
  const after = await settle(a, b, silent);
  // Each settling call is one frame itself.
  expect(after.map((count, index) => count - before[index]! - 1)).toEqual([0, 1, 0]);
  const stub = rawStub(env.Room, name);
  expect(await stub.stateChanges()).toContainEqual([{ count: 3 }, "a"]);
  await evictDurableObject(stub);
  expect(await stub.read()).toEqual({ state: { count: 3 } });
});

test("several changes in one tick are one frame with the last value, before what is sent after them", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/room/${name}`);
  const [before] = await settle(socket);
  const stub = rawStub(env.Room, name);
  await stub.writeThrice();
  await socket.next("after");
  expect(socket.frames.slice(before)).toEqual([{ type: "cf_agent_state", state: { count: 3 } }, { type: "after" }]);
  await expect.poll(() => stub.stateChanges()).toHaveLength(4);
});

test("a refused state leaves disk, memory and other clients unchanged, and its sender is put right", async () => {
  const name = uniqueName();
  const [a, b] = await Promise.all([connect(`/agents/room/${name}?_pk=a`), connect(`/agents/room/${name}?_pk=b`)]);
  const [, before] = await settle(a, b);
  await a.next("cf_agent_state");
  a.send({ type: "cf_agent_state", state: { count: -1 } });
  expect(await a.next("cf_agent_state_error")).toEqual({
    type: "cf_agent_state_error",
    error: "State update rejected"
  });
  expect(await a.next("cf_agent_state")).toMatchObject({ state: { count: 0 } });
  const stub = rawStub(env.Room, name);
  expect(await errorOf(() => stub.write({ count: -2 }))).toBe("count must not be negative");
  expect(await settle(b)).toEqual([before! + 1]);
  expect(await sqlOf(stub, "SELECT json FROM cf_state")).toEqual([{ json: '{"count":0}' }]);
});

test("falsy states survive an eviction", async () => {
  for (const state of [null, 0, false, ""]) {
    const stub = rawStub(env.Room, uniqueName());
    await stub.write(state);
    await evictDurableObject(stub);
    expect(await stub.read()).toEqual({ state });
  }
});

test("calls are answered by id, unmarked and inherited methods are refused by name", async () => {
  const socket = await connect(`/agents/room/${uniqueName()}`);
  const refusals: [string, string][] = [
    ["notCallable", "Method notCallable is not callable"],
    ["missing", "Method missing does not exist"],
    ["destroy", "Method destroy is not callable"],
    ["internalCall", "Method internalCall is not callable"],
    ["fetch", "Method fetch is not callable"],
    ["constructor", "Method constructor is not callable"],
    ["fail", "as asked"],
    ["failOddly", "Unknown error occurred"]
  ];
  const answers = await Promise.all(refusals.map(([method]) => socket.call(method)));
  expect(answers.map(({ success, error }) => [success, error])).toEqual(refusals.map(([, error]) => [false, error]));
  expect(await socket.call("nothing")).toMatchObject({ success: true, done: true });
  expect(await socket.call("circular")).toMatchObject({ success: false });
});

test("a streaming call delivers chunks in order, then one end; a throw is one error; forgetting to end ends it", async () => {
  const socket = await connect(`/agents/room/${uniqueName()}`);
  const stream = async (method: string, ...args: unknown[]) => {
    const [before] = await settle(socket);
    await socket.call(method, ...args);
    await settle(socket);
    return socket.frames.slice(before, -1).map(({ success, result, done, error }) => [success, result ?? error, done]);
  };
  expect(await stream("count", 3)).toEqual([
    [true, 1, false],
    [true, 2, false],
    [true, 3, false],
    [true, "done", true]
  ]);
  expect(await stream("endTwice")).toEqual([[true, 1, true]]);
  expect(await stream("countThenThrow")).toEqual([
    [true, 1, false],
    [false, "half way", undefined]
  ]);
  expect(await stream("forgetToEnd")).toEqual([
    [true, "only", false],
    [true, undefined, true]
  ]);
});

test("a stream is told when its client leaves", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/room/${name}?_pk=c1`);
  socket.send({ type: "rpc", id: "1", method: "waitForClose", args: [] });
  await socket.next("rpc");
  socket.close(1000, "bye");
  expect(await socket.ended).toEqual({ code: 1000, reason: "bye" });
  const stub = rawStub(env.Room, name);
  await expect.poll(() => stub.entries()).toEqual(expect.arrayContaining(["stream-aborted", "close:c1:1000"]));
});

test("no stack, path or message of a failure reaches a client", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const name = uniqueName("strict");
  const response = await fetchPath(`/agents/room/${name}/boom`);
  expect([response.status, await response.text()]).toEqual([500, "Internal Server Error"]);
  const socket = await connect(`/agents/room/${name}?explode`);
  expect(await socket.ended).toEqual({ code: 1011, reason: "Uncaught exception during session setup" });
  expect(socket.frames.at(-1)).toEqual({ error: "Internal Server Error" });
  const wire = JSON.stringify(socket.frames);
  for (const secret of ["secret", ".ts", " at ", "stack"]) expect(wire).not.toContain(secret);
  // The log has what the client does not receive.
  expect(log.mock.calls.flat().some((part) => part instanceof Error && part.message === "secret stack")).toBe(true);
  log.mockRestore();
});

test("an onError that returns has handled the error: the request gets a plain 500 and the socket lives on", async () => {
  const name = uniqueName();
  const response = await fetchPath(`/agents/room/${name}/boom`);
  expect([response.status, await response.text()]).toEqual([500, "Internal Server Error"]);
  const socket = await connect(`/agents/room/${name}?explode`);
  socket.send("throw");
  expect(await socket.call("describe")).toMatchObject({ success: true });
  const entries = await rawStub(env.Room, name).entries();
  expect(entries).toEqual(expect.arrayContaining(["error:secret stack", "error:message handler failed"]));
});

test("if onStart throws once, that event fails and the next one starts the agent", async () => {
  const name = uniqueName("fail-once");
  expect((await fetchPath(`/agents/room/${name}/x`)).status).toBe(500);
  expect((await fetchPath(`/agents/room/${name}/x`)).status).toBe(200);
  const byStub = rawStub(env.Room, uniqueName("fail-once"));
  expect(await errorOf(() => byStub.describe())).toBe("first start fails");
  expect(await byStub.describe()).toBe("a room");
});
