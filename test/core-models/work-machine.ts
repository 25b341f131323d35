// Claims of durable work as a state machine over the statements of production: every state is put into a real table, one
// statement runs, and the table is read back. Two items of one lane, processes that die, runs that end late, and people.
import { DatabaseSync } from "node:sqlite";
import type { SqlRow, SqlValue } from "../../src/host/ports.ts";
import { createTables, MemorySql } from "../../src/journal/memory-sql.test-support.ts";
import { afterDeath, afterFailure } from "../../src/work/decide.ts";
import type { RetryPolicy } from "../../src/work/kind.ts";
import { stateOf, WorkTable, type WorkRow } from "../../src/work/work-table.ts";
import type { Machine, Step } from "./explore.ts";

/** What production brings, and what a test may break. */
export interface WorkRules {
  /** A statement of the table, by which a mutant replaces it. */
  readonly sql: (query: string) => string;
  readonly afterDeath: typeof afterDeath;
  /** The runner knows which run has which item: the word of one that was cancelled is not taken. Ids may be given again. */
  readonly forgetsCancelled: boolean;
}

export const WORK_RULES: WorkRules = { sql: (query) => query, afterDeath, forgetsCancelled: true };

/** Of cf_work, all of them. */
type Row = Readonly<Record<string, SqlValue>>;

interface Run {
  readonly id: number;
  readonly key: string;
  readonly claim: number;
  /** Its process is dead, or its claim was taken from it; what it still reports must not count. */
  readonly isLate: boolean;
}

interface WorkState {
  readonly rows: readonly Row[];
  readonly now: number;
  readonly isAlive: boolean;
  readonly crashes: number;
  readonly runs: readonly Run[];
  readonly settled: readonly string[];
  readonly given: readonly string[];
  readonly isHurried: boolean;
}

const POLICY: RetryPolicy = { backoff: { baseMs: 1, maxMs: 1 }, maxAttempts: 2, quickRestarts: 1 };
const KEYS = ["a", "b"] as const;
const LAST_TICK = 1;
const CRASHES = 1;

/** A database whose statements a mutant may change. */
class ChangedSql extends MemorySql {
  readonly #change: (query: string) => string;

  constructor(change: (query: string) => string) {
    super(new DatabaseSync(":memory:"));
    this.#change = change;
  }

  override all<R extends object = SqlRow>(query: string, ...values: SqlValue[]): R[] {
    return super.all<R>(this.#change(query), ...values);
  }

  override run(query: string, ...values: SqlValue[]): { readonly changed: number } {
    return super.run(this.#change(query), ...values);
  }
}

export function workMachine(rules: WorkRules = WORK_RULES): Machine<WorkState> {
  const sql = new ChangedSql(rules.sql);
  createTables(sql);
  const table = new WorkTable(sql, { name: "k", hasLanes: true });
  table.insert({ key: "first", payload: "1", lane: "l", dueAt: 0, now: 0 });
  const columns = Object.keys(sql.one<Row>("SELECT * FROM cf_work") ?? {});
  const insert = `INSERT INTO cf_work (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  const load = (rows: readonly Row[]) => {
    sql.run("DELETE FROM cf_work");
    for (const row of rows) sql.run(insert, ...columns.map((column) => row[column] ?? null));
  };
  /** The state after work on its table. */
  const after = (state: WorkState, work: () => Partial<WorkState> | undefined): WorkState => {
    load(state.rows);
    const more = work();
    return more ? { ...state, rows: sql.all<Row>("SELECT * FROM cf_work ORDER BY id").map(timeless), ...more } : state;
  };
  const dueOf = (state: WorkState) => {
    load(state.rows);
    return table.due(state.now);
  };
  const rowOf = ({ id }: Run): WorkRow | undefined => {
    const found = sql.one<{ key: string }>("SELECT key FROM cf_work WHERE id = ?", id);
    return found && table.find(found.key);
  };
  const without = (state: WorkState, run: Run) => state.runs.filter((one) => one !== run);
  function* ends(state: WorkState, run: Run): Generator<Step<WorkState>> {
    const { now } = state;
    const who = `${run.isLate ? "late " : ""}run ${run.claim} of ${run.key}`;
    const kept = { now, isKept: true, keepsPayload: true };
    const end = (name: string, work: () => boolean, more: Partial<WorkState> = {}) => ({
      name: `${who} ${name}`,
      to: after(state, () => ({ runs: without(state, run), ...(work() && more) }))
    });
    yield end("settles", () => table.settle(run, kept), { settled: [...state.settled, run.key] });
    // The first item waits and fails, the second steps aside and is cancelled: together they meet everything.
    const isFirst = run.key === KEYS[0];
    if (now < LAST_TICK && isFirst) {
      yield end("waits", () => table.postpone(run, { until: now + 1, isAside: false, payload: undefined }));
    }
    if (now < LAST_TICK && !isFirst) {
      yield end("steps aside", () => table.postpone(run, { until: now + 1, isAside: true, payload: undefined }));
    }
    if (!isFirst) return;
    yield end("fails", () => {
      const row = rowOf(run);
      if (!row) return false;
      const retry = afterFailure(row, new Error("x"), { policy: POLICY, now });
      return retry === "given-up"
        ? table.settle(run, { ...kept, error: "x", hasFailed: true })
        : table.fail(run, { at: Math.min(retry.at, LAST_TICK) }, { now, error: "x" });
    });
  }
  return {
    initial: { rows: [], now: 0, isAlive: true, crashes: 0, runs: [], settled: [], given: [], isHurried: false },
    *steps(state) {
      const { now, isAlive, crashes, runs, given } = state;
      if (now < LAST_TICK) yield { name: "time", to: { ...state, now: now + 1 } };
      for (const run of runs) {
        const steps = ends(state, run);
        for (const step of steps) if (isAlive) yield { ...step, ...(run.isLate && { isDisturbance: true }) };
      }
      if (!isAlive) {
        const boot = () => {
          for (const row of table.claimed()) {
            const retry = rules.afterDeath(row, { policy: POLICY, now });
            table.release(row, retry === "given-up" ? null : Math.min(retry.at, LAST_TICK));
          }
          return { isAlive: true };
        };
        yield { name: "start of a process", to: after(state, boot) };
        return;
      }
      if (crashes < CRASHES) {
        const late = runs.map((run) => ({ ...run, isLate: true }));
        yield {
          name: "crash",
          isDisturbance: true,
          to: { ...state, isAlive: false, crashes: crashes + 1, runs: late }
        };
      }
      for (const key of KEYS.filter((one) => !given.includes(one))) {
        const add = () => {
          table.insert({ key, payload: "1", lane: "l", dueAt: now, now });
          return { given: [...given, key] };
        };
        yield { name: `add ${key}`, to: after(state, add) };
      }
      for (const id of dueOf(state)) {
        const claim = () => {
          const row = table.claim(id, now);
          return row && { runs: [...runs, { id, key: row.key, claim: row.claim, isLate: false }] };
        };
        yield { name: `claim ${id}`, to: after(state, claim) };
      }
      for (const key of given) {
        const remove = () => {
          table.remove(key);
          const late = runs.map((run) => (run.key === key ? { ...run, isLate: true } : run));
          return { runs: rules.forgetsCancelled ? late.filter((run) => run.key !== key) : late };
        };
        if (key !== KEYS[0]) yield { name: `cancel ${key}`, isDisturbance: true, to: after(state, remove) };
        const hurry = () => (table.schedule(key, now, undefined) ? { isHurried: true } : undefined);
        if (key === KEYS[0] && !state.isHurried)
          yield { name: `hurry ${key}`, isDisturbance: true, to: after(state, hurry) };
      }
    },
    check(is, was, name) {
      for (const row of is.rows) {
        const said = [row["due_at"], row["claimed_at"], row["settled_at"]].filter((at) => at !== null).length;
        if (said > 1) return "an item is in two states";
      }
      load(is.rows);
      const due = new Set(table.due(LAST_TICK + 1));
      const views = is.rows.map((row) => table.find(String(row["key"]))).filter((row) => row !== undefined);
      if (views.some((row) => due.has(row.id) && stateOf(row) !== "waiting"))
        return "an item that does not wait is due";
      if (views.filter((row) => stateOf(row) === "claimed").length > 1) return "two items of a lane are claimed";
      const isOwn = is.runs.filter((run) => !run.isLate);
      if (is.isAlive && isOwn.some((run) => views.find(({ id }) => id === run.id)?.claim !== run.claim)) {
        return "two runs have one item";
      }
      for (const row of was.rows) {
        const next = is.rows.find(({ id }) => id === row["id"]);
        if (row["settled_at"] !== null && next && JSON.stringify(next) !== JSON.stringify(row))
          return "what was over changed";
        const isTaken = next && row["claimed_at"] === null && next["claimed_at"] !== null;
        const isPassed =
          isTaken &&
          !next["is_aside"] &&
          was.rows.some(
            (one) => Number(one["id"]) < Number(row["id"]) && one["settled_at"] === null && !one["is_aside"]
          );
        if (isPassed) return "an item overtook one before it";
        if (name.startsWith("late") && next && JSON.stringify(next) !== JSON.stringify(row))
          return "a late run changed its item";
      }
      if (is.settled.length !== new Set(is.settled).size) return "an item was settled twice";
      const waits = views.some((row) => stateOf(row) === "waiting");
      const isClaimed = views.some((row) => stateOf(row) === "claimed");
      if (waits && !isClaimed && table.nextDue() === null) return "what waits is not waited for";
      return undefined;
    },
    isAtRest: ({ rows, given, isAlive }) =>
      isAlive && given.length === KEYS.length && rows.every((row) => row["settled_at"] !== null || isParked(row))
  };
}

function isParked(row: Row): boolean {
  return row["due_at"] === null && row["claimed_at"] === null && row["settled_at"] === null;
}

/** Times that no rule compares are all one: only when an item is due matters here. */
function timeless(row: Row): Row {
  const isThere = (name: string) => (row[name] === null ? null : 0);
  return {
    ...row,
    created_at: 0,
    troubled_since: null,
    claimed_at: isThere("claimed_at"),
    settled_at: isThere("settled_at")
  };
}
