import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it, test, vi } from "vitest";
import { z } from "zod";
import type { ApprovalAuthorizationContext, PausedOutput } from "../../feature/approval-contract.ts";
import { action } from "./feature.ts";
import { Process, settle, World, type CallInit, type HostOverrides } from "./actions.test-support.ts";
import type { ActionContext } from "./descriptor.ts";
import { isPausedOutput, MAX_PARKED, MAX_PARKED_INPUT_BYTES } from "./parked.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const inputSchema = z.object({ ref: z.string() });
let world: World;
let contexts: ActionContext[];

const actions = () => ({
  deploy: action({
    description: "Deploy to production.",
    inputSchema,
    kind: "durable-pause",
    approvalSummary: "Deploy",
    approvalRisk: "high",
    permissions: ["deploy:run"],
    execute: ({ ref }, ctx) => {
      contexts.push(ctx);
      ctx.attachReply({ type: "card" });
      return { deployed: ref, times: world.count("deploy") };
    }
  }),
  release: action({
    description: "Releases, once per reference.",
    inputSchema,
    kind: "durable-pause",
    approval: ({ input }) => input.ref !== "minor",
    idempotencyKey: ({ input }) => input.ref,
    execute: ({ ref }) => {
      world.count("release");
      if (ref === "broken") throw new Error("no such reference");
      return ref === "endless" ? new Promise(() => undefined) : ref;
    }
  })
});

const boot = (overrides: HostOverrides = {}, map: () => ReturnType<typeof actions> | object = actions) =>
  new Process(world, () => map() as ReturnType<typeof actions>, overrides);

beforeEach(() => {
  world = new World(new DatabaseSync(":memory:"));
  contexts = [];
});

async function park(process: Process, init: CallInit & { name?: string; ref?: string } = {}): Promise<string> {
  const { name = "deploy", ref = "main", ...call } = init;
  const output = (await process.call(name, { ref }, call)) as PausedOutput;
  expect(output.status).toBe("paused");
  return output.executionId;
}

/** The transcript's part of a call. */
function part(toolCallId = "call-1"): unknown {
  const row = world
    .rows<{ tool_call_id: string; output: string }>("SELECT tool_call_id, output FROM test_calls")
    .find((call) => call.tool_call_id === toolCallId);
  return row?.output === undefined || row.output === null ? undefined : JSON.parse(row.output);
}

const turns = () => world.rows("SELECT execution_id FROM test_turns").length;
/** Of those that are not over. */
const rows = () =>
  world
    .rows<{ state: string }>("SELECT json_extract(payload, '$.state') AS state FROM cf_work WHERE settled_at IS NULL")
    .map((row) => row.state);

describe("a durable pause", () => {
  it("parks instead of running, and shows the model exactly what it needs to wait", async () => {
    const process = boot();
    const compiled = process.compile();
    const output = await compiled.tools["deploy"]?.execute?.(
      { ref: "main" },
      {
        toolCallId: "call-1",
        messages: [],
        context: undefined
      }
    );
    expect(output).toEqual({
      status: "paused",
      executionId: expect.stringMatching(/^actpause_/),
      action: "deploy",
      message: expect.any(String)
    });
    expect(isPausedOutput(output)).toBe(true);
    expect(world.effects).toEqual({});
    const descriptor = {
      requestId: "request-of-turn-1",
      toolCallId: "call-1",
      action: "deploy",
      summary: "Deploy",
      input: { ref: "main" },
      permissions: ["deploy:run"],
      risk: "high",
      kind: "durable-pause"
    };
    expect(compiled.descriptorOf("call-1")).toEqual(descriptor);
    const { executionId } = output as PausedOutput;
    expect(boot().pending()).toMatchObject([{ executionId, source: "action", descriptor }]);
    expect(world.events).toEqual([
      { type: "action:pause:created", payload: { action: "deploy", executionId, toolCallId: "call-1" } }
    ]);
  });

  it("whose predicate says no runs at once", async () => {
    expect(await boot().call("release", { ref: "minor" })).toBe("minor");
    expect(rows()).toEqual([]);
  });

  it("is denied before a person is asked", async () => {
    const grant = { allowed: true, grantedPermissions: [] };
    expect(await boot().call("deploy", { ref: "main" }, { grant })).toMatchObject({
      error: { name: "ActionAuthorizationError" }
    });
    expect(rows()).toEqual([]);
  });

  it("lists what waits, oldest first, or one of it", async () => {
    const process = boot();
    const first = await park(process);
    const second = await park(process, { toolCallId: "call-2" });
    expect(process.pending().map((approval) => approval.executionId)).toEqual([first, second]);
    expect(process.pending(second)).toHaveLength(1);
    expect(process.pending("actpause_none")).toEqual([]);
  });

  it("of the same call parks once", async () => {
    const process = boot();
    expect(await park(process)).toBe(await park(process));
    expect(rows()).toEqual(["parked"]);
    // Another input is another call, whatever id the provider gave it.
    expect(await park(process, { ref: "other" })).not.toBe(await park(process));
    expect(process.pending().map(({ descriptor }) => descriptor.input)).toEqual([{ ref: "main" }, { ref: "other" }]);
  });

  it("with a huge input, or beyond the limit of waiting ones, is refused, and the model is given the reason", async () => {
    const process = boot();
    expect(await process.call("deploy", { ref: "x".repeat(MAX_PARKED_INPUT_BYTES) })).toMatchObject({
      error: { name: "ActionParkingError" }
    });
    await park(process);
    world.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MAX_PARKED})
      INSERT INTO cf_work (kind, key, payload, created_at) SELECT 'paused-action', 'x' || i, '{}', 0 FROM n`);
    expect(await process.call("deploy", { ref: "other" }, { toolCallId: "call-2" })).toMatchObject({
      error: { name: "ActionParkingError" }
    });
  });
});

describe("approving", () => {
  it("runs the parked input once, puts the outcome in its place and lets the conversation go on", async () => {
    const executionId = await park(boot());
    const process = boot();
    const outcome = { deployed: "main", times: 1 };
    expect(await process.approve(executionId, { by: "ada" })).toEqual(outcome);
    expect(part()).toEqual(outcome);
    expect(turns()).toBe(1);
    expect(rows()).toEqual([]);
    expect(process.pending()).toEqual([]);
    expect(process.actions.replyAttachments()).toEqual([]);
    expect(contexts).toMatchObject([{ requestId: "request-of-turn-1", toolCallId: "call-1", messages: [] }]);
    expect(process.actions.listActionLedger()).toMatchObject([
      { key: "tool:request-of-turn-1:call-1", effect: "ran", approver: "ada" }
    ]);
    expect(world.eventTypes()).toContain("action:pause:approved");
  });

  it("what failed tells the model how it failed", async () => {
    const process = boot();
    const executionId = await park(process, { name: "release", ref: "broken" });
    const outcome = { error: { name: "Error", message: "no such reference" } };
    expect(await process.approve(executionId)).toEqual(outcome);
    expect(part()).toEqual(outcome);
    expect(turns()).toBe(1);
  });

  it("has exactly one winner among any who approve and reject at once", async () => {
    const process = boot();
    const executionId = await park(process);
    const answers = await Promise.all([
      process.approve(executionId),
      process.approve(executionId),
      process.reject(executionId),
      process.approve(executionId)
    ]);
    expect(answers[0]).toEqual({ deployed: "main", times: 1 });
    for (const loser of answers.slice(1)) expect(loser).toMatchObject({ status: "error", executionId });
    expect(world.effects).toEqual({ deploy: 1 });
    expect(await process.approve(executionId)).toMatchObject({ status: "error" });
    expect(turns()).toBe(1);
  });

  it("what does not exist is an answer, not a throw", async () => {
    expect(await boot().approve("actpause_none")).toEqual({
      status: "error",
      executionId: "actpause_none",
      error: expect.stringContaining("no longer pending")
    });
  });

  it("an action that no longer exists uses up the row and says so in the transcript", async () => {
    const executionId = await park(boot());
    const answer = await boot({}, () => ({})).approve(executionId);
    expect(answer).toEqual({ status: "error", executionId, action: "deploy", error: expect.any(String) });
    expect(part()).toEqual(answer);
    expect(rows()).toEqual([]);
  });

  it("another input than the one that was shown is refused, and the right one still can be", async () => {
    const process = boot();
    const executionId = await park(process);
    expect(await process.approve(executionId, { inputHash: "other" })).toMatchObject({ status: "error" });
    expect(rows()).toEqual(["parked"]);
    expect(await process.approve(executionId)).toMatchObject({ deployed: "main" });
  });

  it("may be denied to the caller, who is judged by the stored grant", async () => {
    const seen: ApprovalAuthorizationContext[] = [];
    const authorizeApproval = (context: ApprovalAuthorizationContext) => {
      seen.push(context);
      return context.by === "ada" || { allowed: false, reason: "Only Ada." };
    };
    const grant = { allowed: true, grantedPermissions: ["deploy:run"] };
    const executionId = await park(boot(), { grant });
    const process = boot({ authorizeApproval });
    expect(await process.approve(executionId, { by: "bob" })).toMatchObject({ error: "Only Ada." });
    expect(await process.reject(executionId, { by: "bob" })).toMatchObject({ error: "Only Ada." });
    expect(rows()).toEqual(["parked"]);
    expect(await process.approve(executionId, { by: "ada" })).toMatchObject({ deployed: "main" });
    expect(seen.map(({ decision, by, grant: stored }) => [decision, by, stored])).toEqual([
      ["approve", "bob", grant],
      ["reject", "bob", grant],
      ["approve", "ada", grant]
    ]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("The directory is down.");
      }
    ],
    ["rejects", () => Promise.reject(new Error("The directory is down."))],
    ["answers nothing", () => undefined as never],
    ["answers something else", () => "yes" as never]
  ])("is refused when authorizeApproval %s, and can be decided later", async (_how, authorizeApproval) => {
    const executionId = await park(boot());
    const process = boot({ authorizeApproval });
    expect(await process.approve(executionId)).toMatchObject({ status: "error", executionId });
    expect(await process.reject(executionId)).toMatchObject({ status: "error", executionId });
    expect([rows(), world.effects, turns()]).toEqual([["parked"], {}, 0]);
    expect(await boot().approve(executionId)).toMatchObject({ deployed: "main" });
  });

  it("two pauses of one explicit key runs the effect once", async () => {
    const process = boot();
    const first = await park(process, { name: "release" });
    const second = await park(process, { name: "release", toolCallId: "call-2" });
    expect(await Promise.all([process.approve(first), process.approve(second)])).toEqual(["main", "main"]);
    expect(world.effects).toEqual({ release: 1 });
    expect([part("call-1"), part("call-2")]).toEqual(["main", "main"]);
  });
});

describe("rejecting", () => {
  it("resolves the action without running it, and records who refused", async () => {
    const process = boot();
    const executionId = await park(process);
    const outcome = { status: "rejected", executionId, action: "deploy", reason: "Not this release" };
    expect(await process.reject(executionId, { reason: "Not this release", by: "ada" })).toEqual(outcome);
    expect(part()).toEqual(outcome);
    expect(turns()).toBe(1);
    expect(world.effects).toEqual({});
    expect(process.actions.listActionLedger()).toMatchObject([
      { key: `pause:${executionId}`, effect: "refused", approver: "ada", attempt: 0 }
    ]);
    expect(world.eventTypes()).toContain("action:pause:rejected");
  });

  it("without a reason has one", async () => {
    const process = boot();
    expect(await process.reject(await park(process))).toMatchObject({ reason: "Rejected by user" });
  });

  it("does not stand in the way of the same key later", async () => {
    const process = boot();
    await process.reject(await park(process, { name: "release" }));
    const again = await park(process, { name: "release", toolCallId: "call-2" });
    expect(await process.approve(again)).toBe("main");
  });
});

describe("the outcome", () => {
  it("is put into a note when its place is gone, and the conversation goes on", async () => {
    const process = boot();
    const executionId = await park(process);
    world.sql("DELETE FROM test_calls");
    await process.approve(executionId);
    expect(world.rows("SELECT text FROM test_notes")).toEqual([{ text: expect.stringContaining('"deployed":"main"') }]);
    expect(turns()).toBe(1);
  });

  it("waits for a message that is still being written", async () => {
    const process = boot();
    const executionId = await park(process);
    world.unstored.add("message-of-turn-1");
    expect(await process.approve(executionId)).toMatchObject({ deployed: "main" });
    expect([rows(), turns(), part()]).toEqual([["done"], 0, expect.objectContaining({ status: "paused" })]);
    world.unstored.clear();
    process.actions.settled({ turnId: "turn-1" });
    expect([rows(), turns(), part()]).toEqual([[], 1, { deployed: "main", times: 1 }]);
  });

  it("that waited finds its place after a restart too", async () => {
    const process = boot();
    const executionId = await park(process);
    world.unstored.add("message-of-turn-1");
    await process.reject(executionId);
    process.kill();
    world.unstored.clear();
    await boot().resume();
    expect([rows(), turns(), part()]).toEqual([[], 1, expect.objectContaining({ status: "rejected" })]);
  });

  it("of a conversation that was cleared goes nowhere", async () => {
    const process = boot();
    const executionId = await park(process, { name: "release", ref: "endless" });
    void process.approve(executionId);
    await settle();
    world.sql("DELETE FROM test_calls");
    process.actions.cleared();
    await world.advance(30_000);
    expect([rows(), turns(), world.rows("SELECT text FROM test_notes")]).toEqual([[], 0, []]);
  });
});

describe("a call that was cut off after it parked", () => {
  it("is no open question: it is not listed and cannot be approved", async () => {
    const process = boot();
    const executionId = await park(process);
    world.sql(`UPDATE test_calls SET state = 'resolved', output = '"interrupted"'`);
    expect(process.pending()).toEqual([]);
    expect(await process.approve(executionId)).toMatchObject({ status: "error" });
    expect([world.effects, rows(), part()]).toEqual([{}, [], "interrupted"]);
  });

  it("is forgotten when its turn ends", async () => {
    const process = boot();
    await park(process);
    world.sql(`UPDATE test_calls SET state = 'resolved', output = '"interrupted"'`);
    process.actions.settled({ turnId: "turn-1" });
    expect(rows()).toEqual([]);
  });
});

describe("an action that is never decided", () => {
  it("expires, says so in the transcript, and starts no turn", async () => {
    const process = boot();
    const executionId = await park(process);
    expect(process.nextWake()).toBe(world.nowMs + 30 * DAY_MS);
    world.nowMs += 30 * DAY_MS;
    expect(process.pending()).toEqual([]);
    await process.wake();
    expect(part()).toEqual({ status: "expired", executionId, action: "deploy" });
    expect([rows(), turns(), process.nextWake()]).toEqual([[], 0, null]);
    expect(world.events.at(-1)).toEqual({ type: "action:pause:swept", payload: { swept: 1 } });
    expect(await process.approve(executionId)).toMatchObject({ status: "error" });
  });

  it("expires also when the first call after its time is an approval", async () => {
    const process = boot();
    const executionId = await park(process);
    world.nowMs += 30 * DAY_MS;
    expect(await process.approve(executionId)).toMatchObject({ error: expect.stringContaining("expired") });
    expect(world.effects).toEqual({});
    expect(part()).toMatchObject({ status: "expired" });
  });

  it("waits for ever if the class says so, and needs no wake", async () => {
    const process = boot({ settings: { actionPendingApprovalTtlMs: false } });
    const executionId = await park(process);
    expect(process.nextWake()).toBeNull();
    world.nowMs += 1_000 * DAY_MS;
    await process.resume();
    expect(await process.approve(executionId)).toMatchObject({ deployed: "main" });
  });
});

describe("after a death while the approved action ran", () => {
  async function dieRunning(name: "deploy" | "release"): Promise<void> {
    const process = boot({}, () => {
      const map = actions();
      const endless = { ...map[name].config, execute: () => new Promise(() => void world.count(name)) };
      return { ...map, [name]: action(endless as typeof map.deploy.config) };
    });
    const executionId = await park(process, { name });
    void process.approve(executionId, { by: "ada" }).catch(() => undefined);
    await settle();
    expect(world.effects).toEqual({ [name]: 1 });
    expect(process.nextWake()).toBe(world.nowMs + 30_000);
    process.kill();
  }

  it("one without a key of its own is never run again: the model reads that its outcome is unknown", async () => {
    await dieRunning("deploy");
    await boot().resume();
    expect(part()).toMatchObject({ error: { name: "ActionPendingError" } });
    expect([world.effects, rows(), turns()]).toEqual([{ deploy: 1 }, [], 1]);
  });

  it("one with a key completes once its lease ran out", async () => {
    await dieRunning("release");
    const process = boot();
    await process.resume();
    expect(rows()).toEqual(["approved"]);
    const wake = process.nextWake();
    expect(wake).toBe(world.nowMs + 300_001);
    world.nowMs = wake ?? 0;
    await process.wake();
    expect(part()).toBe("main");
    expect([world.effects, rows(), turns()]).toEqual([{ release: 2 }, [], 1]);
    expect(process.actions.listActionLedger()).toMatchObject([{ attempt: 2, approver: "ada", effect: "ran" }]);
  });

  it("an operator's word about the key ends the waiting", async () => {
    await dieRunning("release");
    const process = boot();
    await process.resume();
    expect(process.actions.resolveActionLedger("action:release:main", { output: "it was done" })).toEqual({ ok: true });
    await settle();
    expect(part()).toBe("it was done");
    expect(world.effects).toEqual({ release: 1 });
  });

  it("and only it goes on with what an operator says: other approvals wait as before", async () => {
    await dieRunning("release");
    const process = boot();
    await process.resume();
    const waiting = await park(process, { toolCallId: "call-2" });
    process.actions.resolveActionLedger("action:release:main", { output: "it was done" });
    await settle();
    expect(process.pending().map(({ executionId }) => executionId)).toEqual([waiting]);
    expect(part("call-2")).toMatchObject({ status: "paused" });
    expect(world.eventTypes()).not.toContain("action:pause:swept");
    expect(await process.approve(waiting)).toMatchObject({ deployed: "main" });
  });
});

test("a row that cannot be read is set aside, the transcript says so, and everything else goes on", async () => {
  const process = boot();
  const executionId = await park(process);
  const other = await park(process, { toolCallId: "call-2" });
  world.sql(
    "UPDATE cf_work SET payload = json_set(payload, '$.descriptor.input.ref', 'evil') WHERE key = ?",
    executionId
  );
  expect(process.pending().map((approval) => approval.executionId)).toEqual([other]);
  expect(await process.approve(executionId)).toMatchObject({ status: "error" });
  expect(part()).toMatchObject({ status: "error", executionId });
  expect(world.rows("SELECT source, row_key FROM cf_quarantine")).toEqual([
    { source: "cf_work", row_key: `paused-action:${executionId}` }
  ]);
  expect(await process.approve(other)).toMatchObject({ deployed: "main" });
});

test("an outcome that cannot be stored is tried again", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const process = boot();
  const executionId = await park(process);
  world.sql("ALTER TABLE test_turns RENAME TO elsewhere");
  expect(await process.approve(executionId)).toMatchObject({ status: "error", executionId });
  world.sql("ALTER TABLE elsewhere RENAME TO test_turns");
  expect(logged).toHaveBeenCalledOnce();
  logged.mockRestore();
  await settle();
  world.nowMs = process.nextWake() ?? 0;
  await process.wake();
  expect([part(), world.effects, turns(), rows()]).toEqual([{ deployed: "main", times: 1 }, { deploy: 1 }, 1, []]);
});
