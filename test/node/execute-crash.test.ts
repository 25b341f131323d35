// Killed at any write of a run with an approval, it ends as the rules of its tools say; and code with calls side by side
// repeats itself whatever the host's latency.
import { beforeEach, expect, test, vi } from "vitest";
import type { Connector } from "../../src/features/execute/index.ts";
import { everyCrash, planModel } from "../../src/testing/index.ts";
import { Coder, coder, messages, open, say, scene, type Host } from "./execute-kit.ts";
import { RECOVERED_MS } from "../kit/time.ts";

// Every crash is reported by what was in the middle of something.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const CODE = `const a = await w.retried({}); let b; try { b = await w.once({}) } catch (e) { b = "unknown" }
  await w.gated({}); const c = await w.retried({}); "ended"`;
const count = (name: string) => scene.effects.filter((one) => one === name).length;

const connectors: Connector[] = [
  {
    name: () => "w",
    tools: () => ({
      retried: { onUnknownOutcome: "retry", execute: () => scene.effects.push("retried") },
      // Says nothing, and is not repeated.
      once: { execute: () => scene.effects.push("once") },
      gated: { requiresApproval: true, execute: () => scene.effects.push("gated") }
    })
  }
];

const plan = planModel({
  go: [{ calls: [{ tool: "execute", input: { code: CODE } }] }, { text: "Over." }]
});

/** What was pressed, by whatever process took it. */
let pressed: { readonly executionId: string; readonly inputHash: string }[] = [];

async function decideAll(host: Host): Promise<void> {
  const stub = await coder(host);
  for (const { executionId, mayHaveRun, inputHash = "" } of await stub.pendingExecutions()) {
    // The human looks outside whether it was done.
    if (mayHaveRun === true && count("gated") > 0)
      await stub.rejectExecution(executionId, "done already", { inputHash });
    else {
      pressed.push({ executionId, inputHash });
      await stub.approveExecution(executionId, { inputHash });
    }
  }
}

/** Pages that do not know what became of their decisions send them again; an old one does not name the question. */
async function repeatAll(host: Host): Promise<void> {
  const stub = await coder(host);
  for (const { executionId, inputHash } of pressed) {
    await stub.approveExecution(executionId, { inputHash });
    await stub.approveExecution(executionId);
  }
}

async function runState(host: Host) {
  const parts = (await messages(host)).flatMap(
    (message) => message.parts as object as { output?: { status?: string } }[]
  );
  return parts.find((one) => one.output?.status !== undefined)?.output;
}

test("31: killed at any write, each tool has run as often as its rule allows, and the run has one end", async () => {
  const { points } = await everyCrash({
    create: async () => {
      const host = open([], { connectors });
      Object.assign(scene, { model: plan });
      pressed = [];
      await coder(host);
      return host;
    },
    script: async (host) => {
      await say(host);
      await decideAll(host);
    },
    finish: async (host) => {
      await host.advance(RECOVERED_MS);
      await repeatAll(host);
      if ((await messages(host)).length === 0) await say(host);
      for (let round = 0; round < 4; round++) {
        await decideAll(host);
        await host.advance(RECOVERED_MS);
      }
    },
    inspect: async (host) => {
      const status = (await runState(host))?.status ?? "";
      // Killed before the run was recorded: the call was interrupted, nothing ran, and the model goes on with that.
      const isUnrecorded = host.sql(Coder, "a", "SELECT id FROM cm_executions").length === 0;
      if (isUnrecorded) {
        expect(scene.effects).toEqual([]);
        expect(JSON.stringify(await messages(host))).toContain("Over.");
        scene.effects.push("retried", "gated");
      }
      return {
        isEnded: isUnrecorded || ["completed", "rejected", "error"].includes(status),
        gated: count("gated"),
        isOnceAtMost: count("once") <= 1,
        isRetried: count("retried") >= 1 && count("retried") <= 3,
        open: host.sql(
          Coder,
          "a",
          "SELECT id FROM cm_executions WHERE status IN ('running', 'paused') OR is_placed = 0"
        ),
        waits: (await (await coder(host)).pendingApprovals()).length
      };
    },
    points: "writes"
  });
  expect(points).toBeGreaterThan(25);
}, 120_000);

test("28: calls side by side with a call that waits are repeated, whatever the latency", async () => {
  const wait = async (n: unknown) => {
    for (let turns = Math.floor(Math.random() * 40); turns > 0; turns--) await Promise.resolve();
    if (Math.random() < 0.3) await new Promise((resolve) => setImmediate(resolve));
    return n;
  };
  const world: Connector = {
    name: () => "world",
    tools: () => ({
      wait: { execute: (args) => wait((args as { n: number }).n) },
      gated: { requiresApproval: true, execute: (args) => wait((args as { n: number }).n) }
    })
  };
  const host = open([], { connectors: [world] });
  const times = process.env["EVERTHINK_LONG_TESTS"] ? 1_000 : 60;
  const outcomes = await (await coder(host)).repeat(times);
  expect(new Set(outcomes)).toEqual(new Set(["paused 1,2,3,4,5"]));
  expect(outcomes).toHaveLength(times);
}, 240_000);

test("a process that died several times in the same code is not sent into it again", async () => {
  const host = open([], { connectors });
  Object.assign(scene, { model: plan });
  await say(host);
  const [{ executionId } = { executionId: "" }] = await (await coder(host)).pendingExecutions();
  // As three dead processes would leave it: begun, and nothing added to its log.
  const progress = "(SELECT COUNT(*) + COUNT(settled_order) FROM cm_log)";
  host.sql(
    Coder,
    "a",
    `UPDATE cm_executions SET status = 'running', is_late = 1, is_placed = 0, idle_passes = 2, progress = ${progress}`
  );
  await host.restart();
  await coder(host);
  await host.advance(1_000);
  expect(await runState(host)).toMatchObject({
    executionId,
    status: "error",
    error: expect.stringContaining("not run again")
  });
  expect(count("gated")).toBe(0);
});

test("a run of a process that froze is ended and not repeated", async () => {
  const host = open([], { connectors });
  Object.assign(scene, { model: plan });
  await say(host);
  host.sql(Coder, "a", "UPDATE cm_executions SET status = 'running', is_late = 1, is_placed = 0, progress = -1");
  scene.frozenUntil = host.now + 1;
  await host.restart();
  await coder(host);
  await host.advance(1_000);
  expect(await runState(host)).toMatchObject({ status: "error", error: expect.stringContaining("did not answer") });
  expect([count("retried"), count("gated")]).toEqual([1, 0]);
});
