// A world for the tests of durable work: one database, processes that die, and runs that end when the test says so.
import { DatabaseSync } from "node:sqlite";
import { memoryStorage } from "../host/memory-storage.test-support.ts";
import type { Sql } from "../host/ports.ts";
import type { BadRow } from "../host/quarantine.ts";
import { openSchema } from "../host/schema.ts";
import { openSql } from "../host/sql.ts";
import { err, ok } from "../util/result.ts";
import type { RunEnd, WorkItem, WorkKind } from "./kind.ts";
import { Work } from "./work.ts";

/** Lets everything that is not waiting for a test go on. */
export const settle = async () => {
  for (let tick = 0; tick < 20; tick += 1) await Promise.resolve();
};

interface Running {
  readonly key: string;
  readonly item: WorkItem<string>;
  readonly signal: AbortSignal;
  readonly end: (end: RunEnd<string>) => void;
  readonly fail: (error: Error) => void;
}

/** One database, and one process after the other on it. Runs end when the test says so. */
export function world(more: Partial<WorkKind<string>> = {}) {
  const storage = memoryStorage(new DatabaseSync(":memory:"));
  const state = { now: 1_000, process: 0, yields: 0 };
  const running: (Running & { readonly process: number })[] = [];
  const started: string[] = [];
  const bad: BadRow[] = [];
  const givenUp: string[] = [];
  const boot = () => {
    const sql = openSql(storage);
    openSchema(sql);
    state.process += 1;
    const { process } = state;
    running.length = 0;
    const isAlive = () => process === state.process;
    const work = new Work<string>(
      {
        sql,
        clock: { now: () => state.now, sleep: async () => void (state.yields += 1) },
        quarantine: (row) => void bad.push(row),
        // What a dead process was about to do is never done.
        inAgent: (task) => (isAlive() ? task() : new Promise(() => undefined)),
        background: (task) => void task.catch(() => undefined),
        rearm: () => undefined
      },
      {
        name: "letters",
        codec: {
          encode: (text) => ({ text }),
          decode: (stored) => {
            const { text } = (stored ?? {}) as { text?: unknown };
            return typeof text === "string" ? ok(text) : err("it has no text");
          }
        },
        retry: { backoff: { baseMs: 100, maxMs: 1_000 } },
        concurrency: 3,
        retentionMs: 10_000,
        givenUp: ({ key }) => void givenUp.push(key),
        run: (item, signal) => {
          started.push(item.key);
          const { promise, resolve, reject } = Promise.withResolvers<RunEnd<string>>();
          const run = { key: item.key, item, signal, end: resolve, fail: reject, process };
          running.push(run);
          const gone = () => void running.splice(running.indexOf(run), 1);
          return promise.finally(gone);
        },
        ...more
      }
    );
    work.start();
    work.ready();
    return { sql, work };
  };
  return { state, running, started, bad, givenUp, boot };
}

/** The rows of the table, in the order in which they were added. */
export const rowsOf = ({ sql }: { sql: Sql }) =>
  sql.catalog.hasTable("cf_work")
    ? sql.all<{
        key: string;
        lane: string | null;
        due_at: number | null;
        claimed_at: number | null;
        settled_at: number | null;
      }>("SELECT key, lane, due_at, claimed_at, settled_at FROM cf_work ORDER BY id")
    : [];
