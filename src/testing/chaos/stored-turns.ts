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
  return { settled, openCalls, openTurns: countOpenTurns(object) };
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

function countOpenTurns(object: ObjectUnderTest): number {
  if (!hasTable(object, "cf_conversations")) return 0;
  const { host, agent, name } = object;
  const rows = host.sql<{ turns: string }>(agent, name, "SELECT open_turns AS turns FROM cf_conversations");
  return rows.filter(({ turns }) => turns !== "[]").length;
}

function hasTable({ host, agent, name }: ObjectUnderTest, table: string): boolean {
  return host.sql(agent, name, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table).length > 0;
}
