// A process that dies at any write of an action's life: nothing is run twice that must not be, nothing waits for ever,
// and result, kept value, attachments, transcript and continuation never exist without each other.
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { Crash } from "../../journal/memory-sql.test-support.ts";
import type { PausedOutput } from "../../feature/approval-contract.ts";
import { action } from "./feature.ts";
import { Process, settle, World } from "./actions.test-support.ts";

const inputSchema = z.object({ ref: z.string() });
const LONG = "z".repeat(30_000);
const MINUTES_MS = 60_000;
let world: World;

const actions = () => ({
  charge: action({
    description: "Charges, with a long result and an attachment.",
    inputSchema,
    idempotencyKey: ({ input }) => input.ref,
    execute: (_input, ctx) => {
      world.count("charge");
      ctx.attachReply({ type: "card" });
      return LONG;
    }
  }),
  unkeyed: action({ description: "Has no key.", inputSchema, execute: () => world.count("unkeyed") }),
  deploy: action({
    description: "Deploys after approval.",
    inputSchema,
    kind: "durable-pause",
    execute: () => world.count("deploy")
  }),
  release: action({
    description: "Releases after approval, once per reference.",
    inputSchema,
    kind: "durable-pause",
    idempotencyKey: ({ input }) => input.ref,
    execute: () => world.count("release")
  })
});

const boot = () => new Process(world, actions);

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

/** Runs `work` in a process that dies at its n-th write. True if it got that far. */
async function diesAt(n: number, work: (process: Process) => Promise<unknown>): Promise<boolean> {
  const process = boot();
  process.sql.crashAtWrite(n);
  const ended = work(process).then(
    () => false,
    (error: unknown) => {
      if (!(error instanceof Crash)) throw error;
      return true;
    }
  );
  await settle();
  const died = await Promise.race([ended, settle().then(() => true)]);
  const isDead = died || isDeadNow(process);
  process.kill();
  return isDead;
}

function isDeadNow(process: Process): boolean {
  try {
    process.sql.all("SELECT 1");
    return false;
  } catch {
    return true;
  }
}

/** Every point at which `work` can die, each in a world of its own. Returns how many there were. */
async function everyDeath(
  prepare: () => Promise<void>,
  work: (process: Process) => Promise<unknown>,
  check: (point: number) => Promise<void>
): Promise<number> {
  for (let point = 1; ; point++) {
    world = new World(new DatabaseSync(":memory:"));
    await prepare();
    if (!(await diesAt(point, work))) return point - 1;
    await check(point);
  }
}

/** What the engine does with a call whose outcome was not recorded. */
function interruptOpenCalls(): void {
  world.sql(`UPDATE test_calls SET state = 'resolved', output = '"interrupted"' WHERE state = 'open'`);
}

const paused = () => world.rows("SELECT tool_call_id FROM test_calls WHERE state = 'paused'");
const count = (table: string) => world.rows(`SELECT * FROM ${table}`).length;
const unfinished = () => count("cf_work WHERE settled_at IS NULL");
const nothing = async () => undefined;

/** Starts processes and moves time until nothing waits for a wake. */
async function recover(): Promise<Process> {
  interruptOpenCalls();
  const process = boot();
  await process.resume();
  for (let wakes = 0; wakes < 10; wakes++) {
    const wake = process.nextWake();
    if (wake === null || wake > world.nowMs + 30 * MINUTES_MS) break;
    world.nowMs = Math.max(world.nowMs + 1, wake);
    await process.wake();
  }
  return process;
}

describe("a call with an explicit key that dies at any write", () => {
  it("is not run while its effect is unknown, and is settled with everything that belongs to it", async () => {
    const points = await everyDeath(
      nothing,
      (process) => process.call("charge", { ref: "1" }),
      async () => {
        const ran = world.effects["charge"] ?? 0;
        const settledBefore = count("cf_action_results");
        expect(count("cf_action_attachments")).toBe(settledBefore);
        expect(world.rows("SELECT key FROM cf_action_ledger WHERE status = 'settled'")).toHaveLength(settledBefore);
        interruptOpenCalls();
        const early = await boot().call("charge", { ref: "1" }, { toolCallId: "call-2" });
        const isUnknown = world.rows("SELECT key FROM cf_action_ledger WHERE status = 'pending'").length === 1;
        if (isUnknown) {
          expect(early).toMatchObject({ error: { name: "ActionPendingError" } });
          expect(world.effects["charge"]).toBe(ran);
        }
        world.nowMs += 6 * MINUTES_MS;
        expect(await boot().call("charge", { ref: "1" }, { toolCallId: "call-3" })).toContain("read_result");
        expect(world.effects["charge"]).toBe(isUnknown ? ran + 1 : 1);
        expect([count("cf_action_results"), count("cf_action_attachments"), count("cf_blobs")]).toEqual([1, 1, 1]);
      }
    );
    expect(points).toBeGreaterThan(6);
  });
});

describe("a call without a key that dies at any write", () => {
  it("runs at most once under its call id", async () => {
    const points = await everyDeath(
      nothing,
      (process) => process.call("unkeyed", { ref: "1" }),
      async () => {
        world.nowMs += 60 * MINUTES_MS;
        await boot().call("unkeyed", { ref: "1" });
        expect(world.effects["unkeyed"] ?? 0).toBeLessThanOrEqual(1);
      }
    );
    expect(points).toBe(4);
  });
});

describe("parking that dies at any write", () => {
  it("leaves one question at most, and it is the one the transcript shows", async () => {
    const points = await everyDeath(
      nothing,
      (process) => process.call("deploy", { ref: "1" }),
      async () => {
        const process = await recover();
        // The model asks again where its call was interrupted.
        if (paused().length === 0) await process.call("deploy", { ref: "1" }, { toolCallId: "call-2" });
        const pending = process.pending();
        expect(pending).toHaveLength(1);
        await process.approve(pending[0]!.executionId);
        process.actions.settled({ turnId: "turn-1" });
        expect([world.effects["deploy"], paused(), unfinished()]).toEqual([1, [], 0]);
      }
    );
    expect(points).toBe(3);
  });
});

async function parked(name: "deploy" | "release"): Promise<void> {
  await boot().call(name, { ref: "1" });
}

const executionId = () =>
  (JSON.parse(world.rows<{ output: string }>("SELECT output FROM test_calls")[0]!.output) as PausedOutput).executionId;

/** However it went, the question is answered once, the conversation goes on once, and nothing is left to do. */
async function expectDecided(process: Process): Promise<void> {
  await settle();
  expect(paused()).toEqual([]);
  expect([unfinished(), count("test_turns"), count("test_notes")]).toEqual([0, 1, 0]);
  expect(process.nextWake()).toBeNull();
  expect(world.rows("SELECT key FROM cf_action_ledger").length).toBe(1);
}

describe.each(["deploy", "release"] as const)("approving %s and dying at any write", (name) => {
  it("ends in one outcome, one continuation and at most one effect, or in an unknown one that is reported", async () => {
    const points = await everyDeath(
      () => parked(name),
      (process) => process.approve(executionId(), { by: "ada" }),
      async () => {
        const ran = world.effects[name] ?? 0;
        const settledBefore = count("cf_action_ledger WHERE status = 'settled'");
        const process = await recover();
        // A decision that was not durable is not lost either: the question is still there.
        for (const { executionId: id } of process.pending()) await process.approve(id);
        await expectDecided(process);
        const isRerun = name === "release" && ran === 1 && settledBefore === 0;
        // Under a key of its own the effect may be run again after the lease; otherwise never.
        expect(world.effects[name] ?? 0).toBeLessThanOrEqual(isRerun ? 2 : 1);
        if (settledBefore === 1) expect(world.effects[name]).toBe(1);
      }
    );
    expect(points).toBeGreaterThan(4);
  });

  it("and dying again at any write of the recovery ends the same way", async () => {
    let pairs = 0;
    for (let second = 1; second <= 8; second++) {
      await everyDeath(
        () => parked(name),
        (process) => process.approve(executionId()),
        async () => {
          interruptOpenCalls();
          await diesAt(second, (process) => process.resume());
          const process = await recover();
          for (const { executionId: id } of process.pending()) await process.approve(id);
          await expectDecided(process);
          if (name === "deploy") expect(world.effects[name] ?? 0).toBeLessThanOrEqual(1);
          pairs += 1;
        }
      );
    }
    expect(pairs).toBeGreaterThan(30);
  });
});

describe("approving when the place of the outcome is gone, and dying at any write", () => {
  it("ends in one note, one continuation and one effect, or in an unknown one that is reported", async () => {
    let id = "";
    const points = await everyDeath(
      async () => {
        await parked("deploy");
        id = executionId();
        world.sql("DELETE FROM test_calls");
      },
      (process) => process.approve(id),
      async () => {
        const process = await recover();
        for (const { executionId: open } of process.pending()) await process.approve(open);
        await settle();
        expect([unfinished(), count("test_turns"), count("test_notes")]).toEqual([0, 1, 1]);
        expect(world.effects["deploy"] ?? 0).toBeLessThanOrEqual(1);
      }
    );
    expect(points).toBeGreaterThan(4);
  });
});

describe("rejecting and dying at any write", () => {
  it("ends in one rejection and one continuation, and runs nothing", async () => {
    const points = await everyDeath(
      () => parked("deploy"),
      (process) => process.reject(executionId(), { by: "ada", reason: "no" }),
      async () => {
        const process = await recover();
        for (const { executionId: id } of process.pending()) {
          await process.reject(id, { by: "ada", reason: "no" });
        }
        await expectDecided(process);
        expect(world.effects).toEqual({});
        expect(process.actions.listActionLedger()).toMatchObject([{ effect: "refused", approver: "ada" }]);
        expect(world.rows("SELECT output FROM test_calls")).toMatchObject([
          { output: expect.stringContaining('"reason":"no"') }
        ]);
      }
    );
    expect(points).toBeGreaterThan(3);
  });
});

describe("an expiry that dies at any write", () => {
  it("is done by the next process, and starts no turn", async () => {
    const points = await everyDeath(
      async () => {
        await parked("deploy");
        world.nowMs += 31 * 24 * 60 * MINUTES_MS;
      },
      (process) => process.wake(),
      async () => {
        const process = await recover();
        expect([paused(), unfinished(), count("test_turns")]).toEqual([[], 0, 0]);
        expect(process.nextWake()).toBeNull();
      }
    );
    expect(points).toBeGreaterThan(1);
  });
});
