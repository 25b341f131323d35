import { Agent } from "everthink/agent";
import { createTestHost, everyCrash } from "everthink/testing";
import { expect, test } from "vitest";

class Counter extends Agent<object, { count: number }> {
  override initialState = { count: 0 };

  add(amount: number) {
    this.setState({ count: this.state.count + amount });
    return this.state.count;
  }
}

test("the count survives a kill", async () => {
  const host = createTestHost({ agents: { Counter } });
  await (await host.get(Counter, "a")).add(1);
  await host.restart(); // SIGKILL and boot
  expect(await (await host.get(Counter, "a")).add(1)).toBe(2);
});

test("killed anywhere, an acknowledged amount is counted once", async () => {
  let answered = false;
  await everyCrash({
    create: () => {
      answered = false;
      return createTestHost({ agents: { Counter } });
    },
    script: async (host) => {
      await (await host.get(Counter, "a")).add(5);
      answered = true;
    },
    inspect: async (host) => {
      const count = await (await host.get(Counter, "a")).add(0);
      return answered ? count === 5 : count === 0 || count === 5;
    }
  });
});
