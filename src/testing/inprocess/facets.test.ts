// Objects inside objects.
import { expect, test } from "vitest";
import { DurableObject, openSocketPair } from "#platform";
import { createTestHost } from "../index.ts";
import { standIn } from "./stand-in.ts";

type ChildStub = DurableObjectStub<Child>;
type Class = DurableObjectClass<Child> & ((options: { props: unknown }) => DurableObjectClass<Child>);

class Child extends DurableObject {
  memory = 0;

  who() {
    return { id: this.ctx.id.toString(), name: this.ctx.id.name, props: this.ctx.props as object };
  }
  write(value: string) {
    this.ctx.storage.kv.put("value", value);
    return ++this.memory;
  }
  read() {
    return { value: this.ctx.storage.kv.get<string>("value"), memory: this.memory };
  }
  async nest(depth: number): Promise<string> {
    if (depth === 0) return "reached";
    const exports = standIn<{ Child: Class }>(this.ctx.exports);
    const child = this.ctx.facets.get<Child>("below", () => ({ class: exports.Child }));
    await standIn<ChildStub>(child).write("below");
    return standIn<ChildStub>(child).nest(depth - 1);
  }
  async setAlarm() {
    try {
      await this.ctx.storage.setAlarm(1e15);
    } catch {
      return "caught";
    }
    return "set";
  }
  override alarm() {}
  stop() {
    this.ctx.abort("facet stops");
  }
  forever() {
    return new Promise<void>(() => {});
  }
  async callBack(parent: string) {
    return standIn<{ Parent: DurableObjectNamespace<Parent> }>(this.env).Parent.getByName(parent).ping();
  }
  override fetch() {
    const { server, response } = openSocketPair();
    this.ctx.acceptWebSocket(server);
    return response;
  }
  override webSocketMessage(socket: WebSocket, message: string) {
    socket.send(`${message} ${++this.memory} ${JSON.stringify(this.ctx.props)}`);
  }
}

class Parent extends DurableObject {
  starts = 0;

  child(name: string, options: { props?: object; id?: string } = {}): ChildStub {
    const exports = standIn<{ Child: Class }>(this.ctx.exports);
    const stub = this.ctx.facets.get<Child>(name, async () => {
      this.starts++;
      const { props, id } = options;
      return {
        class: props === undefined ? exports.Child : exports.Child({ props }),
        ...(id === undefined ? {} : { id })
      };
    });
    return standIn<ChildStub>(stub);
  }
  ping() {
    return "pong";
  }
  startCount() {
    return this.starts;
  }
  lazily() {
    this.child("lazy");
    return this.starts;
  }
  async who(name: string, options: { props?: object; id?: string }) {
    return { ...(await this.child(name, options).who()) };
  }
  write(name: string, value: string) {
    return this.child(name).write(value);
  }
  async read(name: string) {
    return { ...(await this.child(name).read()) };
  }
  nest(depth: number) {
    return this.child("top").nest(depth);
  }
  setAlarm() {
    return this.child("timer").setAlarm();
  }
  callBack() {
    return this.child("caller").callBack(this.ctx.id.name ?? "");
  }
  async abortChild() {
    const stub = this.child("victim");
    await stub.write("kept");
    const running = stub.forever().catch((error: Error) => `running: ${error.message}`);
    this.ctx.facets.abort("victim", new Error("because"));
    const held = await stub.read().catch((error: Error) => `held: ${error.message}`);
    return [await running, held, { ...(await this.child("victim").read()) }];
  }
  async childAborts() {
    const failure = await this.child("own")
      .stop()
      .then(String, (error: Error) => error.message);
    return [failure, this.ping()];
  }
  remove(name: string) {
    this.ctx.facets.delete(name);
  }
  wipe() {
    return this.ctx.storage.deleteAll();
  }
  stop() {
    this.ctx.abort("parent stops");
  }
  async misuse() {
    const failures: string[] = [];
    const note = (error: unknown) => void failures.push(String(error));
    try {
      this.child("x".repeat(257));
    } catch (error) {
      note(error);
    }
    const start = (name: string, startup: () => never) => standIn<ChildStub>(this.ctx.facets.get<Child>(name, startup));
    await start("bad", () => ({ class: 5 }) as never)
      .read()
      .catch(note);
    await start("throws", () => {
      throw new Error("no start");
    })
      .read()
      .catch(note);
    return failures;
  }
  leak() {
    return standIn<string>(this.child("leaked"));
  }
  override fetch(request: Request) {
    return this.child("socket", { props: { seat: 1 } }).fetch(request);
  }
}

const open = () => createTestHost({ agents: { Parent }, exports: [Child] });
const parent = (host: ReturnType<typeof open>) => host.get(Parent, "p");

test("a facet starts at its first call, once, and keeps its own storage over a restart", async () => {
  const host = open();
  const root = await parent(host);
  expect(await root.lazily()).toBe(0);
  expect(await root.write("a", "one")).toBe(1);
  expect(await root.write("a", "two")).toBe(2);
  expect(await root.startCount()).toBe(1);
  await host.restart();
  expect(await (await parent(host)).read("a")).toEqual({ value: "two", memory: 0 });
  expect(host.sql(Parent, "p", { path: ["a"] }, "SELECT key FROM _cf_KV")).toEqual([{ key: "value" }]);
  expect(() => host.sql(Parent, "p", { path: ["b"] }, "SELECT 1")).toThrow("No facet was ever started");
});

test("a facet has its parent's id unless it is given one, and the props of its class reference", async () => {
  const host = open();
  const root = await parent(host);
  const plain = await root.who("plain", {});
  expect(plain).toEqual({ id: expect.stringMatching(/^[0-9a-f]{64}$/), name: "p", props: {} });
  expect(await root.who("own", { id: "my-id", props: { z: 1 } })).toEqual({
    id: "my-id",
    name: undefined,
    props: { z: 1 }
  });
});

test("facets nest to a depth of four with the root, and not deeper", async () => {
  const root = await parent(open());
  expect(await root.nest(2)).toBe("reached");
  await expect(root.nest(3)).rejects.toThrow("The maximum depth including the root Durable Object is 4.");
});

test("setAlarm in a facet fails past its own try/catch", async () => {
  await expect((await parent(open())).setAlarm()).rejects.toThrow("Facets currently cannot set alarms.");
});

test("a facet can call its parent while the parent waits for it", async () => {
  expect(await (await parent(open())).callBack()).toBe("pong");
});

test("abort rejects running calls with the reason, breaks held stubs, keeps storage", async () => {
  expect(await (await parent(open())).abortChild()).toEqual([
    "running: because",
    "held: because",
    { value: "kept", memory: 0 }
  ]);
});

test("a facet that aborts itself does not take the parent down; an aborted parent takes its facets", async () => {
  const host = open();
  const root = await parent(host);
  expect(await root.childAborts()).toEqual(["facet stops", "pong"]);
  await root.write("a", "x");
  await expect(root.stop()).rejects.toThrow("parent stops");
  expect(await (await parent(host)).read("a")).toEqual({ value: "x", memory: 0 });
});

test("delete wipes the facet and what is below it; the parent's deleteAll leaves facets alone", async () => {
  const host = open();
  const root = await parent(host);
  await root.nest(1);
  await root.write("kept", "x");
  await root.wipe();
  await root.remove("top");
  await root.remove("never existed");
  expect(await root.read("kept")).toMatchObject({ value: "x" });
  expect(await root.read("top")).toEqual({ value: undefined, memory: 0 });
  expect(() => host.sql(Parent, "p", { path: ["top", "below"] }, "SELECT 1")).toThrow("No facet was ever started");
});

test("evicting the parent leaves facets in memory; evictAll does not", async () => {
  const host = open();
  const root = await parent(host);
  await root.write("a", "x");
  await host.evict(Parent, "p");
  expect(await root.read("a")).toMatchObject({ memory: 1 });
  await host.evictAll();
  expect(await root.read("a")).toMatchObject({ memory: 0 });
});

test("a facet's hibernating socket wakes the facet again, as the class it was", async () => {
  const host = open();
  const socket = await host.connect("/agents/parent/p");
  socket.send("one");
  socket.send("two");
  await host.idle();
  await host.evictAll();
  socket.send("three");
  await host.idle();
  expect(socket.frames).toEqual(['one 1 {"seat":1}', 'two 2 {"seat":1}', 'three 1 {"seat":1}']);
});

test("bad names, bad classes and failing starts are refused; a facet stub cannot leave its parent", async () => {
  const root = await parent(open());
  expect(await root.misuse()).toEqual([
    "TypeError: Facet name is too long (max 256 characters).",
    expect.stringContaining("Incorrect type for the 'class' field on 'StartupOptions'"),
    "Error: no start"
  ]);
  await expect(root.leak()).rejects.toThrow("Stubs pointing to Durable Object facets are not serializable.");
});
