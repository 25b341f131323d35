import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { HookOptions, HookResult, RoomState } from "../../clients/generation.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import { EventLog } from "./event-log.ts";
import { generations, roomWorker } from "./generations.ts";
import { renderHook } from "./hook-stage.ts";

let server: WorkerServer;
const mounted: { unmount(): void }[] = [];

beforeAll(async () => {
  server = await startWorker(roomWorker);
});
afterEach(() => {
  for (const component of mounted.splice(0)) component.unmount();
});

describe.each(generations)("useAgent of $version", (generation) => {
  let uniqueNames = 0;

  function newName(): string {
    uniqueNames += 1;
    return `${generation.version.replaceAll(/\W/g, "-")}-hook-${uniqueNames}`;
  }

  async function mount<State = RoomState>(options: Partial<HookOptions<State>> = {}) {
    const updates = new EventLog<[State, string]>();
    const refusals = new EventLog<string>();
    const useHook = () =>
      generation.useAgent<State>({
        host: new URL(server.url).host,
        agent: "Room",
        onStateUpdate: (state, source) => updates.add([state, source]),
        onStateUpdateError: refusals.add,
        ...options
      });
    const component = await renderHook(useHook, ({ agent, name, identified, state }: HookResult<State>) => {
      return { agent, name, identified, state };
    });
    mounted.push(component);
    await component.renders.find(({ identified, state }) => identified && state !== undefined);
    return { component, renders: component.renders, updates, refusals };
  }

  test("renders again with the identity and the state", async () => {
    const name = newName();
    const { component, renders } = await mount({ name });
    expect(renders.events[0]).toMatchObject({ identified: false, state: undefined });
    expect(renders.events.at(-1)).toEqual({ agent: "room", name, identified: true, state: { count: 0, note: "" } });
    await component.current.ready;
    expect(component.current.path.map((step) => step.name)).toEqual([name]);
    expect(component.current.getHttpUrl()).toContain(`/agents/room/${name}`);
  });

  test("renders what the server and other clients set", async () => {
    const name = newName();
    const [first, second] = [await mount({ name }), await mount({ name })];
    expect(await first.component.current.call("add", [4])).toBe(4);
    for (const { renders } of [first, second]) await renders.find(({ state }) => state?.count === 4);
    first.component.current.setState({ count: 4, note: "hello" });
    await first.renders.find(({ state }) => state?.note === "hello");
    await second.renders.find(({ state }) => state?.note === "hello");
    expect(first.updates.events.at(-1)).toEqual([{ count: 4, note: "hello" }, "client"]);
    expect(second.updates.events.at(-1)).toEqual([{ count: 4, note: "hello" }, "server"]);
  });

  test("calls methods, by name and through the stub, and learns why they failed", async () => {
    const { component } = await mount({ name: newName() });
    const agent = component.current;
    expect(await agent.call("echo", [{ deep: ["yes"] }])).toEqual({ deep: ["yes"] });
    expect(await Reflect.apply(agent.stub.add!, agent.stub, [2])).toBe(2);
    await expect(agent.call("fail", ["as asked"])).rejects.toThrow("as asked");
    await expect(agent.call("notCallable")).rejects.toThrow("Method notCallable is not callable");
  });

  test("gets a stream chunk by chunk, then its end", async () => {
    const { component } = await mount({ name: newName() });
    const seen: unknown[] = [];
    await component.current.call("countTo", [3], {
      stream: { onChunk: (chunk) => seen.push(chunk), onDone: (last) => seen.push(last) }
    });
    expect(seen).toEqual([1, 2, 3, { total: 3 }]);
  });

  test("shows the true state again when it may only read", async () => {
    const { component, renders, refusals } = await mount({ name: newName(), query: { role: "guest" } });
    const before = renders.events.length;
    component.current.setState({ count: 99, note: "forged" });
    expect(await refusals.find(() => true)).toBe("Connection is readonly");
    await renders.find(({ state }) => state?.count === 99, before);
    await renders.find(({ state }) => state?.count === 0, before);
    expect(component.current.state).toEqual({ count: 0, note: "" });
  });

  test("follows a sub-agent under its own name", async () => {
    const name = newName();
    const sub = [{ agent: "Desk", name: "by the/window" }];
    const { component, renders } = await mount<{ owner: string }>({ name, sub });
    expect(renders.events.at(-1)).toMatchObject({ agent: "desk", name: "by the/window", state: { owner: "nobody" } });
    expect(component.current.path.map((step) => step.name)).toEqual([name, "by the/window"]);
    expect(await component.current.call("take", ["ada"])).toBe(`ada at by the/window in ${name}`);
    await renders.find(({ state }) => state?.owner === "ada");
    const response = await fetch(component.current.getHttpUrl());
    expect([response.status, await response.text()]).toEqual([404, "Not implemented"]);
  });

  test("leaves when it is unmounted", async () => {
    const name = newName();
    const { component } = await mount({ name });
    const closed = new EventLog<number>();
    component.current.addEventListener("close", ({ code }) => closed.add(code));
    component.unmount();
    expect(await closed.find(() => true)).toBe(1000);
  });
});
