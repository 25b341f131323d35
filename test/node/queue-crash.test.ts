// Items of the queue whose methods take long, throw and hang, killed at every write and await: each is called until it returned
// once, in the order of its method, and nothing is left.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Agent } from "../../src/agent-class/index.ts";
import { createTestHost, everyCrash } from "../../src/testing/index.ts";

/** What methods did, outside of the process. */
const world = { began: [] as string[], ended: [] as string[], ordered: new Set<string>() };
const METHODS = ["quick", "slow", "failing", "hanging"] as const;
/** The process in which a hanging method was called first. */
let isFirstLife = true;

class Desk extends Agent {
  async quick(item: string) {
    world.began.push(item);
    world.ended.push(item);
  }
  async slow(item: string) {
    world.began.push(item);
    await new Promise((resolve) => void setImmediate(resolve));
    world.ended.push(item);
  }
  async failing(item: string) {
    world.began.push(item);
    if (world.began.filter((one) => one === item).length === 1) throw new Error("not yet");
    world.ended.push(item);
  }
  async hanging(item: string) {
    world.began.push(item);
    if (isFirstLife) await new Promise(() => undefined);
    world.ended.push(item);
  }
  /** An order whose answer a crash cut off is repeated: such an item may be there twice. */
  async order() {
    for (const method of METHODS) for (const number of [1, 2]) await this.#orderOnce(method, `${method}-${number}`);
  }
  async #orderOnce(method: (typeof METHODS)[number], item: string) {
    if (world.ordered.has(item)) return;
    await this.queue(method, item);
    world.ordered.add(item);
  }
}

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

test("killed at every write and await, no item is lost, the order of each method holds, and one that hangs holds up no other", async () => {
  const { points } = await everyCrash({
    create: async () => {
      Object.assign(world, { began: [], ended: [], ordered: new Set() });
      isFirstLife = true;
      const host = createTestHost({ agents: { Desk } });
      await host.get(Desk, "a");
      return host;
    },
    script: async (host) => {
      await (await host.get(Desk, "a")).order();
      // A wake that comes while they run.
      await host.advance(31_000);
      expect(world.ended).not.toContain("hanging-1");
    },
    finish: async (host) => {
      isFirstLife = false;
      await host.restart();
      await (await host.get(Desk, "a")).order();
      await host.advance(600_000);
    },
    inspect: (host) => {
      for (const method of METHODS) {
        const ends = world.ended.filter((one) => one.startsWith(method));
        expect(ends.indexOf(`${method}-1`)).toBe(0);
        expect(ends.lastIndexOf(`${method}-1`)).toBeLessThan(ends.indexOf(`${method}-2`));
      }
      return [new Set(world.ended).size, host.sql(Desk, "a", "SELECT * FROM cf_work")];
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(10);
}, 120_000);
