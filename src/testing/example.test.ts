import { test, expect } from "vitest";
import { Agent } from "../agent/index.ts";
import { createTestHost, everyCrash } from "./index.ts";

class Counter extends Agent<object, { count: number }> {
  override initialState = { count: 0 };
  increment() {
    this.setState({ count: this.state.count + 1 });
    return this.state.count;
  }
}
test("x", async () => {
  const host = createTestHost({ agents: { Counter } });
  const counter = await host.get(Counter, "a");
  await counter.increment();
  await host.restart(); // SIGKILL and boot
  expect(await (await host.get(Counter, "a")).increment()).toBe(2);
  console.log(
    await everyCrash({
      create: () => createTestHost({ agents: { Counter } }),
      script: async (host) => (await host.get(Counter, "a")).increment(),
      inspect: (host) => typeof host.now
    })
  );
});
