// A queue of turns: what one costs, and what others wait for, does not grow with it.
import { beforeEach, expect, test, vi } from "vitest";
import { user, World } from "./engine.test-support.ts";
import { TurnStore, type EngineInit } from "./store.ts";

// What a broken disk says to the console is not what is tested.
beforeEach(() => void vi.spyOn(console, "error").mockReturnValue(undefined));

function ask(id: string) {
  return { requestId: id, trigger: "ws-chat", input: [user(`u-${id}`)] } as const;
}

test("what a turn left is durable before the next one of the queue begins", async () => {
  const order: string[] = [];
  const world: World = new World({
    model: () => {
      order.push("begins");
      throw new Error("no model");
    },
    durable: async () => {
      order.push(`durable with ${world.conversation.row.openTurns.length} open`);
      await Promise.resolve();
    }
  });
  const tickets = ["r1", "r2", "r3"].map((id) => world.engine.admit(ask(id)));
  await Promise.all(tickets.map(({ settled }) => settled));
  expect(order.filter((one) => one !== "durable with 3 open")).toEqual([
    "begins",
    "durable with 2 open",
    "begins",
    "durable with 1 open",
    "begins"
  ]);
});

test("a queue that cannot be made durable stops, and goes on with the next wake", async () => {
  let isBroken = true;
  const world = new World({
    model: () => {
      throw new Error("no model");
    },
    durable: async () => {
      if (isBroken) throw new Error("the disk is gone");
    }
  });
  const tickets = ["r1", "r2"].map((id) => world.engine.admit(ask(id)));
  await tickets[0]?.settled;
  await new Promise(setImmediate);
  expect(world.conversation.row.openTurns).toHaveLength(1);
  isBroken = false;
  world.engine.runDue();
  await tickets[1]?.settled;
  expect(world.conversation.row.openTurns).toHaveLength(0);
});

test("a turn that is over is not kept in memory", async () => {
  const model = Promise.withResolvers<never>();
  const world = new World({ model: () => model.promise });
  const { settled } = world.engine.admit(ask("r1"));
  const [open] = world.conversation.row.openTurns;
  const { conversation, journal } = world;
  const store = new TurnStore({ conversation, journal, ids: { next: () => "epoch" } } as EngineInit);
  const turn = open && store.find(open);
  if (!turn) throw new Error("The turn is open.");
  model.reject(new Error("no model"));
  await settled;
  store.forget(turn);
  expect(store.find(open)).toBeUndefined();
});
