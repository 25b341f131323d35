// A parked action that is escalated, as durable work: what says so in a chat may hang, throw and take its time; wakes, decisions,
// restarts and the expiry come meanwhile.
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import type { PausedOutput } from "../../feature/approval-contract.ts";
import { Process, settle, World } from "./actions.test-support.ts";
import { action } from "./feature.ts";

const HOUR_MS = 3_600_000;
const never = () => new Promise<never>(() => undefined);

let world: World;
/** How often a chat was to say so. */
let said: number;
let say: () => Promise<void>;

const boot = (settings = {}) =>
  new Process(
    world,
    () => ({
      pay: action({
        description: "Pays.",
        inputSchema: z.object({ euros: z.number() }),
        kind: "durable-pause",
        approvals: { from: ["ann"], escalate: { after: "4 hours", to: ["boss"] } },
        execute: ({ euros }) => {
          world.count("paid");
          return euros;
        }
      })
    }),
    {
      settings,
      escalated: () => {
        said += 1;
        return say();
      }
    }
  );

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  world = new World(new DatabaseSync(":memory:"));
  said = 0;
  say = async () => undefined;
});

/** A call that is parked, and due to be escalated. */
async function overdue(settings = {}): Promise<{ process: Process; id: string }> {
  const process = boot(settings);
  const { executionId: id } = (await process.call("pay", { euros: 5 })) as PausedOutput;
  world.nowMs += 4 * HOUR_MS;
  return { process, id };
}

const escalations = () => world.eventTypes().filter((type) => type === "action:pause:escalated").length;

test("a decision is taken while a chat that is to say so does not answer", async () => {
  const { process, id } = await overdue();
  say = never;
  process.actions.ready();
  await process.actions.runDue();
  await settle();
  expect(said).toBe(1);
  expect(await process.approve(id, { by: "boss" })).toBe(5);
  await world.advance(HOUR_MS);
  await process.wake();
  expect([world.effects, said, escalations()]).toEqual([{ paid: 1 }, 1, 0]);
});

test("wakes that come meanwhile begin nothing anew; what has not answered in time is tried again after a minute", async () => {
  const { process } = await overdue();
  say = never;
  process.actions.ready();
  for (let wake = 0; wake < 5; wake += 1) {
    await process.actions.runDue();
    await settle();
  }
  expect([said, escalations()]).toEqual([1, 0]);
  await world.advance(30_000);
  say = async () => undefined;
  expect(process.nextWake()).toBe(world.nowMs + 60_000);
  await world.advance(60_000);
  await process.wake();
  await settle();
  expect([said, escalations()]).toEqual([2, 1]);
});

test("a chat that throws is tried again, and is not asked again once it has said so", async () => {
  const { process } = await overdue();
  say = async () => {
    throw new Error("down");
  };
  await process.wake();
  await settle();
  say = async () => undefined;
  world.nowMs += 60_000;
  await process.wake();
  await settle();
  world.nowMs += 24 * HOUR_MS;
  await process.wake();
  await boot().resume();
  expect([said, escalations()]).toEqual([2, 1]);
});

test("a process that dies in it says so again, and a decision that comes first ends it", async () => {
  const { process, id } = await overdue();
  say = never;
  process.actions.ready();
  await process.actions.runDue();
  await settle();
  process.kill();
  const next = boot();
  expect(await next.approve(id, { by: "boss" })).toBe(5);
  await next.resume();
  expect([world.effects, escalations()]).toEqual([{ paid: 1 }, 0]);
});

test("the expiry wins over a chat that does not answer", async () => {
  const { process, id } = await overdue({ actionPendingApprovalTtlMs: 4 * HOUR_MS + 1_000 });
  say = never;
  process.actions.ready();
  await process.actions.runDue();
  await settle();
  world.nowMs += 1_000;
  expect(await process.approve(id, { by: "boss" })).toMatchObject({ status: "error" });
  expect(process.pending()).toEqual([]);
  await world.advance(30_000 + 60_000);
  await process.wake();
  await settle();
  expect(world.eventTypes()).toContain("action:pause:swept");
  expect([world.effects, world.rows("SELECT * FROM cf_work")]).toEqual([{}, []]);
});
