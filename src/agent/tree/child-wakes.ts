// The root's side of its descendants' wakes: one row per facet that has durable work, because facets have no alarm.
// A due row is leased into the future before its child is called, so a crash in between wakes it again; only a wake that
// succeeded ends the lease, so a child that keeps failing is tried ever less often and finally dropped.
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { errorMessage } from "../../util/errors.ts";
import { durableBackoffMs } from "../backoff.ts";
import type { AgentCore } from "../core.ts";
import { descendantPrefix, parsePathKey, pathKey, type AgentPath } from "../../host/path.ts";

/** Tries without a pause: one kill of the process must not cost its children half a minute. */
const QUICK_TRIES = 2;
/** Children woken at the same time. */
const CONCURRENT_WAKES = 8;

interface WakeRow {
  path: string;
  failures: number;
  failing_since: number | null;
}

/** Reaches a child; false when its parent does not know it. */
type WakeChild = (path: AgentPath) => Promise<boolean>;

export const WAKE_TABLES: readonly TableDefinition[] = [
  // In the root only. Bound: one row per facet that has durable work. Deleted: when it has none, or is deleted.
  {
    name: "cf_wakes",
    create: [
      `CREATE TABLE cf_wakes (
        path TEXT PRIMARY KEY,
        at INTEGER NOT NULL,
        leased_until INTEGER NOT NULL DEFAULT 0,
        failures INTEGER NOT NULL DEFAULT 0,
        failing_since INTEGER
      ) WITHOUT ROWID`
    ]
  }
];

export class ChildWakes {
  readonly #core: AgentCore;
  readonly #table: TableSet;
  readonly #wake: WakeChild;

  constructor(core: AgentCore, wake: WakeChild) {
    this.#core = core;
    this.#table = new TableSet(core.sql, WAKE_TABLES);
    this.#wake = wake;
    core.wakes.add(
      () => this.#table.one<{ at: number | null }>("SELECT MIN(MAX(at, leased_until)) AS at FROM cf_wakes")?.at ?? null
    );
  }

  /** A child says when it next needs to run. */
  async arm(path: AgentPath, at: number | null): Promise<void> {
    const { wakes } = this.#core;
    if (at === null) this.#table.change("DELETE FROM cf_wakes WHERE path = ?", pathKey(path));
    else {
      this.#table.run(
        "INSERT INTO cf_wakes (path, at) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET at = excluded.at",
        pathKey(path),
        at
      );
    }
    await wakes.rearm();
  }

  /** Drops the wakes of a subtree that is no more. */
  async forget(path: AgentPath): Promise<void> {
    const prefix = descendantPrefix(path);
    this.#table.change(
      "DELETE FROM cf_wakes WHERE path = ? OR substr(path, 1, length(?)) = ?",
      pathKey(path),
      prefix,
      prefix
    );
    await this.#core.wakes.rearm();
  }

  async runDue(): Promise<void> {
    const due = this.#table.all<WakeRow & object>(
      "SELECT path, failures, failing_since FROM cf_wakes WHERE MAX(at, leased_until) <= ? ORDER BY at",
      this.#core.clock.now()
    );
    const next = async (): Promise<void> => {
      for (let row = due.shift(); row; row = due.shift()) await this.#run(row);
    };
    await Promise.all(Array.from({ length: CONCURRENT_WAKES }, next));
  }

  async #run(row: WakeRow): Promise<void> {
    const path = parsePathKey(row.path);
    if (this.#isGivenUp(row)) return this.#drop(row, "gave up");
    this.#lease(row);
    try {
      // A child that ran has armed its next wake, or none, before it answered.
      if (await this.#wake(path)) this.#release(row);
      else await this.#forgetUnknown(row, path);
    } catch (error) {
      this.#core.emit("schedule:error", { callback: "wake", id: row.path, error: errorMessage(error), attempts: 0 });
      await this.#core.report(error);
    }
  }

  /** Deleting a child forgets its wakes first: what is left names a child whose row is not what was stored. */
  async #forgetUnknown({ path: key }: WakeRow, path: AgentPath): Promise<void> {
    const error = "no child is registered under this name; its wake is dropped";
    this.#core.emit("storage:row:quarantined", { table: "cf_children", key, error });
    console.error(`A sub-agent that has work to do is not registered: ${key}. Its wake is dropped.`);
    await this.forget(path);
  }

  #lease(row: WakeRow): void {
    const { clock, options } = this.#core;
    const now = clock.now();
    const pauseMs =
      row.failures < QUICK_TRIES ? 0 : durableBackoffMs(row.failures - QUICK_TRIES, options.keepAliveIntervalMs);
    this.#table.change(
      "UPDATE cf_wakes SET leased_until = ?, failures = failures + 1, failing_since = COALESCE(failing_since, ?) WHERE path = ?",
      now + pauseMs,
      now,
      row.path
    );
  }

  #release(row: WakeRow): void {
    this.#table.change(
      "UPDATE cf_wakes SET leased_until = 0, failures = 0, failing_since = NULL WHERE path = ?",
      row.path
    );
  }

  #isGivenUp(row: WakeRow): boolean {
    const maxAgeMs = this.#core.options.fiberRecoveryMaxAgeMs;
    return maxAgeMs > 0 && row.failing_since !== null && this.#core.clock.now() - row.failing_since > maxAgeMs;
  }

  #drop(row: WakeRow, error: string): void {
    this.#table.change("DELETE FROM cf_wakes WHERE path = ?", row.path);
    this.#core.emit("schedule:error", { callback: "wake", id: row.path, error, attempts: row.failures });
  }
}
