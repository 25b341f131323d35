// What an agent's database says about its turns, read from outside and without waking it: which turns were settled how
// often, and which server calls were running when the process died. An agent without conversations has none of it.
import { decodeFrame, unpackBatch } from "../../journal/batch.ts";
import type { ReadableRecord } from "../../journal/records.ts";
import { err, ok } from "../../util/result.ts";
import type { AgentClass, TestHost } from "../test-host.ts";

export interface ObjectUnderTest {
  readonly host: TestHost<unknown>;
  readonly agent: AgentClass;
  readonly name: string;
}

export interface StoredTurns {
  /** Journal sequences at which each turn was settled. One is right. */
  readonly settled: ReadonlyMap<string, readonly { sequence: number; outcome: string }[]>;
  /** Server calls that had been started and had no outcome. */
  readonly openCalls: ReadonlySet<string>;
  readonly openTurns: number;
  /** Settled turns that have no row of the turn history, or more than one; a clear takes those before it. */
  readonly historyProblems: readonly string[];
}

export function readStoredTurns(object: ObjectUnderTest): StoredTurns {
  const settled = new Map<string, { sequence: number; outcome: string }[]>();
  const openCalls = new Set<string>();
  for (const { sequence, record } of readJournal(object)) {
    if (record.type === "call-started" && record.executor === "server") openCalls.add(record.callId);
    if (record.type === "call-settled") openCalls.delete(record.callId);
    if (record.type !== "turn-settled") continue;
    const known = settled.get(record.turnId) ?? [];
    settled.set(record.turnId, [...known, { sequence, outcome: record.outcome }]);
  }
  const historyProblems = findHistoryProblems(object, settled);
  return { settled, openCalls, openTurns: countOpenTurns(object), historyProblems };
}

function* readJournal(object: ObjectUnderTest): Generator<{ sequence: number; record: ReadableRecord }> {
  if (!hasTable(object, "cf_journal")) return;
  const { host, agent, name } = object;
  const rows = host.sql<{ last: number; count: number; body: unknown }>(
    agent,
    name,
    "SELECT last, count, body FROM cf_journal ORDER BY last"
  );
  for (const row of rows) {
    const text = typeof row.body === "string" ? ok(row.body) : err("kept as a blob");
    for (const frame of unpackBatch(row, text)) {
      const record = decodeFrame(frame, true);
      if (record.ok) yield { sequence: frame.sequence, record: record.value };
    }
  }
}

function findHistoryProblems(object: ObjectUnderTest, settled: StoredTurns["settled"]): string[] {
  const { host, agent, name } = object;
  const select = <Row extends object>(table: string, query: string) =>
    hasTable(object, table) ? host.sql<Row>(agent, name, query) : [];
  const rows = select<{ sequence: number }>("cf_turns", "SELECT sequence FROM cf_turns");
  const found = new Map([...settled].flatMap(([turn, outcomes]) => outcomes.map(({ sequence }) => [sequence, turn])));
  const cleared = select<{ sequence: number }>(
    "cf_conversations",
    "SELECT max(cleared_sequence) AS sequence FROM cf_conversations"
  );
  const since = cleared[0]?.sequence ?? 0;
  const kept = new Set(rows.map(({ sequence }) => sequence));
  const missing = [...found].filter(([sequence]) => sequence > since && !kept.has(sequence));
  const turns = rows.flatMap(({ sequence }) => found.get(sequence) ?? []);
  const repeated = turns.filter((turn, index) => turns.indexOf(turn) < index);
  return [
    ...missing.map(([, turn]) => `turn ${turn} has no history`),
    ...repeated.map((turn) => `turn ${turn} has two rows of history`)
  ];
}

function countOpenTurns(object: ObjectUnderTest): number {
  if (!hasTable(object, "cf_conversations")) return 0;
  const { host, agent, name } = object;
  const rows = host.sql<{ turns: string }>(agent, name, "SELECT open_turns AS turns FROM cf_conversations");
  return rows.filter(({ turns }) => turns !== "[]").length;
}

function hasTable({ host, agent, name }: ObjectUnderTest, table: string): boolean {
  return host.sql(agent, name, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table).length > 0;
}
