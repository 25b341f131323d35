// The record of effects: one row per key, written before the effect begins and settled with its result, so that a key
// that is settled never runs again, and one that is not is never taken for one that did not happen. A claim, a settle
// and a release are each one transaction. An attempt that lost its row to a later one can no longer change it.
import { TableSet } from "../../host/table-set.ts";
import { LEDGER_TABLES, UNKNOWN_INPUT_HASH } from "./action-tables.ts";
import type { ActionLedgerEntry, ListLedgerOptions } from "../../feature/approval-contract.ts";
import { parseJson, type Json } from "../../util/json.ts";
import type { ActionMembers } from "./capability.ts";
import { decideClaim } from "./ledger-decision.ts";
import type { ActionsHost } from "./runtime.ts";

/** Rows one listing gives. */
const MAX_LISTED_ENTRIES = 500;

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULT_RETENTION = { settledMs: 30 * DAY_MS, pendingMs: 90 * DAY_MS, maxSweepRows: 500 } as const;
/** Rows one sweep looks at; the rest waits for the next. */
const MAX_SCANNED = 2_000;

export interface SweptRows {
  readonly settled: number;
  readonly pending: number;
}

interface LedgerAge {
  id: number;
  status: string;
  started_at: number;
  leased_at: number;
  settled_at: number | null;
}

/** A call on its way through the ledger. */
export interface LedgerCall {
  readonly key: string;
  readonly keyIsExplicit: boolean;
  readonly action: string;
  readonly inputHash: string;
  readonly requestId: string;
  readonly toolCallId: string;
  /** Who approved it; null without an approval. */
  readonly approver: string | null;
}

/** A right to run, until it is settled, released or taken over. */
export interface Claim {
  readonly key: string;
  readonly attempt: number;
}

export type ClaimAnswer =
  | { readonly do: "run"; readonly claim: Claim }
  | { readonly do: "rerun"; readonly claim: Claim; readonly ageMs: number }
  | { readonly do: "replay"; readonly output: Json | undefined }
  | { readonly do: "join" }
  | { readonly do: "conflict" }
  | { readonly do: "pending"; readonly retryAt: number | null; readonly startedAt: number };

interface LedgerRow {
  id: number;
  key: string;
  action: string;
  input_hash: string;
  is_explicit: number;
  status: ActionLedgerEntry["status"];
  attempt: number;
  approver: string | null;
  request_id: string;
  tool_call_id: string;
  started_at: number;
  leased_at: number;
  settled_at: number | null;
  output: string | null;
}

const COLUMNS = `id, key, action, input_hash, is_explicit, status, attempt, approver, request_id, tool_call_id,
  started_at, leased_at, settled_at, output`;

type LedgerHost = Pick<ActionsHost, "agent" | "sql" | "clock">;

export class Ledger {
  readonly #host: LedgerHost;
  readonly #sql: TableSet;
  readonly #isRunning: (key: string) => boolean;

  /** `isRunning`: whether this process is executing under the key right now. */
  constructor(host: LedgerHost, isRunning: (key: string) => boolean) {
    this.#host = host;
    this.#sql = new TableSet(host.sql, LEDGER_TABLES);
    this.#isRunning = isRunning;
  }

  /** The settings of the class, which may change. */
  get #settings(): ActionMembers {
    // Only agents with these members have actions.
    return this.#host.agent as ActionMembers;
  }

  /** How long a claim holds without a sign of life; false: for ever. */
  get leaseMs(): number | false {
    return this.#settings.actionLedgerPendingRetryLeaseMs;
  }

  /** Reads, decides and writes in one transaction: of two calls with one key, one runs. */
  claim(call: LedgerCall): ClaimAnswer {
    return this.#sql.transaction((): ClaimAnswer => {
      const row = this.#read(call.key);
      const nowMs = this.#host.clock.now();
      const verdict = decideClaim(row && stateOf(row), {
        ...call,
        nowMs,
        leaseMs: this.leaseMs,
        isRunningHere: this.#isRunning(call.key)
      });
      switch (verdict.do) {
        case "run":
          this.#insert(call, { status: "pending", attempt: 1, nowMs });
          return { ...verdict, claim: { key: call.key, attempt: 1 } };
        case "rerun":
          return { ...verdict, claim: this.#takeOver(call, (row?.attempt ?? 0) + 1) };
        case "replay":
          return { ...verdict, output: row && outputOf(row) };
        case "pending":
          return { ...verdict, startedAt: row?.started_at ?? nowMs };
        case "join":
        case "conflict":
          return verdict;
      }
    });
  }

  /** The effect happened. False when a later attempt owns the row. */
  settle(claim: Claim, output: Json | undefined): boolean {
    return (
      this.#sql.change(
        "UPDATE cf_action_ledger SET status = 'settled', settled_at = ?, output = ? WHERE key = ? AND attempt = ? AND status = 'pending'",
        this.#host.clock.now(),
        encode(output),
        claim.key,
        claim.attempt
      ).changed === 1
    );
  }

  /** What became of a key that an execution has lost to a later attempt; undefined when nothing is recorded any more. */
  successorOf({ key }: Claim): { readonly settled: [Json | undefined] } | { readonly startedAt: number } | undefined {
    const row = this.#read(key);
    if (!row) return undefined;
    return row.status === "pending" ? { startedAt: row.started_at } : { settled: [outputOf(row)] };
  }

  /** The execution failed: the call may be made again. */
  release(claim: Claim): void {
    this.#sql.change(
      "DELETE FROM cf_action_ledger WHERE key = ? AND attempt = ? AND status = 'pending'",
      claim.key,
      claim.attempt
    );
  }

  /** A sign of life. False when a later attempt owns the row. */
  renew(claim: Claim): boolean {
    return (
      this.#sql.change(
        "UPDATE cf_action_ledger SET leased_at = ? WHERE key = ? AND attempt = ? AND status = 'pending'",
        this.#host.clock.now(),
        claim.key,
        claim.attempt
      ).changed === 1
    );
  }

  /** Records that a human, or the passing of time, refused a call. Part of the caller's transaction. */
  refuse(call: LedgerCall, output: Json): void {
    if (this.#read(call.key)) return;
    this.#insert(call, { status: "refused", attempt: 0, nowMs: this.#host.clock.now(), output });
  }

  /** The operator's word about a pending row. */
  resolve(key: string, resolution: { output: Json | undefined; by: string | null } | "retry"): ResolveAnswer {
    const sql = this.#sql;
    return sql.transaction((): ResolveAnswer => {
      const row = this.#read(key);
      if (!row) return "not-found";
      if (row.status !== "pending") return "not-pending";
      if (this.#isRunning(key)) return "running";
      if (resolution === "retry") {
        sql.change("DELETE FROM cf_action_ledger WHERE id = ?", row.id);
      } else {
        sql.change(
          "UPDATE cf_action_ledger SET status = 'settled', settled_at = ?, output = ?, approver = COALESCE(?, approver) WHERE id = ?",
          this.#host.clock.now(),
          encode(resolution.output),
          resolution.by,
          row.id
        );
      }
      return "resolved";
    });
  }

  /** What the effect of this very call returned, if it is known; in a list, because it may have returned nothing. */
  settledOutput(
    call: Pick<LedgerCall, "requestId" | "toolCallId" | "action" | "inputHash">
  ): [Json | undefined] | undefined {
    const row = this.#sql.one<LedgerRow>(
      `SELECT ${COLUMNS} FROM cf_action_ledger
       WHERE request_id = ? AND tool_call_id = ? AND action = ? AND input_hash IN (?, ?) AND status = 'settled'
       ORDER BY id DESC LIMIT 1`,
      call.requestId,
      call.toolCallId,
      call.action,
      call.inputHash,
      UNKNOWN_INPUT_HASH
    );
    return row && [outputOf(row)];
  }

  list({ status, limit = 100, before }: ListLedgerOptions = {}): ActionLedgerEntry[] {
    const rows = this.#sql.all<LedgerRow>(
      `SELECT ${COLUMNS} FROM cf_action_ledger
       WHERE id < ? AND (? IS NULL OR status = ?) ORDER BY id DESC LIMIT ?`,
      before ?? Number.MAX_SAFE_INTEGER,
      status ?? null,
      status ?? null,
      Math.min(Math.max(1, Math.floor(limit)), MAX_LISTED_ENTRIES)
    );
    return rows.map((row) => entryOf(row, this.#isRunning(row.key)));
  }

  /**
   * Deletes old rows, oldest first, a bounded number at a time. Row numbers grow with age, so the walk ends at the first row
   * that is too young for any rule.
   */
  sweep(): SweptRows {
    const { settledMs, pendingMs, maxSweepRows } = { ...DEFAULT_RETENTION, ...this.#settings.actionLedgerRetention };
    const now = this.#host.clock.now();
    const settledBefore = settledMs === false ? -Infinity : now - settledMs;
    const pendingBefore = pendingMs === false ? -Infinity : now - pendingMs;
    const oldest = this.#sql.all<LedgerAge>(
      "SELECT id, status, started_at, leased_at, settled_at FROM cf_action_ledger ORDER BY id LIMIT ?",
      MAX_SCANNED
    );
    const due: { id: number; isPending: boolean }[] = [];
    for (const row of oldest) {
      const isOld = row.started_at < Math.max(settledBefore, pendingBefore);
      if (!isOld || due.length >= maxSweepRows) break;
      const isPending = row.status === "pending";
      const isDue = isPending ? row.leased_at < pendingBefore : (row.settled_at ?? row.started_at) < settledBefore;
      if (isDue) due.push({ id: row.id, isPending });
    }
    if (due.length > 0) {
      this.#sql.transaction(() => {
        for (const { id } of due) this.#sql.change("DELETE FROM cf_action_ledger WHERE id = ?", id);
      });
    }
    const pending = due.filter((row) => row.isPending).length;
    return { settled: due.length - pending, pending };
  }

  #read(key: string): LedgerRow | undefined {
    return this.#sql.one<LedgerRow>(`SELECT ${COLUMNS} FROM cf_action_ledger WHERE key = ?`, key);
  }

  #insert(
    call: LedgerCall,
    row: { status: "pending" | "refused"; attempt: number; nowMs: number; output?: Json }
  ): void {
    this.#sql.run(
      `INSERT INTO cf_action_ledger (key, action, input_hash, is_explicit, status, attempt, approver, request_id,
         tool_call_id, started_at, leased_at, settled_at, output) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      call.key,
      call.action,
      call.inputHash,
      call.keyIsExplicit ? 1 : 0,
      row.status,
      row.attempt,
      call.approver,
      call.requestId,
      call.toolCallId,
      row.nowMs,
      row.nowMs,
      row.status === "refused" ? row.nowMs : null,
      encode(row.output)
    );
  }

  #takeOver(call: LedgerCall, attempt: number): Claim {
    this.#sql.change(
      `UPDATE cf_action_ledger SET attempt = ?, leased_at = ?, approver = COALESCE(?, approver), request_id = ?,
         tool_call_id = ? WHERE key = ?`,
      attempt,
      this.#host.clock.now(),
      call.approver,
      call.requestId,
      call.toolCallId,
      call.key
    );
    return { key: call.key, attempt };
  }
}

export type ResolveAnswer = "resolved" | "not-found" | "not-pending" | "running";

function stateOf(row: LedgerRow): Parameters<typeof decideClaim>[0] {
  const { status, action, attempt } = row;
  return { status, action, attempt, inputHash: row.input_hash, leasedAt: row.leased_at };
}

function entryOf(row: LedgerRow, isRunning: boolean): ActionLedgerEntry {
  return {
    id: row.id,
    key: row.key,
    action: row.action,
    status: row.status,
    effect: effectOf(row.status, isRunning),
    keyIsExplicit: row.is_explicit === 1,
    inputHash: row.input_hash,
    attempt: row.attempt,
    approver: row.approver,
    requestId: row.request_id,
    toolCallId: row.tool_call_id,
    startedAt: row.started_at,
    settledAt: row.settled_at,
    output: outputOf(row)
  };
}

function effectOf(status: ActionLedgerEntry["status"], isRunning: boolean): ActionLedgerEntry["effect"] {
  if (status === "settled") return "ran";
  if (status === "refused") return "refused";
  return isRunning ? "running" : "unknown";
}

/** Null in the column is undefined: `null` itself is the text "null". */
function encode(output: Json | undefined): string | null {
  return output === undefined ? null : JSON.stringify(output);
}

/** An unreadable result is still the result of an effect that happened: it is never a reason to run it again. */
function outputOf(row: LedgerRow): Json | undefined {
  if (row.output === null) return undefined;
  const parsed = parseJson(row.output);
  // Only `encode` writes the column.
  return parsed.ok ? (parsed.value as Json) : { serialized: false, error: "the stored result cannot be read" };
}
