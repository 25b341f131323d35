// A queue of turns: what one costs, and what others wait for, does not grow with it.
import { getEventListeners } from "node:events";
import { beforeEach, expect, test, vi } from "vitest";
import { failInBand, reply, stall, text } from "../testing/model/index.ts";
import { installedModel } from "../testing/model/installed-model.test-support.ts";
import { user, World } from "./engine.test-support.ts";
import { TurnStore } from "./store.ts";

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

test("of turns that are over the engine keeps nothing: not the turn, and no listener on the signal of its caller", async () => {
  const added = vi.spyOn(TurnStore.prototype, "add");
  const steps = [reply(text("one")), reply(failInBand("refused")), reply(text("three")), reply(stall())];
  const model = installedModel(steps);
  const world = new World({ model: () => model });
  // Of a caller that asks again and again, as a page or a workflow does.
  const { signal } = new AbortController();
  const statuses: string[] = [];
  for (const id of ["r1", "r2", "r3", "r4"]) {
    const ticket = world.engine.admit({ ...ask(id), signal });
    if (id === "r4") setImmediate(() => world.engine.cancel("r4"));
    statuses.push((await ticket.settled).status);
  }
  await new Promise(setImmediate);
  expect(statuses).toEqual(["completed", "error", "completed", "aborted"]);
  const [store] = added.mock.contexts as TurnStore[];
  const turns = added.mock.calls.map(([turn]) => turn);
  expect(turns).toHaveLength(4);
  const place = { firstSequence: 1, generation: 0 };
  expect(turns.map(({ turnId, requestId }) => store?.find({ turnId, requestId, ...place }))).toEqual(
    turns.map(() => undefined)
  );
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
