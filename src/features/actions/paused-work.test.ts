// Decided actions as durable work: runs that hang, die and are cut off, and wakes that come while they run.
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import type { PausedOutput } from "../../feature/approval-contract.ts";
import { Process, settle, World } from "./actions.test-support.ts";
import { action } from "./feature.ts";

let world: World;
/** What the next executions do. */
let behave: (ref: string) => unknown;
let keyOf: (ref: string) => string | Promise<string>;

const boot = () =>
  new Process(world, () => ({
    release: action({
      description: "Releases, once per reference.",
      inputSchema: z.object({ ref: z.string() }),
      kind: "durable-pause",
      idempotencyKey: ({ input }) => keyOf(input.ref),
      execute: ({ ref }) => {
        world.count(ref);
        return behave(ref);
      }
    })
  }));

const never = () => new Promise<never>(() => undefined);

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  world = new World(new DatabaseSync(":memory:"));
  behave = (ref) => `released ${ref}`;
  keyOf = (ref) => ref;
});

async function park(process: Process, ref: string, toolCallId = `call-${ref}`): Promise<string> {
  return ((await process.call("release", { ref }, { toolCallId })) as PausedOutput).executionId;
}

const claims = () => world.rows<{ claim: number }>("SELECT claim FROM cf_work ORDER BY id").map(({ claim }) => claim);

test("an action that has not returned is not run again by wakes, and holds up no other", async () => {
  const process = boot();
  const [slow, quick] = [await park(process, "slow"), await park(process, "quick")];
  behave = (ref) => (ref === "slow" ? never() : "quickly");
  void process.approve(slow);
  await settle();
  for (let wake = 0; wake < 5; wake += 1) {
    world.nowMs += 3_600_000;
    process.actions.ready();
    await process.actions.runDue();
    await settle();
  }
  expect(await process.approve(quick)).toBe("quickly");
  expect([world.effects, claims()]).toEqual([{ slow: 1, quick: 1 }, [1, 1]]);
});

test("a wake that comes while a decision is being written finds nothing to run twice", async () => {
  const process = boot();
  const executionId = await park(process, "main");
  const answers = Promise.all([process.approve(executionId), process.wake(), process.wake(), process.resume()]);
  expect((await answers)[0]).toBe("released main");
  expect([world.effects, claims()]).toEqual([{ main: 1 }, [1]]);
});

test("the same decision, sent while a start carries it out, is answered with what comes of it", async () => {
  const first = boot();
  const executionId = await park(first, "main");
  const inputHash = first.pending()[0]?.inputHash ?? "";
  keyOf = never;
  void first.approve(executionId, { inputHash });
  await settle();
  first.kill();
  const { promise, resolve } = Promise.withResolvers<string>();
  keyOf = () => promise;
  const process = boot();
  process.actions.ready();
  await settle();
  const again = process.approve(executionId, { inputHash });
  resolve("main");
  expect(await again).toBe("released main");
  expect(world.effects).toEqual({ main: 1 });
});

test("one whose process dies in it again and again is tried less and less often, and is not lost", async () => {
  const first = boot();
  const executionId = await park(first, "main");
  keyOf = never;
  void first.approve(executionId);
  await settle();
  first.kill();
  for (let death = 2; death <= 3; death += 1) {
    const process = boot();
    process.actions.ready();
    await settle();
    expect(claims()).toEqual([death]);
    process.kill();
  }
  keyOf = (ref) => ref;
  const process = boot();
  await process.resume();
  expect([claims(), process.nextWake()]).toEqual([[3], world.nowMs + 60_000]);
  world.nowMs += 60_000;
  await process.wake();
  await settle();
  expect([world.effects, process.nextWake()]).toEqual([{ main: 1 }, null]);
});

test("a decision over a conversation that is cleared before it is carried out is answered, and nothing runs", async () => {
  const process = boot();
  const executionId = await park(process, "main");
  const answer = process.approve(executionId);
  // The approver was asked, and the decision is stored; its run has not begun.
  while (world.rows("SELECT id FROM cf_work WHERE json_extract(payload, '$.state') = 'approved'").length === 0)
    await Promise.resolve();
  process.actions.cleared();
  expect(await answer).toMatchObject({ status: "error", executionId });
  await settle();
  expect([world.effects, world.rows("SELECT * FROM cf_work")]).toEqual([{}, []]);
});

test("what an operator says right after the answer that the outcome is unknown is found at once", async () => {
  const first = boot();
  const executionId = await park(first, "main");
  behave = never;
  void first.approve(executionId);
  await settle();
  first.kill();
  behave = (ref) => `released ${ref}`;
  const other = boot();
  const second = await park(other, "main", "call-2");
  expect(await other.approve(second)).toMatchObject({ error: { name: "ActionPendingError" } });
  other.actions.resolveActionLedger("action:release:main", { output: "it was done" });
  await settle();
  expect(other.nextWake()).toBeNull();
  expect(world.effects).toEqual({ main: 1 });
});

test("a decision over an agent that is destroyed before the action has returned is answered", async () => {
  const process = boot();
  const executionId = await park(process, "main");
  behave = never;
  const answer = process.approve(executionId);
  await settle();
  process.actions.stop();
  expect(await answer).toMatchObject({ status: "error", executionId });
  expect([world.effects, process.actions.nextWake()]).toEqual([{ main: 1 }, null]);
});
