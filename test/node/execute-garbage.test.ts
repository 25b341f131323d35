// One stored value of a run is garbage after a kill: its outcome is the undisturbed one, or an event names the row.
import { beforeEach, expect, test, vi } from "vitest";
import type { Connector } from "../../src/features/execute/index.ts";
import { subscribe } from "../../src/observe/index.ts";
import { planModel } from "../../src/testing/index.ts";
import { Coder, coder, messages, open, say, scene, type Host } from "./execute-kit.ts";
import { RECOVERED_MS } from "../kit/time.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const GARBAGE = '{"broken';
const CODE = `const a = await w.look({ n: 1 }); console.log("saw " + a);
  try { await w.bad({}) } catch (error) { console.log(error.message) }
  const b = await w.gated({ n: 2 }); [a, b]`;

/** The process dies in a call of the turn, while the code waits, or in the call after the approval. */
const MOMENTS = ["in its turn", "while it waits", "in the approved call"] as const;

async function died(moment: (typeof MOMENTS)[number]): Promise<Host> {
  const begun = Promise.withResolvers<void>();
  let isHeld = moment !== "while it waits";
  const connectors: Connector[] = [
    {
      name: () => "w",
      tools: () => ({
        look: {
          onUnknownOutcome: "retry",
          execute: async (args) => {
            if (moment === "in its turn") {
              begun.resolve();
              if (isHeld) await new Promise(() => undefined);
            }
            return (args as { n: number }).n;
          }
        },
        bad: {
          execute: () => {
            throw new Error("no");
          }
        },
        gated: {
          requiresApproval: true,
          onUnknownOutcome: "retry",
          execute: async () => {
            scene.effects.push("gated");
            begun.resolve();
            if (isHeld) await new Promise(() => undefined);
            return "done";
          }
        }
      })
    }
  ];
  const host = open([], { connectors });
  Object.assign(scene, {
    model: planModel({ go: [{ calls: [{ tool: "execute", input: { code: CODE } }] }, { text: "Over." }] })
  });
  if (moment === "in its turn") void say(host).catch(() => undefined);
  else await say(host);
  if (moment === "in the approved call") {
    const agent = await coder(host);
    const [asked] = await agent.pendingApprovals();
    void agent.approveExecution(asked?.executionId ?? "").catch(() => undefined);
  }
  if (moment !== "while it waits") await begun.promise;
  isHeld = false;
  return host;
}

async function ended(host: Host) {
  const events: string[] = [];
  const stop = subscribe("lifecycle", (event) => {
    if (event.type === "storage:row:quarantined") events.push(JSON.stringify(event));
  });
  await host.restart();
  const agent = await coder(host);
  await host.advance(RECOVERED_MS);
  for (const { executionId, inputHash = "" } of await agent.pendingApprovals())
    await agent.approveExecution(executionId, { inputHash });
  await host.advance(RECOVERED_MS);
  stop();
  const parts = (await messages(host)).flatMap(({ parts: all }) => all as { output?: { executionId?: string } }[]);
  const { executionId: _id, ...output } = parts.find((part) => part.output?.executionId !== undefined)?.output ?? {};
  const open = host.sql(
    Coder,
    "a",
    "SELECT id FROM cm_executions WHERE status IN ('running', 'paused') OR is_placed = 0"
  );
  return { output: output as Record<string, unknown>, events, open };
}

const CELLS = {
  cm_executions: [
    "status",
    "runtime",
    "code",
    "connectors",
    "logs",
    "tool_call_id",
    "turn_id",
    "request_id",
    "message_id"
  ],
  cm_log: ["connector", "method", "args", "result", "state"]
};
const points = MOMENTS.flatMap((moment) => [
  ...CELLS.cm_executions.map((column) => ({ moment, table: "cm_executions", column, where: "" })),
  ...CELLS.cm_log.flatMap((column) =>
    [0, 1, 2].map((seq) => ({ moment, table: "cm_log", column, where: ` WHERE seq = ${seq}` }))
  )
]);

test.each(points)("$column of $table is garbage $moment$where", async ({ moment, table, column, where }) => {
  const undisturbed = await ended(await died(moment));
  expect(undisturbed).toMatchObject({ output: { status: "completed", result: [1, "done"] }, events: [], open: [] });
  const host = await died(moment);
  host.sql(Coder, "a", `UPDATE ${table} SET ${column} = ?${where}`, GARBAGE);
  const disturbed = await ended(host);
  expect(disturbed.open).toEqual([]);
  if (disturbed.events.length === 0)
    expect(disturbed.output).toMatchObject({ ...undisturbed.output, logs: expect.anything() });
  else expect(disturbed.events.join()).toContain(`"table":"${table}"`);
});

test("a run whose status cannot be read ends with an error that the model reads, and a later run works", async () => {
  const host = await died("while it waits");
  host.sql(Coder, "a", "UPDATE cm_executions SET status = ?", GARBAGE);
  const { output, events } = await ended(host);
  expect(output).toMatchObject({ status: "error", error: expect.stringContaining("can no longer be read") });
  expect(events).toHaveLength(1);
  expect(scene.effects).toEqual([]);
  expect(host.sql(Coder, "a", "SELECT source FROM cf_quarantine")).toEqual([{ source: "cm_executions" }]);
});
