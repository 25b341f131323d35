import { expect, test } from "vitest";
import { DurableObject, platformOf } from "#platform";
import * as node from "./inprocess/platform.ts";
import type * as workerd from "../host/workerd/platform.ts";
import { createTestHost } from "./index.ts";

class Greeter extends DurableObject<{ GREETING: string }> {
  override async fetch(request: Request) {
    return new Response(`${this.env.GREETING} ${this.ctx.id.name} ${new URL(request.url).search}`);
  }
  greet(name: string) {
    return `${this.env.GREETING}, ${name}`;
  }
  async nap(ms: number, signal?: AbortSignal) {
    const { clock } = platformOf(this.ctx);
    await clock.sleep(ms, signal);
    return clock.now();
  }
}

class Stranger extends DurableObject {}

const open = () => createTestHost({ agents: { GREETER_AGENT: Greeter }, env: { GREETING: "hello" }, now: 1_000 });

// Compiles only if every name has the type it has in workerd.
const platform: typeof workerd = node;

test("the Node platform has the names and types of the real one", () => {
  expect(Object.keys(platform).toSorted()).toEqual([
    "DurableObject",
    "WorkflowEntrypoint",
    "loading",
    "openSocketPair",
    "platformOf"
  ]);
});

test("stubs are typed by the class, and env holds bindings and variables", async () => {
  const host = open();
  const greeting: string = await (await host.get(Greeter, "a")).greet("you");
  expect(greeting).toBe("hello, you");
  expect(await host.env.GREETER_AGENT.getByName("b").greet("me")).toBe("hello, me");
  expect(host.env.GREETING).toBe("hello");
  await expect(host.get(Stranger, "a")).rejects.toThrow("Stranger is not one of this host's agents.");
});

test("requests go to the binding's kebab name, or through the worker that was given", async () => {
  const host = open();
  expect(await (await host.fetch("/agents/greeter-agent/a%20b?x=1")).text()).toBe("hello a b ?x=1");
  expect((await host.fetch("/agents/nobody/a")).status).toBe(400);
  const routed = createTestHost({
    agents: { Greeter },
    env: { GREETING: "hi" },
    worker: { fetch: async (request, env) => env.Greeter.getByName(new URL(request.url).pathname).fetch(request) }
  });
  expect(await (await routed.fetch("/any")).text()).toBe("hi /any ");
});

test("sleeps end in order of their time, at exactly that time", async () => {
  const host = open();
  const greeter = await host.get(Greeter, "a");
  const ends: number[] = [];
  for (const ms of [300, 100, 200]) void greeter.nap(ms).then((at) => ends.push(at));
  await host.advance(250);
  expect([ends, host.now]).toEqual([[1_100, 1_200], 1_250]);
  await host.advance(50);
  expect(ends).toEqual([1_100, 1_200, 1_300]);
});

test("an aborted sleep rejects with the signal's reason", async () => {
  const host = open();
  const greeter = await host.get(Greeter, "a");
  const controller = new AbortController();
  const napping = greeter.nap(1_000, controller.signal).catch((error: Error) => error.message);
  await host.idle();
  controller.abort(new Error("wake up"));
  expect(await napping).toBe("wake up");
  await expect(greeter.nap(1, AbortSignal.abort(new Error("never slept")))).rejects.toThrow("never slept");
});

test("idle waits for foreign promises that were registered", async () => {
  const host = open();
  let isDone = false;
  void host.external(new Promise<void>((resolve) => setTimeout(resolve, 5)).then(() => void (isDone = true)));
  await host.idle();
  expect(isDone).toBe(true);
});
