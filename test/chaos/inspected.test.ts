// The crash matrix with an inspector connected: one that asks for every view while answers are made, as Studio does. The agent stores exactly the same rows as without it, and comes through the same deaths.
import { expect, test, vi } from "vitest";
import type { TurnsView } from "../../src/features/inspection/views.ts";
import { chaos, formatChaos, type ChaosRun, type Scenario } from "../../src/testing/index.ts";
import { Traveller, trip } from "./conversation.ts";

// Each test plays a whole conversation for several points.
vi.setConfig({ testTimeout: 180_000 });

const KEY = "a-key-of-the-operator-0123";
const isLong = process.env["EVERTHINK_LONG_TESTS"] === "1";
/** Of each disturbance. */
const POINTS = isLong ? 40 : 2;
/** The inspector asks at each so many awaits of models and tools. */
const EVERY = isLong ? 1 : 6;

type Host = ChaosRun["host"];

let host: Host | undefined;
let looks = 0;

const uninspected: Scenario = {
  ...trip,
  begin: (run) => {
    host = run.host;
    trip.begin?.(run);
  }
};

const inspected: Scenario = {
  ...trip,
  env: { EVERTHINK_INSPECTION_KEY: KEY },
  begin: (run) => {
    host = run.host;
    let awaits = 0;
    looks = 0;
    const boundary = async () => {
      if (awaits++ % EVERY === 0) await lookAtAll(run.host);
      await run.boundary();
    };
    trip.begin?.({ ...run, boundary });
  }
};

async function lookAtAll(at: Host): Promise<void> {
  const views = ["agent", "conversations", "inbox", "state", ...(await turnViews(at))];
  for (const view of views) await look(at, view);
}

async function turnViews(at: Host): Promise<string[]> {
  const answer = await look(at, "turns?limit=2");
  const { turns } = answer.status === 200 ? ((await answer.json()) as TurnsView) : { turns: [] };
  return turns.flatMap(({ turnId }) => [`turns/${turnId}`, `turns/${turnId}/why`]);
}

async function look(at: Host, view: string): Promise<Response> {
  const answer = await at.fetch(`/agents/traveller/chaos/inspect/v1/${view}`, {
    headers: { Authorization: `Bearer ${KEY}` }
  });
  if (answer.status === 200) looks += 1;
  return answer;
}

/** Ids of calls are the model's, and random: only which of them are the same counts. */
function withPlainIds(rows: Record<string, unknown>): unknown {
  const known = new Map<string, string>();
  const plain = JSON.stringify(rows).replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
    known.set(id, known.get(id) ?? `id ${known.size}`);
    return known.get(id) ?? "";
  });
  return JSON.parse(plain);
}

function everyRow(at: Host): Record<string, unknown> {
  const read = <Row extends object>(query: string) => at.sql<Row>(Traveller, "chaos", query);
  const tables = read<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  return Object.fromEntries(tables.map(({ name }) => [name, read(`SELECT * FROM "${name}"`)]));
}

test("an agent with an inspector connected stores exactly the same rows, with as many writes", async () => {
  const without = await chaos({ ...uninspected, modes: [] });
  const rows = host ? everyRow(host) : {};
  const watched = await chaos({ ...inspected, modes: [] });
  expect(looks).toBeGreaterThan(50);
  expect(watched.writes).toBe(without.writes);
  expect(withPlainIds(host ? everyRow(host) : {})).toEqual(withPlainIds(rows));
  expect(Object.keys(rows).length).toBeGreaterThan(4);
});

test("an inspected conversation comes through deaths after writes and inside awaits", async () => {
  const result = await chaos({ ...inspected, modes: ["after-write", "inside-await"], points: POINTS });
  expect(result.differences, formatChaos(result)).toEqual([]);
  expect(result.modes.map(({ deaths }) => deaths > 0)).toEqual([true, true]);
});
