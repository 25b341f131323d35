// Runs of code that wait or go on after their turn: wakes that come meanwhile, an expiry that dies, connectors that hang.
import { beforeEach, expect, test, vi } from "vitest";
import type { Connector } from "../../src/features/execute/index.ts";
import { everyCrash, reply, text } from "../../src/testing/index.ts";
import { Coder, coder, messages, open, output, runs, say, scene, TOOLS, type Host } from "./execute-kit.ts";
import { DAY_MS, RECOVERED_MS } from "../kit/time.ts";

// Every crash is reported by what was in the middle of something.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const HOUR_MS = 3_600_000;
const CODE = `await tools.deploy({ ref: "a" })`;
/** An agent whose code waits for an approval, twice. */
const asking = (more: Partial<Connector> = {}) => {
  const connectors: Connector[] = [{ name: () => "w", tools: () => ({}), ...more }];
  return open(runs(CODE, runs(CODE)), { tools: TOOLS, connectors });
};
const statuses = (host: Host) => host.sql(Coder, "a", "SELECT status, is_placed FROM cm_executions ORDER BY id");

test("wakes that come while an approved run goes on do not begin it a second time", async () => {
  const gate = Promise.withResolvers<void>();
  const gated: Connector = {
    name: () => "w",
    tools: () => ({
      slow: {
        requiresApproval: true,
        execute: async () => {
          scene.effects.push("slow");
          await gate.promise;
          return "slowly";
        }
      }
    })
  };
  const host = open(runs(`return await w.slow({})`, [reply(text("I go on."))]), {
    connectors: [gated],
    timeout: 10 * HOUR_MS
  });
  await say(host);
  const stub = await coder(host);
  const [{ executionId } = { executionId: "" }] = await stub.pendingApprovals();
  const decided = stub.approveExecution(executionId);
  await vi.waitFor(() => expect(scene.effects).toEqual(["slow"]), 15_000);
  for (let wake = 0; wake < 4; wake += 1) await host.advance(HOUR_MS);
  expect(statuses(host)).toEqual([{ status: "running", is_placed: 0 }]);
  gate.resolve();
  expect(await decided).toMatchObject({ status: "completed", result: "slowly" });
  await host.idle();
  expect(scene.effects).toEqual(["slow"]);
  expect(statuses(host)).toEqual([{ status: "completed", is_placed: 1 }]);
});

test("an expiry that is killed at any write is done by a later wake, and starts no turn", async () => {
  const { points } = await everyCrash({
    create: async () => {
      const host = asking();
      await say(host);
      return host;
    },
    script: (host) => host.advance(DAY_MS + 1),
    finish: (host) => host.advance(DAY_MS + RECOVERED_MS),
    inspect: async (host) => ({
      said: (await messages(host)).length,
      output: { ...(await output(host)), executionId: "" },
      runs: statuses(host),
      effects: scene.effects,
      waits: (await (await coder(host)).pendingApprovals()).length
    }),
    points: "writes"
  });
  expect(points).toBeGreaterThan(1);
});

test.each([
  ["hangs", () => new Promise<never>(() => undefined)],
  ["throws", () => Promise.reject(new Error("no"))]
])("a connector whose disposeExecution %s holds up no expiry", async (_how, disposeExecution) => {
  const host = asking({ disposeExecution });
  await say(host);
  await host.advance(HOUR_MS);
  await say(host, "again");
  expect(statuses(host)).toEqual(Array(2).fill({ status: "paused", is_placed: 1 }));
  await host.advance(DAY_MS + HOUR_MS);
  expect(statuses(host)).toEqual(Array(2).fill({ status: "rejected", is_placed: 1 }));
  expect(scene.effects).toEqual([]);
});
