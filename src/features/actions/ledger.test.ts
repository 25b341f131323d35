import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { action } from "./feature.ts";
import { Process, settle, World } from "./actions.test-support.ts";

const inputSchema = z.object({ id: z.string() });
const DAY_MS = 24 * 60 * 60 * 1000;
let world: World;
/** What the running executions wait for. */
let gates: PromiseWithResolvers<unknown>[];

const actions = () => ({
  charge: action({
    description: "Charges once per invoice.",
    inputSchema,
    idempotencyKey: ({ input }) => `invoice:${input.id}`,
    execute: ({ id }) => ({ id, charged: world.count("charge") })
  }),
  slow: action({
    description: "Waits for the test.",
    inputSchema,
    idempotencyKey: ({ input }) => input.id,
    timeoutMs: 0,
    execute: () => {
      world.count("slow");
      const gate = Promise.withResolvers<unknown>();
      gates.push(gate);
      return gate.promise;
    }
  }),
  unkeyed: action({ description: "Has no key.", inputSchema, execute: () => world.count("unkeyed") }),
  silent: action({
    description: "Returns nothing.",
    inputSchema,
    idempotencyKey: "silent",
    execute: () => void world.count("silent")
  }),
  loose: action({
    description: "Takes any object.",
    inputSchema: z.record(z.string(), z.unknown()),
    idempotencyKey: "loose",
    execute: () => world.count("loose")
  }),
  long: action({
    description: "Returns more than is shown, and attaches.",
    inputSchema,
    idempotencyKey: ({ input }) => input.id,
    timeoutMs: 0,
    execute: async (_input, ctx) => {
      world.count("long");
      const gate = Promise.withResolvers<unknown>();
      gates.push(gate);
      ctx.attachReply({ type: "card" });
      return String(await gate.promise).repeat(30_000);
    }
  }),
  shared: action({
    description: "The same key for every input.",
    inputSchema,
    idempotencyKey: "shared",
    execute: () => world.count("shared")
  })
});

const boot = (settings = {}) => new Process(world, actions, { settings });

beforeEach(() => {
  world = new World(new DatabaseSync(":memory:"));
  gates = [];
});

describe("a key", () => {
  it("that is settled never runs again, in later turns, calls and processes", async () => {
    const first = await boot().call("charge", { id: "1" });
    expect(await boot().call("charge", { id: "1" }, { toolCallId: "call-2", turnId: "turn-2" })).toEqual(first);
    expect(world.effects).toEqual({ charge: 1 });
    expect(world.eventTypes()).toEqual(["action:ledger:settled", "action:ledger:replayed"]);
  });

  it("gives undefined back as undefined", async () => {
    expect(await boot().call("silent", { id: "1" })).toBeUndefined();
    expect(await boot().call("silent", { id: "1" }, { toolCallId: "call-2" })).toBeUndefined();
    expect(world.effects).toEqual({ silent: 1 });
  });

  it("with another input is a conflict that names key and action", async () => {
    const process = boot();
    await process.call("shared", { id: "1" });
    const output = await process.call("shared", { id: "2" }, { toolCallId: "call-2" });
    expect(output).toEqual({
      error: {
        name: "ActionKeyConflict",
        message: expect.stringMatching(/"action:shared:shared".*"shared".*not retry/s)
      }
    });
    expect(world.effects).toEqual({ shared: 1 });
  });

  it("does not depend on the order of the input's keys, however deep", async () => {
    const process = boot();
    await process.call("loose", { a: { x: 1, y: [{ p: 1, q: 2 }] }, b: 2 });
    const again = { b: 2, a: { y: [{ q: 2, p: 1 }], x: 1 } };
    expect(await process.call("loose", again, { toolCallId: "call-2" })).toBe(1);
    const other = { b: 2, a: { y: [{ q: 1, p: 2 }], x: 1 } };
    expect(await process.call("loose", other, { toolCallId: "call-3" })).toMatchObject({
      error: { name: "ActionKeyConflict" }
    });
    expect(world.effects).toEqual({ loose: 1 });
  });

  it("made of a call id that a provider uses again, with another input, does not get the earlier result", async () => {
    const process = boot();
    expect(await process.call("unkeyed", { id: "1" })).toBe(1);
    expect(await process.call("unkeyed", { id: "2" })).toMatchObject({ error: { name: "ActionKeyConflict" } });
    const call = { requestId: "request-of-turn-1", toolCallId: "call-1", toolName: "unkeyed" };
    expect(process.actions.lostOutcome({ ...call, input: { id: "1" } })).toEqual([1]);
    expect(process.actions.lostOutcome({ ...call, input: { id: "2" } })).toBeUndefined();
    expect(world.effects).toEqual({ unkeyed: 1 });
  });

  it("that is executing is waited for: one execution, the same value", async () => {
    const process = boot();
    const calls = [
      process.call("slow", { id: "1" }),
      process.call("slow", { id: "1" }, { toolCallId: "call-2" }),
      process.call("slow", { id: "1" }, { toolCallId: "call-3", turnId: "turn-2" })
    ];
    await settle();
    gates[0]?.resolve("done");
    expect(await Promise.all(calls)).toEqual(["done", "done", "done"]);
    expect(world.effects).toEqual({ slow: 1 });
  });

  it("that is executing is left alone when one who waits is cancelled", async () => {
    const process = boot();
    const controller = new AbortController();
    const owner = process.call("slow", { id: "1" });
    const waiting = process.call("slow", { id: "1" }, { toolCallId: "call-2", signal: controller.signal });
    await settle();
    controller.abort();
    expect(await waiting).toMatchObject({ error: { name: "AbortError" } });
    gates[0]?.resolve("done");
    expect(await owner).toBe("done");
  });

  it("that was left pending by a dead process is not run while it is fresh", async () => {
    const dead = boot();
    void dead.call("slow", { id: "1" });
    await settle();
    dead.kill();
    expect(await boot().call("slow", { id: "1" }, { toolCallId: "call-2" })).toMatchObject({
      error: { name: "ActionPendingError" }
    });
    expect(world.effects).toEqual({ slow: 1 });
  });

  it("that is stale runs once more, even under two concurrent calls", async () => {
    const dead = boot();
    void dead.call("slow", { id: "1" });
    await settle();
    dead.kill();
    await world.advance(300_001);
    const process = boot();
    const calls = ["call-2", "call-3"].map((toolCallId) => process.call("slow", { id: "1" }, { toolCallId }));
    await settle();
    gates[1]?.resolve("second");
    expect(await Promise.all(calls)).toEqual(["second", "second"]);
    expect(world.effects).toEqual({ slow: 2 });
    expect(world.events.find((event) => event.type === "action:ledger:reclaimed")?.payload).toMatchObject({
      action: "slow",
      key: "action:slow:1",
      ageMs: 300_001
    });
  });

  it("that is stale is never run again with the lease turned off", async () => {
    const dead = boot();
    void dead.call("slow", { id: "1" });
    await settle();
    dead.kill();
    await world.advance(90 * DAY_MS);
    const output = await boot({ actionLedgerPendingRetryLeaseMs: false }).call(
      "slow",
      { id: "1" },
      { toolCallId: "c" }
    );
    expect(output).toMatchObject({ error: { name: "ActionPendingError" } });
  });

  it("made of a call id never runs again, however old", async () => {
    world.sql(`INSERT INTO cf_action_ledger (key, action, input_hash, is_explicit, status, attempt, request_id,
      tool_call_id, started_at, leased_at) SELECT 'tool:request-of-turn-1:call-1', 'unkeyed', '', 0, 'pending', 1, 'r', 'call-1', 0, 0`);
    const [{ hash }] = [{ hash: await hashOf("unkeyed") }];
    world.sql("UPDATE cf_action_ledger SET input_hash = ? WHERE tool_call_id = 'call-1'", hash);
    world.nowMs += 80 * DAY_MS;
    const output = await boot({ actionLedgerRetention: { pendingMs: false } }).call("unkeyed", { id: "1" });
    expect(output).toMatchObject({ error: { name: "ActionPendingError" } });
    expect(world.effects).toEqual({});
  });

  it("whose effect keeps killing the process is given up", async () => {
    for (let attempt = 1; attempt <= 5; attempt++) {
      const dead = boot();
      void dead.call("slow", { id: "1" }, { toolCallId: `call-${attempt}` });
      await settle();
      dead.kill();
      await world.advance(300_001);
    }
    expect(world.effects).toEqual({ slow: 5 });
    expect(await boot().call("slow", { id: "1" }, { toolCallId: "call-6" })).toMatchObject({
      error: { name: "ActionPendingError" }
    });
    expect(boot().actions.listActionLedger()).toMatchObject([{ attempt: 5, effect: "unknown" }]);
  });
});

/** The hash the ledger gives to `{ id: "1" }`. */
async function hashOf(name: string): Promise<string> {
  const other = new World(new DatabaseSync(":memory:"));
  const before = world;
  world = other;
  await new Process(other, actions).call(name, { id: "1" });
  world = before;
  return other.rows<{ input_hash: string }>("SELECT input_hash FROM cf_action_ledger")[0]?.input_hash ?? "";
}

describe("a long execution", () => {
  it("keeps its lease: another incarnation does not run beside it", async () => {
    const first = boot();
    const running = first.call("slow", { id: "1" });
    await world.advance(900_000);
    const other = boot();
    expect(await other.call("slow", { id: "1" }, { toolCallId: "call-2" })).toMatchObject({
      error: { name: "ActionPendingError" }
    });
    gates[0]?.resolve("done");
    expect(await running).toBe("done");
    expect(await other.call("slow", { id: "1" }, { toolCallId: "call-3" })).toBe("done");
    expect(world.effects).toEqual({ slow: 1 });
    expect(world.timers).toEqual([]);
  });

  /** An execution that slept through its lease, and the one that took its key over. */
  async function overtaken(name: string) {
    const late = boot().call(name, { id: "1" });
    await settle();
    // Its timers are late, not gone.
    world.nowMs += 300_001;
    const process = boot();
    const second = process.call(name, { id: "1" }, { toolCallId: "call-2", turnId: "turn-2" });
    await settle();
    expect(process.actions.listActionLedger()).toMatchObject([{ status: "pending", attempt: 2 }]);
    return { late, second, process };
  }

  it("that lost its key to a later attempt can no longer settle it, and its result is dropped", async () => {
    const { late, second } = await overtaken("slow");
    gates[0]?.resolve("late");
    expect(await late).toMatchObject({ error: { name: "ActionPendingError" } });
    expect(boot().actions.listActionLedger()).toMatchObject([{ status: "pending", attempt: 2 }]);
    gates[1]?.resolve("second");
    await second;
    expect(boot().actions.listActionLedger()).toMatchObject([{ output: "second", attempt: 2 }]);
    expect(world.eventTypes().filter((type) => type === "action:ledger:settled")).toHaveLength(1);
  });

  it("that ends after the later attempt gives that one's result, and keeps nothing of its own", async () => {
    const { late, second, process } = await overtaken("long");
    gates[1]?.resolve("b");
    const result = await second;
    expect(result).toMatch(/^b/);
    gates[0]?.resolve("a");
    expect(await late).toBe(result);
    expect(world.rows("SELECT result_id FROM cf_action_results")).toHaveLength(1);
    expect(process.actions.attachmentsOf("turn-1")).toEqual([]);
    expect(process.actions.attachmentsOf("turn-2")).toEqual([{ type: "card" }]);
  });

  it("that lost its key and then fails does not release it: the later attempt still owns it", async () => {
    const { late, second, process } = await overtaken("slow");
    gates[0]?.reject(new Error("too late"));
    expect(await late).toMatchObject({ error: { message: "too late" } });
    expect(process.actions.listActionLedger()).toMatchObject([{ status: "pending", attempt: 2 }]);
    gates[1]?.resolve("second");
    expect(await second).toBe("second");
    expect(world.effects).toEqual({ slow: 2 });
  });

  it("that lost its key does not keep the lease of the later attempt alive", async () => {
    const { process } = await overtaken("slow");
    process.kill();
    await world.advance(300_001);
    const third = boot().call("slow", { id: "1" }, { toolCallId: "call-3" });
    await settle();
    gates[2]?.resolve("third");
    expect(await third).toBe("third");
    expect(world.effects).toEqual({ slow: 3 });
  });

  it("that is settled is not released or renewed by a late caller", async () => {
    const { late, second, process } = await overtaken("slow");
    gates[1]?.resolve("second");
    await second;
    gates[0]?.reject(new Error("too late"));
    await late;
    expect(process.actions.listActionLedger()).toMatchObject([{ status: "settled", output: "second" }]);
  });
});

describe("the ledger's list", () => {
  it("tells of each effect whether it ran, and of which call and input", async () => {
    const process = boot();
    await process.call("charge", { id: "1" }, { toolCallId: "c1" });
    void process.call("slow", { id: "2" }, { toolCallId: "c2" });
    await settle();
    expect(process.actions.listActionLedger()).toMatchObject([
      { key: "action:slow:2", status: "pending", effect: "running", attempt: 1, settledAt: null, toolCallId: "c2" },
      {
        key: "action:charge:invoice:1",
        status: "settled",
        effect: "ran",
        keyIsExplicit: true,
        inputHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        approver: null,
        requestId: "request-of-turn-1",
        output: { id: "1", charged: 1 }
      }
    ]);
    process.kill();
    expect(boot().actions.listActionLedger({ status: "pending" })).toMatchObject([{ effect: "unknown" }]);
  });

  it("comes in bounded pages, newest first", async () => {
    const process = boot();
    for (let id = 0; id < 5; id++) await process.call("charge", { id: `${id}` }, { toolCallId: `c${id}` });
    const first = process.actions.listActionLedger({ limit: 2 });
    expect(first.map((entry) => entry.toolCallId)).toEqual(["c4", "c3"]);
    expect(
      process.actions.listActionLedger({ limit: 2, before: first[1]!.id }).map((entry) => entry.toolCallId)
    ).toEqual(["c2", "c1"]);
    expect(process.actions.listActionLedger({ limit: -3 })).toHaveLength(1);
  });
});

describe("an operator", () => {
  const leavePending = async () => {
    const dead = boot();
    void dead.call("slow", { id: "1" });
    await settle();
    dead.kill();
    return boot();
  };

  it("can say what the outcome was", async () => {
    const process = await leavePending();
    expect(process.actions.resolveActionLedger("action:slow:1", { output: { paid: true }, by: "ada" })).toEqual({
      ok: true
    });
    expect(await process.call("slow", { id: "1" }, { toolCallId: "call-2" })).toEqual({ paid: true });
    expect(process.actions.listActionLedger()).toMatchObject([{ effect: "ran", approver: "ada" }]);
    expect(world.effects).toEqual({ slow: 1 });
  });

  it("can allow another try", async () => {
    const process = await leavePending();
    expect(process.actions.resolveActionLedger("action:slow:1", { retry: true })).toEqual({ ok: true });
    const retried = process.call("slow", { id: "1" }, { toolCallId: "call-2" });
    await settle();
    gates[1]?.resolve("again");
    expect(await retried).toBe("again");
  });

  it("cannot touch what is settled, running or unknown", async () => {
    const process = boot();
    await process.call("charge", { id: "1" });
    void process.call("slow", { id: "1" }, { toolCallId: "call-2" });
    await settle();
    const { actions } = process;
    expect(actions.resolveActionLedger("action:charge:invoice:1", { retry: true })).toEqual({
      ok: false,
      reason: "not-pending"
    });
    expect(actions.resolveActionLedger("action:slow:1", { retry: true })).toEqual({ ok: false, reason: "running" });
    expect(actions.resolveActionLedger("nothing", { output: 1 })).toEqual({ ok: false, reason: "not-found" });
  });
});

describe("the sweep", () => {
  it("removes old rows at a start and at most hourly, and tells how many", async () => {
    const process = boot();
    await process.call("charge", { id: "1" });
    void process.call("slow", { id: "1" }, { toolCallId: "call-2" });
    await settle();
    process.kill();
    world.nowMs += 30 * DAY_MS + 1;
    boot().actions.ready();
    expect(world.rows("SELECT key FROM cf_action_ledger")).toEqual([{ key: "action:slow:1" }]);
    world.nowMs += 60 * DAY_MS;
    boot().actions.ready();
    expect(world.rows("SELECT key FROM cf_action_ledger")).toEqual([]);
    const swept = world.events.filter((event) => event.type === "action:ledger:swept").map((event) => event.payload);
    expect(swept).toEqual([
      { settled: 1, pending: 0 },
      { settled: 0, pending: 1 }
    ]);
  });

  it("takes the oldest first, a bounded number at a time, and none where it is turned off", async () => {
    const process = boot();
    for (let id = 0; id < 5; id++) await process.call("charge", { id: `${id}` }, { toolCallId: `c${id}` });
    world.nowMs += 40 * DAY_MS;
    boot({ actionLedgerRetention: { settledMs: false } }).actions.ready();
    expect(world.rows("SELECT key FROM cf_action_ledger")).toHaveLength(5);
    boot({ actionLedgerRetention: { maxSweepRows: 2 } }).actions.ready();
    expect(world.rows("SELECT key FROM cf_action_ledger ORDER BY id")[0]).toEqual({ key: "action:charge:invoice:2" });
  });
});

it("a stored result that cannot be read any more is not a reason to run the effect again", async () => {
  await boot().call("charge", { id: "1" });
  world.sql("UPDATE cf_action_ledger SET output = '{broken'");
  expect(await boot().call("charge", { id: "1" }, { toolCallId: "call-2" })).toMatchObject({ serialized: false });
  expect(world.effects).toEqual({ charge: 1 });
});

it("an action writes its row twice: once to claim its key, once to settle it", async () => {
  const process = boot();
  await process.call("charge", { id: "0" }, { toolCallId: "c0" });
  const before = process.sql.rowsWritten;
  await process.call("charge", { id: "1" });
  // Without the two rows of this test's own transcript. Entries of the unique index are not counted here.
  expect(process.sql.rowsWritten - before - 2).toBe(2);
});
