import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Client, ClientOptions, RoomState } from "../../clients/generation.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import { EventLog } from "./event-log.ts";
import { generations, roomWorker } from "./generations.ts";

let server: WorkerServer;
const open: { close(): void }[] = [];

beforeAll(async () => {
  server = await startWorker(roomWorker);
});
afterEach(() => {
  for (const client of open.splice(0)) client.close();
});

type Update = [state: RoomState, source: string];

describe.each(generations)("AgentClient of $version", (generation) => {
  let uniqueNames = 0;

  function newName(): string {
    uniqueNames += 1;
    return `${generation.version.replaceAll(/\W/g, "-")}-${uniqueNames}`;
  }

  async function connect<State = RoomState>(
    options: Partial<ClientOptions<State>> = {}
  ): Promise<Client<State> & { updates: EventLog<[State, string]>; refusals: EventLog<string> }> {
    const updates = new EventLog<[State, string]>();
    const refusals = new EventLog<string>();
    const client = generation.connect<State>({
      host: new URL(server.url).host,
      agent: "Room",
      onStateUpdate: (state, source) => updates.add([state, source]),
      onStateUpdateError: refusals.add,
      ...options
    });
    open.push(client);
    await client.ready;
    return Object.assign(client, { updates, refusals });
  }

  test("is ready once it knows who it talks to, and has the state", async () => {
    const name = newName();
    const identities: string[][] = [];
    const client = await connect({ name, onIdentity: (...identity) => identities.push(identity) });
    expect([client.identified, client.name, client.agent]).toEqual([true, name, "room"]);
    await client.updates.find(() => true);
    expect(client.state).toEqual({ count: 0, note: "" });
    expect(identities).toEqual([[name, "room"]]);
  });

  test("learns the name the server chose when the server routes", async () => {
    const client = await connect({ basePath: "mine" });
    expect([client.name, client.agent]).toEqual(["chosen-by-the-server", "room"]);
  });

  test("sees what the server sets, and so does everybody else", async () => {
    const name = newName();
    const [first, second] = [await connect({ name }), await connect({ name })];
    expect(await first.call("add", [5])).toBe(5);
    const seen: Update = [{ count: 5, note: "" }, "server"];
    for (const { updates } of [first, second]) expect(await updates.find(([{ count }]) => count === 5)).toEqual(seen);
    expect(second.state).toEqual(seen[0]);
  });

  test("sets the state for everybody else without hearing it back", async () => {
    const name = newName();
    const [writer, reader] = [await connect({ name }), await connect({ name })];
    await writer.updates.find(() => true);
    writer.setState({ count: 7, note: "mine" });
    expect(await reader.updates.find(([{ count }]) => count === 7)).toEqual([{ count: 7, note: "mine" }, "server"]);
    // The answer to a later call comes after anything the server had to say about the state.
    expect(await writer.call("echo", [1])).toBe(1);
    expect(writer.updates.events.slice(1)).toEqual([[{ count: 7, note: "mine" }, "client"]]);
    const late = await connect({ name });
    expect(await late.updates.find(() => true)).toEqual([{ count: 7, note: "mine" }, "server"]);
  });

  test("gets what methods return, also nothing, and why they failed", async () => {
    const client = await connect({ name: newName() });
    const deep = { list: [1, "two", null], flag: true, text: "grüße 🌍" };
    expect(await client.call("echo", [deep])).toEqual(deep);
    expect(await client.call("nothing")).toBeUndefined();
    await expect(client.call("fail", ["as asked"])).rejects.toThrow("as asked");
    await expect(client.call("notCallable")).rejects.toThrow("Method notCallable is not callable");
    await expect(client.call("missing")).rejects.toThrow("Method missing does not exist");
  });

  test("has calls answered as they finish, not as they were made", async () => {
    const client = await connect({ name: newName() });
    const held = client.call("hold", ["door"]);
    expect(await client.call("echo", ["quick"])).toBe("quick");
    expect(await client.call("release", ["door"])).toBe(true);
    expect(await held).toBe("released door");
  });

  test("gets a stream chunk by chunk, then its end", async () => {
    const client = await connect({ name: newName() });
    const seen: unknown[] = [];
    const result = await client.call("countTo", [4], {
      stream: { onChunk: (chunk) => seen.push(chunk), onDone: (last) => seen.push({ done: last }) }
    });
    expect(seen).toEqual([1, 2, 3, 4, { done: { total: 4 } }]);
    expect(result).toEqual({ total: 4 });
  });

  test("gets the chunks of a stream that fails, then its error", async () => {
    const client = await connect({ name: newName() });
    const seen: unknown[] = [];
    const call = client.call("failHalfway", [], {
      stream: { onChunk: (chunk) => seen.push(chunk), onError: (error) => seen.push({ error }) }
    });
    await expect(call).rejects.toThrow("no second half");
    expect(seen).toEqual(["first half", { error: "no second half" }]);
  });

  test("offers the agent's methods under their own names and types", async () => {
    const client = generation.connectToRoom({ host: new URL(server.url).host, agent: "Room", name: newName() });
    open.push(client);
    expect(await client.stub.add(2)).toBe(2);
    expect(await client.stub.echo(["a", 1])).toEqual(["a", 1]);
  });

  test("is told that it may only read, and shows the true state again", async () => {
    const name = newName();
    const guest = await connect({ name, query: { role: "guest" } });
    const member = await connect({ name });
    await guest.updates.find(() => true);
    guest.setState({ count: 99, note: "forged" });
    expect(await guest.refusals.find(() => true)).toBe("Connection is readonly");
    await guest.updates.find(([{ count }, source]) => count === 0 && source === "server", 1);
    expect(guest.state).toEqual({ count: 0, note: "" });
    await expect(guest.call("add", [1])).rejects.toThrow("Connection is readonly");
    expect(await guest.call("echo", ["still allowed"])).toBe("still allowed");
    await member.call("add", [3]);
    await guest.updates.find(([{ count }]) => count === 3);
    expect(member.updates.events.map(([{ count }]) => count)).not.toContain(99);
  });

  test("is told that a state was rejected, but not the server's reason", async () => {
    const client = await connect({ name: newName() });
    client.setState({ count: 1, note: "much longer than a note may be" });
    expect(await client.refusals.find(() => true)).toBe("State update rejected");
    await client.updates.find(([{ note }, source]) => note === "" && source === "server", 1);
    expect(client.state).toEqual({ count: 0, note: "" });
  });

  test("reaches a sub-agent by path: its identity, state and methods, not the parent's", async () => {
    const name = newName();
    const room = await connect({ name });
    const path = `sub/desk/${encodeURIComponent("by the/window")}`;
    const desk = await connect<{ owner: string }>({ name, path });
    expect([desk.name, desk.agent]).toEqual(["by the/window", "desk"]);
    expect(await desk.call("take", ["ada"])).toBe(`ada at by the/window in ${name}`);
    expect(await desk.updates.find(([{ owner }]) => owner === "ada")).toEqual([{ owner: "ada" }, "server"]);
    await room.call("add", [1]);
    expect(await desk.call("take", ["bo"])).toContain("bo at");
    expect(desk.updates.events.filter(([state]) => "count" in state)).toEqual([]);
    expect(room.updates.events.filter(([state]) => "owner" in state)).toEqual([]);
    expect(await room.call("desks")).toEqual(["by the/window"]);
  });

  test("is told the code and reason of a close that is for good", async () => {
    const errors = new EventLog<{ code: number }>();
    const client = await connect({ name: newName(), onConnectionError: errors.add });
    const closes = new EventLog<[number, string]>();
    client.addEventListener("close", ({ code, reason }) => closes.add([code, reason]));
    // The socket may close before the answer is out.
    await client.call("expel").catch(() => undefined);
    expect(await closes.find(() => true)).toEqual([4001, "expelled"]);
    // The older generation has no word for it.
    if (generation.reportsFinalClose) expect(await errors.find(() => true)).toMatchObject({ code: 4001 });
  });

  test("fetches over HTTP, with path, query, method and body", async () => {
    const name = newName();
    const target = { host: new URL(server.url).host, agent: "Room", name };
    const read = await generation.fetch({ ...target, path: "files/a", query: { page: "2" } });
    const pathname = `/agents/room/${name}`;
    expect(await read.json()).toMatchObject({
      name,
      method: "GET",
      pathname: `${pathname}/files/a`,
      query: [["page", "2"]]
    });
    const written = await generation.fetch(target, { method: "POST", body: "hello" });
    expect(await written.json()).toMatchObject({ name, method: "POST", pathname, body: "hello" });
  });
});
