// What listing approvals costs when many wait and many were decided: in proportion to what is listed. Counted in rows that
// are read and in characters of stored JSON that are parsed, so that a busy machine changes nothing.
import { afterEach, expect, test, vi } from "vitest";
import type { AgentView, InboxView } from "../../src/features/inspection/views.ts";
import { LISTED_DECISIONS } from "../../src/features/approvals/decided-approvals.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { ask, echo, look, open, Subject, type Host } from "./inspection-kit.ts";

afterEach(() => void vi.restoreAllMocks());

// Hundreds of calls are made before anything is counted.
vi.setConfig({ testTimeout: 30_000 });

const FEW = 10;
const MANY = 300;
/** More than are listed, all of one answer. */
const DECIDED = 80;

async function waiting(count: number): Promise<Host> {
  const calls = Array.from({ length: count }, (_, index) => toolCall("pay", { euros: index }, { id: `c${index}` }));
  const host = open([reply(...calls), reply(text("They wait.")), ...Array.from({ length: 300 }, () => echo)]);
  await ask(host, "please");
  return host;
}

interface Cost {
  readonly rows: number;
  readonly characters: number;
}

/** What one look costs. */
async function costOf(host: Host, work: () => Promise<unknown>): Promise<Cost> {
  const { rowsRead } = host.counts;
  const parse = vi.spyOn(JSON, "parse");
  await work();
  const characters = parse.mock.calls.reduce((sum, [source]) => sum + String(source).length, 0);
  parse.mockRestore();
  return { rows: host.counts.rowsRead - rowsRead, characters };
}

/** Each way in which what waits is listed; Studio polls the first two. */
const LISTS: Record<string, (host: Host) => Promise<unknown>> = {
  inbox: (host) => look<InboxView>(host, "inbox"),
  agent: (host) => look<AgentView>(host, "agent"),
  approvals: async (host) => (await host.get(Subject, "a")).pendingApprovals()
};

async function costs(host: Host): Promise<Record<string, Cost>> {
  const entries: [string, Cost][] = [];
  for (const [name, list] of Object.entries(LISTS)) {
    await list(host);
    entries.push([name, await costOf(host, () => list(host))]);
  }
  return Object.fromEntries(entries);
}

const RATIO = MANY / FEW;

test("three hundred approvals that wait are listed for thirty times what ten cost", async () => {
  const few = await costs(await waiting(FEW));
  const host = await waiting(MANY);
  expect((await look<InboxView>(host, "inbox")).approvals).toHaveLength(MANY);
  for (const [name, large] of Object.entries(await costs(host))) {
    expect(large.rows / (few[name]?.rows ?? 0), `rows of ${name}`).toBeLessThan(1.5 * RATIO);
    expect(large.characters / (few[name]?.characters ?? 0), `characters of ${name}`).toBeLessThan(1.5 * RATIO);
  }
});

test("one approval is found by its id in as many rows, however many wait", async () => {
  const rows: number[] = [];
  for (const count of [FEW, MANY]) {
    const host = await waiting(count);
    const agent = await host.get(Subject, "a");
    const [first] = await agent.pendingApprovals();
    expect(await agent.pendingApprovals(first?.executionId)).toEqual([first]);
    rows.push((await costOf(host, async () => agent.pendingApprovals(first?.executionId))).rows);
  }
  expect(rows[1]).toBe(rows[0]);
});

test("decisions add to a list no more than one look at the answer whose calls they were about", async () => {
  const host = await waiting(DECIDED + 20);
  const before = await costs(host);
  const agent = await host.get(Subject, "a");
  const asked = (await agent.pendingApprovals()).slice(0, DECIDED);
  await Promise.all(asked.map(({ executionId }) => agent.rejectExecution(executionId)));
  await host.advance(60_000);
  const { approvals, decided } = await look<InboxView>(host, "inbox");
  expect([approvals.length, decided.length]).toEqual([20, LISTED_DECISIONS]);
  for (const [name, { rows, characters }] of Object.entries(await costs(host))) {
    // The ledger and the changes have a row for each decision.
    expect(rows, `rows of ${name}`).toBeLessThan((before[name]?.rows ?? 0) + 4 * DECIDED);
    expect(characters, `characters of ${name}`).toBeLessThan(3 * (before[name]?.characters ?? 0));
  }
});
