// What the root of a tree that was taken over remembers of its children: where their storage is, and the schedules that it
// kept for them, until each is handed to its owner.
import type { Sql } from "../../host/ports.ts";
import { pathKey, parsePathKey, type AgentPath, type AgentPathStep } from "../../host/path.ts";
import { TableSet } from "../../host/table-set.ts";
import { TAKEOVER_TABLES } from "../../host/takeover.ts";

export const SCHEDULES_OF = "schedules:";

export function childEntry(child: AgentPathStep): string {
  return `child:${pathKey([child])}`;
}

/** The storage of a child of the original is found under another key than that of ours. */
export function isTakenOverChild(sql: Sql, child: AgentPathStep): boolean {
  const query = "SELECT 1 FROM cf_takeover WHERE key = ?";
  return new TableSet(sql, TAKEOVER_TABLES).one(query, childEntry(child)) !== undefined;
}

export function forgetTakenOverChild(sql: Sql, child: AgentPathStep): void {
  new TableSet(sql, TAKEOVER_TABLES).change("DELETE FROM cf_takeover WHERE key = ?", childEntry(child));
}

/** Schedules of this child, and of those below it, that were not handed to their owner yet. */
export function undeliveredSchedules(sql: Sql, child: AgentPathStep): { path: AgentPath; schedules: object[] }[] {
  // The path goes on with a bracket or a comma, which "~" comes after: a range of the key, since this is asked before
  // each call of a child.
  const prefix = `${SCHEDULES_OF}${pathKey([child]).slice(0, -1)}`;
  const rows = new TableSet(sql, TAKEOVER_TABLES).all<{ key: string; value: string }>(
    "SELECT key, value FROM cf_takeover WHERE key >= ? AND key < ?",
    prefix,
    `${prefix}~`
  );
  // Written by `handDown` only.
  return rows.map(({ key, value }) => ({
    path: parsePathKey(key.slice(SCHEDULES_OF.length)),
    schedules: JSON.parse(value) as object[]
  }));
}

export function forgetSchedulesOf(sql: Sql, path: AgentPath): void {
  new TableSet(sql, TAKEOVER_TABLES).change("DELETE FROM cf_takeover WHERE key = ?", SCHEDULES_OF + pathKey(path));
}
