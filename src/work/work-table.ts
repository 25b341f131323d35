// Every statement on cf_work. An item is in one of four states, which its columns say:
//   waiting   due_at is set
//   claimed   claimed_at is set
//   settled   settled_at is set
//   parked    none of them is
// Each statement that leaves a state names it in its condition, so that whatever came first stands.
import type { Sql } from "../host/ports.ts";
import { TableSet, type ReplacedTable, type TableDefinition } from "../host/table-set.ts";
import { isCount } from "../util/counts.ts";
import type { Retry, Troubled } from "./decide.ts";
import type { WorkKind, WorkState } from "./kind.ts";

export const WORK_TABLES: readonly TableDefinition[] = [
  // Bound: by each kind, of what waits; of what is settled by the kind's retention. Deleted: then, and when it is cancelled.
  {
    name: "cf_work",
    create: [
      `CREATE TABLE cf_work (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        lane TEXT,
        payload TEXT NOT NULL,
        due_at INTEGER,
        claimed_at INTEGER,
        settled_at INTEGER,
        is_aside INTEGER NOT NULL DEFAULT 0,
        claim INTEGER NOT NULL DEFAULT 0,
        starts INTEGER NOT NULL DEFAULT 0,
        failures INTEGER NOT NULL DEFAULT 0,
        troubled_since INTEGER,
        error TEXT,
        created_at INTEGER NOT NULL,
        UNIQUE (kind, key)
      )`,
      "CREATE INDEX cf_work_due ON cf_work (kind, due_at) WHERE due_at IS NOT NULL",
      "CREATE INDEX cf_work_lane ON cf_work (kind, lane, id) WHERE lane IS NOT NULL AND settled_at IS NULL",
      "CREATE INDEX cf_work_claimed ON cf_work (kind) WHERE claimed_at IS NOT NULL",
      "CREATE INDEX cf_work_settled ON cf_work (kind, settled_at) WHERE settled_at IS NOT NULL"
    ]
  }
];

/** With the tables that became rows of a kind: the first use of the kind moves them. */
const tablesOf = (replaces: readonly ReplacedTable[]) => WORK_TABLES.map((table) => ({ ...table, replaces }));

export interface WorkRow extends Troubled {
  readonly id: number;
  readonly kind: string;
  readonly key: string;
  readonly lane: string | null;
  readonly payload: string;
  readonly createdAt: number;
  readonly dueAt: number | null;
  readonly claimedAt: number | null;
  readonly settledAt: number | null;
  readonly claim: number;
  readonly error: string | null;
}

const COLUMNS = `id, kind, key, lane, payload, claim, starts, failures, error, created_at AS createdAt,
  due_at AS dueAt, claimed_at AS claimedAt, settled_at AS settledAt, troubled_since AS troubledSince`;

/** The head of each lane that is free, and what steps aside in it: `heads(id, due_at)`. ?2: lanes that are not free. */
const HEADS = `WITH RECURSIVE lanes (lane) AS (
    SELECT MIN(lane) FROM cf_work WHERE kind = ?1 AND lane IS NOT NULL AND settled_at IS NULL
    UNION ALL
    SELECT (SELECT MIN(lane) FROM cf_work WHERE kind = ?1 AND lane > lanes.lane AND settled_at IS NULL)
      FROM lanes WHERE lanes.lane IS NOT NULL
  ), free (lane) AS (
    SELECT lane FROM lanes WHERE lane IS NOT NULL AND lane NOT IN (SELECT value FROM json_each(?2)) AND NOT EXISTS (
      SELECT 1 FROM cf_work AS c WHERE c.kind = ?1 AND c.claimed_at IS NOT NULL AND c.lane = lanes.lane)
  ), heads (id, due_at) AS (
    SELECT w.id, w.due_at FROM free JOIN cf_work AS w ON w.id = (
      SELECT h.id FROM cf_work AS h WHERE h.kind = ?1 AND h.lane = free.lane AND h.settled_at IS NULL AND NOT h.is_aside
        ORDER BY h.id LIMIT 1)
    UNION ALL
    SELECT w.id, w.due_at FROM cf_work AS w
      WHERE w.kind = ?1 AND w.due_at IS NOT NULL AND w.is_aside AND w.lane IN (SELECT lane FROM free)
  )`;

/** SQLite sorts texts and bytes after every number. */
const NO_TIME = Number.MAX_SAFE_INTEGER;

/** The lane of `w` is free, and nothing before `w` keeps it waiting, unless `w` steps aside. ?3: lanes that are not free. */
const IS_FREE = `w.lane NOT IN (SELECT value FROM json_each(?3)) AND NOT EXISTS (
    SELECT 1 FROM cf_work AS c WHERE c.kind = w.kind AND c.claimed_at IS NOT NULL AND c.lane = w.lane)
  AND (w.is_aside OR NOT EXISTS (
    SELECT 1 FROM cf_work AS h WHERE h.kind = w.kind AND h.lane = w.lane AND h.id < w.id AND h.settled_at IS NULL
      AND NOT h.is_aside))`;

/** Items that one look finds to be due: finding them costs more than claiming one. A wake's one look finds all of them. */
const DUE_AT_ONCE = 100;
/** Rows that one sweep deletes. */
const SWEEP_ROWS = 500;
const MAX_ERROR_CHARS = 4_000;

interface Ending {
  readonly now: number;
  /** False: the item is deleted. */
  readonly isKept: boolean;
  readonly keepsPayload: boolean;
  /** Of an item that is given up. */
  readonly error?: string | undefined;
  /** Its run failed: that is counted. */
  readonly hasFailed?: boolean;
}

/** A row that another process or an earlier claim must not change. */
type Claimed = Pick<WorkRow, "id" | "claim">;

export interface NewWork {
  readonly key: string;
  readonly payload: string;
  readonly lane: string | null;
  /** Null: it is parked. */
  readonly dueAt: number | null;
  /** Of an item that is over from the beginning. */
  readonly settledAt?: number | null;
  readonly now: number;
}

export class WorkTable {
  readonly #table: TableSet;
  readonly #kind: string;
  readonly #hasLanes: boolean;
  /** Of one look. Below 0: all. */
  readonly #dueLimit: number;

  constructor(
    sql: Sql,
    { name, hasLanes, replaces, byWake }: Pick<WorkKind<never>, "name" | "hasLanes" | "replaces" | "byWake">
  ) {
    this.#table = new TableSet(sql, replaces ? tablesOf(replaces) : WORK_TABLES);
    this.#kind = name;
    this.#hasLanes = hasLanes ?? false;
    this.#dueLimit = byWake ? -1 : DUE_AT_ONCE;
  }

  transaction<T>(work: () => T): T {
    return this.#table.transaction(work);
  }

  /** False: there is one of this key. */
  insert({ key, payload, lane, dueAt, settledAt = null, now }: NewWork): boolean {
    return (
      this.#table.run(
        `INSERT INTO cf_work (kind, key, lane, payload, due_at, settled_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (kind, key) DO NOTHING`,
        ...[this.#kind, key, lane, payload, dueAt, settledAt, now]
      ).changed === 1
    );
  }

  find(key: string): WorkRow | undefined {
    return this.#table.one<WorkRow>(`SELECT ${COLUMNS} FROM cf_work WHERE kind = ? AND key = ?`, this.#kind, key);
  }

  /** Items that are due and may be claimed, the first to come first. */
  due(now: number, busy: readonly string[] = []): number[] {
    const rows = this.#hasLanes
      ? this.#table.all<{ id: number }>(
          `${HEADS} SELECT id FROM heads WHERE due_at <= ?3 ORDER BY due_at, id LIMIT ?4`,
          ...[this.#kind, JSON.stringify(busy), now, this.#dueLimit]
        )
      : this.#table.all<{ id: number }>(
          "SELECT id FROM cf_work WHERE kind = ? AND due_at <= ? ORDER BY due_at, id LIMIT ?",
          ...[this.#kind, now, this.#dueLimit]
        );
    return rows.map(({ id }) => id);
  }

  /** Claims an item that was due, and counts the claim. Undefined: it is not, or must wait for others of its lane. */
  claim(id: number, now: number, busy: readonly string[] = []): WorkRow | undefined {
    const claim = `UPDATE cf_work AS w SET due_at = NULL, claimed_at = ?1, claim = claim + 1, starts = starts + 1
      WHERE id = ?2 AND due_at <= ?1`;
    return this.#table.transaction(() => {
      const { changed } = this.#hasLanes
        ? this.#table.change(`${claim} AND ${IS_FREE}`, now, id, JSON.stringify(busy))
        : this.#table.change(claim, now, id);
      if (changed === 0) return undefined;
      return this.#table.one<WorkRow>(`SELECT ${COLUMNS} FROM cf_work WHERE id = ?`, id);
    });
  }

  /** When the next item is due that may be claimed. */
  nextDue(busy: readonly string[] = []): number | null {
    // Reads no row where nothing waits, which is what a start mostly finds.
    const row = this.#hasLanes
      ? this.#table.one<{ at: number }>(
          `${HEADS} SELECT due_at AS at FROM heads WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`,
          ...[this.#kind, JSON.stringify(busy)]
        )
      : this.#table.one<{ at: number }>(
          "SELECT due_at AS at FROM cf_work WHERE kind = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1",
          this.#kind
        );
    return row?.at ?? null;
  }

  /** All that are claimed, by whatever process. */
  claimed(): WorkRow[] {
    return this.#table.all<WorkRow>(
      `SELECT ${COLUMNS} FROM cf_work WHERE kind = ? AND claimed_at IS NOT NULL ORDER BY id`,
      this.#kind
    );
  }

  /** Items whose times are none: they would never be due, or always, or count as over. The indexes have them at their ends. */
  damaged(): WorkRow[] {
    return this.#table.all<WorkRow>(
      `SELECT ${COLUMNS} FROM cf_work WHERE kind = ?1 AND due_at > ?2
       UNION ALL SELECT ${COLUMNS} FROM cf_work WHERE kind = ?1 AND settled_at > ?2
       UNION ALL SELECT ${COLUMNS} FROM cf_work WHERE kind = ?1 AND settled_at < 0`,
      ...[this.#kind, NO_TIME]
    );
  }

  // ── The end of a claim. False: the item has another claim by now, or none. ──

  settle({ id, claim }: Claimed, { now, isKept, keepsPayload, error, hasFailed = false }: Ending): boolean {
    if (!isKept)
      return (
        this.#table.change("DELETE FROM cf_work WHERE id = ? AND claim = ? AND claimed_at IS NOT NULL", id, claim)
          .changed === 1
      );
    return (
      this.#table.change(
        `UPDATE cf_work SET settled_at = ?, claimed_at = NULL, error = ?, failures = failures + ?
           ${keepsPayload ? "" : ", payload = 'null'"} WHERE id = ? AND claim = ? AND claimed_at IS NOT NULL`,
        ...[now, error?.slice(0, MAX_ERROR_CHARS) ?? null, Number(hasFailed), id, claim]
      ).changed === 1
    );
  }

  /** It did what could be done by now, and waits. */
  postpone(
    { id, claim }: Claimed,
    { until, isAside, payload }: { until: number | null; isAside: boolean; payload: string | undefined }
  ): boolean {
    return (
      this.#table.change(
        `UPDATE cf_work SET due_at = ?, is_aside = ?, payload = COALESCE(?, payload), claimed_at = NULL, starts = 0,
           failures = 0, troubled_since = NULL, error = NULL
         WHERE id = ? AND claim = ? AND claimed_at IS NOT NULL`,
        ...[until, Number(isAside), payload ?? null, id, claim]
      ).changed === 1
    );
  }

  /** Replaces the payload of an item that is claimed. */
  save({ key, claim }: Pick<WorkRow, "key" | "claim">, payload: string): boolean {
    return (
      this.#table.change(
        "UPDATE cf_work SET payload = ? WHERE kind = ? AND key = ? AND claim = ? AND claimed_at IS NOT NULL",
        ...[payload, this.#kind, key, claim]
      ).changed === 1
    );
  }

  fail(
    { id, claim }: Claimed,
    { at }: Exclude<Retry, "given-up">,
    { now, error }: { now: number; error: string }
  ): boolean {
    return (
      this.#table.change(
        `UPDATE cf_work SET due_at = ?, claimed_at = NULL, starts = 0, failures = failures + 1, error = ?,
           troubled_since = COALESCE(troubled_since, ?)
         WHERE id = ? AND claim = ? AND claimed_at IS NOT NULL`,
        ...[at, error.slice(0, MAX_ERROR_CHARS), now, id, claim]
      ).changed === 1
    );
  }

  /** Its process died, or the platform ended its run. `at` null: it is parked. */
  release(row: WorkRow, at: number | null, { isAside = false, failures = row.failures } = {}): boolean {
    const { id, claim, claimedAt } = row;
    return (
      this.#table.change(
        `UPDATE cf_work SET due_at = ?, is_aside = is_aside OR ?, claimed_at = NULL, failures = ?,
           troubled_since = COALESCE(troubled_since, ?)
         WHERE id = ? AND claim = ? AND claimed_at IS NOT NULL`,
        ...[at, Number(isAside), failures, claimedAt, id, claim]
      ).changed === 1
    );
  }

  // ── From outside ──

  /** Moves what waits, or is parked; with a payload, if one is given. False: it is claimed, settled, or not known. */
  schedule(key: string, dueAt: number | null, payload: string | undefined): boolean {
    return (
      this.#table.change(
        `UPDATE cf_work SET due_at = ?, payload = COALESCE(?, payload)
         WHERE kind = ? AND key = ? AND claimed_at IS NULL AND settled_at IS NULL`,
        ...[dueAt, payload ?? null, this.#kind, key]
      ).changed === 1
    );
  }

  /** Ends what is not over, whatever its state: it is settled, or parked if `settledAt` is null. */
  conclude(key: string, payload: string, settledAt: number | null): boolean {
    return (
      this.#table.change(
        `UPDATE cf_work SET payload = ?, due_at = NULL, claimed_at = NULL, settled_at = ?, starts = 0, failures = 0,
           troubled_since = NULL, error = NULL
         WHERE kind = ? AND key = ? AND settled_at IS NULL`,
        ...[payload, settledAt, this.#kind, key]
      ).changed === 1
    );
  }

  /** Of what waits after failures or deaths. */
  retryBy(latest: number): void {
    this.#table.change(
      `UPDATE cf_work SET due_at = MIN(due_at, ?), starts = 0, failures = 0
       WHERE kind = ? AND due_at IS NOT NULL AND troubled_since IS NOT NULL`,
      ...[latest, this.#kind]
    );
  }

  /** Gives an item that was given up a new life, in its old place. */
  revive(key: string, dueAt: number): boolean {
    return (
      this.#table.change(
        `UPDATE cf_work SET due_at = ?, settled_at = NULL, is_aside = 0, starts = 0, failures = 0, troubled_since = NULL,
           error = NULL
         WHERE kind = ? AND key = ? AND settled_at IS NOT NULL AND error IS NOT NULL`,
        ...[dueAt, this.#kind, key]
      ).changed === 1
    );
  }

  /** Whatever its state: a run that goes on reports to nothing. */
  remove(key: string): boolean {
    return this.#table.change("DELETE FROM cf_work WHERE kind = ? AND key = ?", this.#kind, key).changed === 1;
  }

  /** All that are not over; of one lane, or of every one. */
  removeOpen(lane: string | undefined): void {
    const isOfLane = lane === undefined ? "" : " AND lane = ?";
    this.#table.change(
      `DELETE FROM cf_work WHERE kind = ? AND settled_at IS NULL${isOfLane}`,
      ...[this.#kind, ...(lane === undefined ? [] : [lane])]
    );
  }

  /** Settled items that no caller asks for any more. */
  sweep(before: number, keepsDead: boolean): void {
    const old = `SELECT id FROM cf_work WHERE kind = ? AND settled_at < ?${keepsDead ? " AND error IS NULL" : ""}
      ORDER BY settled_at LIMIT ${SWEEP_ROWS}`;
    // A statement that would write fails on a full disk, also when there is nothing to delete.
    if (!this.#table.one(old, this.#kind, before)) return;
    this.#table.change(`DELETE FROM cf_work WHERE id IN (${old})`, this.#kind, before);
  }

  /** Of those that were given up the newest stay. */
  keepNewestDead(count: number): void {
    this.#table.change(
      `DELETE FROM cf_work WHERE id IN (
         SELECT id FROM cf_work WHERE kind = ? AND settled_at IS NOT NULL AND error IS NOT NULL
           ORDER BY settled_at DESC, id DESC LIMIT -1 OFFSET ?)`,
      ...[this.#kind, count]
    );
  }

  // ── Reading ──

  /** The first item that was added after this one. `isOpen`: of those that are not over; an index has them by lane. */
  after(id: number, { lane, isOpen }: { lane: string | undefined; isOpen: boolean }): WorkRow | undefined {
    const isOfLane = lane === undefined ? "" : " AND lane = ?";
    const isNotOver = isOpen ? " AND settled_at IS NULL" : "";
    // In the order of the table, if not by lane: the index of kinds would sort all of them for each item.
    const kind = lane !== undefined && isOpen ? "kind" : "+kind";
    return this.#table.one<WorkRow>(
      `SELECT ${COLUMNS} FROM cf_work WHERE ${kind} = ? AND id > ?${isOfLane}${isNotOver} ORDER BY id LIMIT 1`,
      ...[this.#kind, id, ...(lane === undefined ? [] : [lane])]
    );
  }

  /** Those that were given up and are kept, the newest first. */
  dead(): WorkRow[] {
    return this.#table.all<WorkRow>(
      `SELECT ${COLUMNS} FROM cf_work WHERE kind = ? AND settled_at IS NOT NULL AND error IS NOT NULL
       ORDER BY settled_at DESC, id DESC`,
      this.#kind
    );
  }

  /** Whether so many, or more, are not over. With lanes an index has those: what is settled is not counted. */
  holdsAtLeast(count: number): boolean {
    // The span of ids bounds the count and costs two lookups.
    const ids = this.#table.one<{ span: number }>(
      "SELECT (SELECT MAX(id) FROM cf_work) - (SELECT MIN(id) FROM cf_work) + 1 AS span"
    );
    if ((ids?.span ?? 0) < count) return false;
    const hasLane = this.#hasLanes ? " AND lane IS NOT NULL" : "";
    return (
      this.#table.one(
        `SELECT 1 AS found FROM cf_work WHERE kind = ? AND settled_at IS NULL${hasLane} LIMIT 1 OFFSET ?`,
        ...[this.#kind, count - 1]
      ) !== undefined
    );
  }
}

export function stateOf({ settledAt, claimedAt, dueAt, error }: WorkRow): WorkState {
  if (settledAt !== null) return error === null ? "settled" : "dead";
  if (claimedAt !== null) return "claimed";
  return dueAt === null ? "parked" : "waiting";
}

/** What of a row is not as it was written; undefined: nothing. */
export function damageOf(row: WorkRow): string | undefined {
  const { key, lane, payload, dueAt, claimedAt, settledAt, troubledSince, claim, starts, failures, createdAt } = row;
  if (typeof key !== "string" || typeof payload !== "string") return "its key or payload is no text";
  if (lane !== null && typeof lane !== "string") return "its lane is no text";
  const isTime = (at: number | null) => at === null || (typeof at === "number" && at >= 0 && at <= NO_TIME);
  if (![dueAt, claimedAt, settledAt, troubledSince].every(isTime)) return "one of its times is none";
  return [claim, starts, failures, createdAt].every(isCount) ? undefined : "one of its counts is none";
}
