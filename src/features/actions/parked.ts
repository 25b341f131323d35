// Actions that wait for a human. A row goes parked -> approved or rejected -> done, and is closed when its outcome is in the
// transcript: it is kept for a day, to answer a decision that is sent again. Each arrow is one statement that only one caller can win. The input is stored with its hash: what is run
// is what was shown. Deciding and running are approvals.ts.
import { sha256 } from "../../host/blobs.ts";
import { TableSet } from "../../host/table-set.ts";
import { PAUSE_TABLES } from "./action-tables.ts";
import { grantOf } from "../../feature/approval-contract.ts";
import type { ActionApprovalDescriptor, ActionGrant, PausedOutput } from "../../feature/approval-contract.ts";
import type { ParkedCall } from "../../turn/late-outcomes.ts";
import { byteLength } from "../../util/bytes.ts";
import { isObject, parseJson, type Json } from "../../util/json.ts";
import type { ActionMembers } from "./capability.ts";
import { actionErrors } from "./errors.ts";
import { hashedInput, jsonText } from "./json-copy.ts";
import type { ActionsHost, ActionTurn } from "./runtime.ts";

/** Actions waiting at once; a further one is refused, and the model reads why. */
export const MAX_PARKED = 1_000;
/** Of an input's JSON: it is stored twice in one row, which must stay below the platform's 2 MB. */
export const MAX_PARKED_INPUT_BYTES = 500_000;
/** How long a decision that is sent again gets its first answer. */
const CLOSED_KEPT_MS = 24 * 3_600_000;
/** Earlier versions wrote two other states, which say what was decided. */
const IS_CLOSED = "state IN ('closed', 'closed-approved', 'closed-rejected')";
const EXECUTION_PREFIX = "actpause_";

const PARKED_STATES = ["parked", "approved", "rejected", "done"] as const;

export type ParkedState = (typeof PARKED_STATES)[number];

export interface ParkedAction extends ParkedCall {
  readonly id: number;
  readonly state: ParkedState;
  readonly input: Json;
  readonly inputHash: string;
  readonly descriptor: ActionApprovalDescriptor;
  readonly grant: ActionGrant;
  readonly createdAt: number;
  /** When it needs work: a parked one expires, a decided one goes on. */
  readonly dueAt: number | null;
  readonly decidedBy: string | null;
  readonly reason: string | null;
  /** Of a row that is done; undefined also when the action returned nothing. */
  readonly outcome: Json | undefined;
}

interface ParkedRow {
  id: number;
  execution_id: string;
  state: string;
  action: string;
  tool_call_id: string;
  turn_id: string;
  request_id: string;
  message_id: string;
  input: string;
  input_hash: string;
  descriptor: string;
  grant_snapshot: string;
  created_at: number;
  due_at: number | null;
  decided_by: string | null;
  reason: string | null;
  outcome: string | null;
}

export class Parked {
  readonly #host: ActionsHost;
  readonly #sql: TableSet;
  readonly #lost: (call: ParkedCall) => void;

  /** `lost` is called for a row that could not be read and is gone, in the transaction that removed it. */
  constructor(host: ActionsHost, lost: (call: ParkedCall) => void) {
    this.#host = host;
    this.#sql = new TableSet(host.sql, PAUSE_TABLES);
    this.#lost = lost;
  }

  /** What the model reads instead of a result. A call that is parked already is parked once. */
  park(init: { turn: ActionTurn; descriptor: ActionApprovalDescriptor; grant: ActionGrant }): PausedOutput {
    const { descriptor, turn } = init;
    const { text, hash } = hashedInput(descriptor.action, descriptor.input);
    if (byteLength(text) > MAX_PARKED_INPUT_BYTES) {
      throw actionErrors.ActionParkingError(
        descriptor.action,
        `its input is larger than ${MAX_PARKED_INPUT_BYTES} bytes`
      );
    }
    const known = this.#sql.one<{ execution_id: string }>(
      `SELECT execution_id FROM cf_action_pauses
       WHERE tool_call_id = ? AND turn_id = ? AND input_hash = ? AND NOT ${IS_CLOSED}`,
      descriptor.toolCallId,
      turn.turnId,
      hash
    );
    const executionId = known?.execution_id ?? this.#insert({ ...init, text, hash });
    return {
      status: "paused",
      executionId,
      action: descriptor.action,
      message: `"${descriptor.action}" waits for a human's approval and has not run. Stop here and tell the user; the conversation goes on once it is decided.`
    };
  }

  #insert(init: ParkedDraft): string {
    const { clock, ids, agent, emit, rearm } = this.#host;
    const sql = this.#sql;
    const { turn, descriptor, grant, text, hash } = init;
    const { action, toolCallId } = descriptor;
    const counted = `SELECT COUNT(*) AS waiting FROM cf_action_pauses WHERE NOT ${IS_CLOSED}`;
    const waiting = sql.one<{ waiting: number }>(counted)?.waiting ?? 0;
    if (waiting >= MAX_PARKED)
      throw actionErrors.ActionParkingError(action, `${MAX_PARKED} others are waiting already`);
    const described = jsonText(descriptor);
    if (!described.ok || described.value === undefined)
      throw actionErrors.ActionParkingError(action, "its input has no JSON");
    const executionId = `${EXECUTION_PREFIX}${ids.next()}`;
    const now = clock.now();
    // Only agents with these members have actions.
    const ttl = (agent as ActionMembers).actionPendingApprovalTtlMs;
    sql.run(
      `INSERT INTO cf_action_pauses (execution_id, state, action, tool_call_id, turn_id, request_id, message_id, input,
         input_hash, descriptor, grant_snapshot, created_at, due_at)
       VALUES (?, 'parked', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      executionId,
      action,
      toolCallId,
      turn.turnId,
      turn.requestId,
      turn.messageId,
      text,
      hash,
      described.value,
      JSON.stringify(grant),
      now,
      ttl === false ? null : now + ttl
    );
    rearm();
    emit("action:pause:created", { action, executionId, toolCallId });
    return executionId;
  }

  /** One caller wins: true only for the one that took the row from "parked". */
  decide(
    executionId: string,
    decision: { state: "approved" | "rejected"; by: string | null; reason: string | null }
  ): boolean {
    const now = this.#host.clock.now();
    const won =
      this.#sql.change(
        `UPDATE cf_action_pauses SET state = ?, decided_at = ?, decided_by = ?, reason = ?, due_at = ?
         WHERE execution_id = ? AND state = 'parked'`,
        decision.state,
        now,
        decision.by,
        decision.reason,
        now,
        executionId
      ).changed === 1;
    if (won) this.#host.rearm();
    return won;
  }

  /** Remembers the outcome until it can be put in its place. */
  finish(executionId: string, outcome: Json | undefined): void {
    this.#sql.change(
      "UPDATE cf_action_pauses SET state = 'done', outcome = ?, due_at = NULL WHERE execution_id = ?",
      outcome === undefined ? null : JSON.stringify(outcome),
      executionId
    );
  }

  /** Its outcome is in its place. */
  close(executionId: string, outcome: Json | undefined): void {
    this.#sql.change(
      "UPDATE cf_action_pauses SET state = 'closed', outcome = ?, decided_at = ?, due_at = NULL WHERE execution_id = ?",
      outcome === undefined ? null : JSON.stringify(outcome),
      this.#host.clock.now(),
      executionId
    );
  }

  /** With the state "done". */
  closed(executionId: string): ParkedAction | undefined {
    const stored = this.#sql.one<ParkedRow>(
      `SELECT * FROM cf_action_pauses WHERE execution_id = ? AND ${IS_CLOSED} AND decided_at > ?`,
      executionId,
      this.#host.clock.now() - CLOSED_KEPT_MS
    );
    return stored && parse({ ...stored, state: "done" });
  }

  sweepClosed(): void {
    const sql = this.#sql;
    const old = `FROM cf_action_pauses WHERE ${IS_CLOSED} AND decided_at <= ?`;
    const before = this.#host.clock.now() - CLOSED_KEPT_MS;
    // Most sweeps find nothing, and write nothing.
    if (sql.one(`SELECT 1 ${old} LIMIT 1`, before)) sql.change(`DELETE ${old}`, before);
  }

  /** An approved row whose effect may be tried again later. */
  postpone(executionId: string, dueAt: number): void {
    this.#sql.change("UPDATE cf_action_pauses SET due_at = ? WHERE execution_id = ?", dueAt, executionId);
  }

  /** What was postponed is due now. */
  makeDue(nowMs: number): void {
    this.#sql.change("UPDATE cf_action_pauses SET due_at = ? WHERE state = 'approved' AND due_at > ?", nowMs, nowMs);
  }

  delete(executionId: string): void {
    this.#sql.change("DELETE FROM cf_action_pauses WHERE execution_id = ?", executionId);
  }

  find(executionId: string): ParkedAction | undefined {
    return this.#read("execution_id = ?", executionId)[0];
  }

  /** Waiting for a human, oldest first; all of them, or one. */
  waiting(executionId?: string): ParkedAction[] {
    if (executionId === undefined) return this.#read("state = 'parked' ORDER BY id");
    return this.#read("state = 'parked' AND execution_id = ?", executionId);
  }

  /** Decided, and not yet in the transcript. */
  decided(): ParkedAction[] {
    return this.#read("state <> 'parked' ORDER BY id");
  }

  /** Every row of one turn. */
  ofTurn(turnId: string): ParkedAction[] {
    return this.#read("turn_id = ? ORDER BY id", turnId);
  }

  /** What needs work by now, longest overdue first. */
  due(nowMs: number, limit: number): ParkedAction[] {
    return this.#read("due_at <= ? ORDER BY due_at LIMIT ?", nowMs, limit);
  }

  /** The first due time after `nowMs`. */
  nextDue(nowMs: number): number | null {
    return (
      this.#sql.one<{ at: number | null }>("SELECT MIN(due_at) AS at FROM cf_action_pauses WHERE due_at > ?", nowMs)
        ?.at ?? null
    );
  }

  /** The conversation is gone, and with it every question about it. */
  deleteAll(): void {
    this.#sql.change("DELETE FROM cf_action_pauses");
  }

  /** Of rows that are not closed. */
  #read(where: string, ...values: (string | number)[]): ParkedAction[] {
    const query = `SELECT * FROM cf_action_pauses WHERE NOT ${IS_CLOSED} AND ${where}`;
    const rows = this.#sql.all<ParkedRow>(query, ...values);
    return rows.flatMap((row) => parse(row) ?? this.#setAside(row));
  }

  /** A row that cannot be read cannot be approved either: what a human would agree to is not known. */
  #setAside(row: ParkedRow): [] {
    const sql = this.#sql;
    sql.transaction(() => {
      this.#host.quarantine({
        table: "cf_action_pauses",
        key: row.execution_id,
        body: JSON.stringify(row),
        error: "its state, input, descriptor or grant is not what was stored"
      });
      sql.change("DELETE FROM cf_action_pauses WHERE id = ?", row.id);
      this.#lost(callOf(row));
    });
    return [];
  }
}

interface ParkedDraft {
  readonly turn: ActionTurn;
  readonly descriptor: ActionApprovalDescriptor;
  readonly grant: ActionGrant;
  readonly text: string;
  readonly hash: string;
}

export function isPauseId(executionId: string): boolean {
  return executionId.startsWith(EXECUTION_PREFIX);
}

export function isPausedOutput(output: unknown): output is PausedOutput {
  return (
    isObject(output) &&
    output["status"] === "paused" &&
    typeof output["executionId"] === "string" &&
    isPauseId(output["executionId"])
  );
}

function callOf(row: ParkedRow): ParkedCall {
  return {
    executionId: row.execution_id,
    action: row.action,
    toolCallId: row.tool_call_id,
    turnId: row.turn_id,
    requestId: row.request_id,
    messageId: row.message_id
  };
}

/** Undefined when any column is not what `park` wrote. */
function parse(row: ParkedRow): ParkedAction | undefined {
  const input = parseJson(row.input);
  const descriptor = parseJson(row.descriptor);
  const grant = parseJson(row.grant_snapshot);
  const outcome = row.outcome === null ? undefined : parseJson(row.outcome);
  const state = PARKED_STATES.find((known) => known === row.state);
  if (!state || !input.ok || !descriptor.ok || !grant.ok || outcome?.ok === false) return undefined;
  if (sha256(row.input) !== row.input_hash || !isObject(descriptor.value)) return undefined;
  return {
    ...callOf(row),
    id: row.id,
    state,
    // Only `park` and `finish` write these columns, and only JSON of these shapes.
    input: input.value as Json,
    inputHash: row.input_hash,
    descriptor: descriptor.value as object as ActionApprovalDescriptor,
    grant: grantOf(grant.value),
    createdAt: row.created_at,
    dueAt: row.due_at,
    decidedBy: row.decided_by,
    reason: row.reason,
    outcome: outcome?.value as Json | undefined
  };
}
