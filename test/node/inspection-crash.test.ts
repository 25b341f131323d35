// Killed at each write and await while an inspector asks for every view, an agent ends as it does without one: the same
// messages, the same effects, the same rows.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { everyCrash, reply, text, toolCall } from "../../src/testing/index.ts";
import type { TurnsView } from "../../src/features/inspection/views.ts";
import { look, open, request, said, scene, Subject, type Host } from "./inspection-kit.ts";

// Each point boots the agent three times.
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

const STEPS = [reply(toolCall("look", { at: "sea" })), reply(text("blue "), text("and wide"))];

/** Everything an inspector can ask, asked until the agent dies or has answered. */
async function inspectAll(host: Host): Promise<void> {
  const { turns } = await look<TurnsView>(host, "turns");
  const ofTurns = turns.flatMap(({ turnId }) => [`turns/${turnId}`, `turns/${turnId}/why`]);
  for (const view of ["agent", "conversations", ...ofTurns, "inbox", "state"]) await request(host, view);
}

async function run(isInspected: boolean): Promise<{ points: number; outcome: unknown }> {
  let outcome: unknown;
  const { points } = await everyCrash({
    create: async () => {
      const host = open(Array.from({ length: 6 }, () => STEPS).flat());
      await host.get(Subject, "a");
      return host;
    },
    script: async (host) => {
      const asked = host
        .get(Subject, "a")
        .then((agent) => agent.saveMessages([said("u", "sea?")], { idempotencyKey: "k" }));
      if (isInspected) await inspectAll(host).catch(() => undefined);
      await asked;
    },
    finish: async (host) => {
      if (isInspected) await inspectAll(host);
      await (await host.get(Subject, "a")).saveMessages([said("u", "sea?")], { idempotencyKey: "k" });
      await host.advance(60_000);
      if (isInspected) await inspectAll(host);
    },
    inspect: async (host) => {
      const tables = host.sql<{ name: string }>(
        Subject,
        "a",
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
      );
      return (outcome = {
        messages: await (await host.get(Subject, "a")).shownRoles(),
        tables: tables.map(({ name }) => name),
        hasLooked: scene.effects.length > 0
      });
    },
    points: "writes"
  });
  return { points, outcome };
}

test("a crash after any write ends the same with an inspector connected, at the same number of writes", async () => {
  const without = await run(false);
  const inspected = await run(true);
  expect(inspected).toEqual(without);
  expect(inspected.points).toBeGreaterThan(8);
});
