// Effects of actions of the original, and actions that wait for a human. No effect happens again because its object was
// taken over: a settled row answers its key with the stored value, and one that is not settled stays an unknown outcome,
// whatever its input was. The original's hashes of inputs are not ours, and the inputs themselves were not stored.
import { sha256 } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import { TableSet } from "../host/table-set.ts";
import type { TakeoverContext, TakeoverPart } from "../host/takeover.ts";
import { canonicalJson, isObject, parseJson, type Json } from "../util/json.ts";
import { LEDGER_TABLES, PAUSED_ACTION, UNKNOWN_INPUT_HASH } from "../features/actions/action-tables.ts";
import { WORK_TABLES } from "../work/work-table.ts";

const LEDGER_TABLE = "cf_think_action_ledger";
const APPROVALS_TABLE = "cf_think_action_pending_approvals";

interface OriginalEffect {
  key: string;
  action_name: string;
  request_id: string | null;
  tool_call_id: string | null;
  status: string;
  result_json: string | null;
  created_at: number;
  updated_at: number;
}

export const LEDGER: TakeoverPart = {
  kind: "action-ledger",
  tables: [LEDGER_TABLE],
  refuses: ({ count }) => [
    {
      what: "ledger rows with an unknown status",
      rows: count(LEDGER_TABLE, "status NOT IN ('pending', 'settled')")
    }
  ],
  carry({ sql, count }) {
    const found = count(LEDGER_TABLE);
    if (found === 0) return undefined;
    const table = new TableSet(sql, LEDGER_TABLES);
    // Oldest first: the sweep counts on it.
    const keys = sql.all<{ key: string }>(`SELECT key FROM ${LEDGER_TABLE} ORDER BY created_at, rowid`);
    for (const { key } of keys) {
      const row = sql.one<OriginalEffect>(`SELECT * FROM ${LEDGER_TABLE} WHERE key = ?`, key);
      if (row) carryEffect(table, row);
    }
    return { found, carried: found, left: 0 };
  }
};

function carryEffect(table: TableSet, row: OriginalEffect): void {
  const isSettled = row.status === "settled";
  const { key, isExplicit } = keyOf(row);
  table.run(
    `INSERT OR IGNORE INTO cf_action_ledger (key, action, input_hash, is_explicit, status, attempt, request_id,
       tool_call_id, started_at, leased_at, settled_at, output) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)`,
    ...[key, row.action_name, UNKNOWN_INPUT_HASH, isExplicit ? 1 : 0, isSettled ? "settled" : "pending"],
    ...[row.request_id ?? "", row.tool_call_id ?? "", row.created_at, row.updated_at],
    ...[isSettled ? row.updated_at : null, isSettled ? outputOf(row) : null]
  );
}

/** Ours name the request, too, where the class gave no key: call ids of some providers come again. */
function keyOf({ key, request_id, tool_call_id }: OriginalEffect): { key: string; isExplicit: boolean } {
  const isExplicit = !key.startsWith("tool:");
  return {
    key: isExplicit ? key : `tool:${request_id ?? ""}:${tool_call_id ?? key.slice("tool:".length)}`,
    isExplicit
  };
}

/** JSON, null for nothing. A result that cannot be read is still the result of an effect that happened. */
function outputOf({ result_json: text }: OriginalEffect): string | null {
  const parsed = text === null ? undefined : parseJson(text);
  if (!parsed?.ok || !isObject(parsed.value)) return text;
  const { valuePresent, value } = parsed.value;
  return valuePresent === false || value === undefined ? null : JSON.stringify(value);
}

interface OriginalApproval {
  execution_id: string;
  action_name: string;
  tool_call_id: string;
  request_id: string | null;
  input_json: string;
  descriptor_json: string | null;
  created_at: number;
}

export const APPROVALS: TakeoverPart = {
  kind: "approvals",
  tables: [APPROVALS_TABLE],
  refuses({ sql, has }) {
    const rows = has(APPROVALS_TABLE) ? approvalsOf(sql) : [];
    const unreadable = rows.filter((row) => !isReadable(row));
    return [{ what: "approvals whose input cannot be read", rows: unreadable.length }];
  },
  carry(context) {
    const rows = context.has(APPROVALS_TABLE) ? approvalsOf(context.sql) : [];
    // The others are here only if the class gives approvals up: without its input an action is not run.
    const carried = rows.filter(isReadable);
    for (const row of carried) carryApproval(context, row);
    return { found: rows.length, carried: carried.length, left: rows.length - carried.length };
  }
};

function isReadable({ input_json: input }: OriginalApproval): boolean {
  return parseJson(input).ok;
}

function approvalsOf(sql: Sql): OriginalApproval[] {
  return sql.all<OriginalApproval>(`SELECT * FROM ${APPROVALS_TABLE} ORDER BY created_at, rowid`);
}

function carryApproval({ sql, newId }: TakeoverContext, row: OriginalApproval): void {
  const parsed = parseJson(row.input_json);
  const input = (parsed.ok ? parsed.value : null) as Json;
  const described = row.descriptor_json === null ? undefined : parseJson(row.descriptor_json);
  const { execution_id: executionId, action_name: action, tool_call_id: toolCallId, request_id: requestId } = row;
  const turnId = newId();
  const payload = {
    ...{ state: "parked", action, toolCallId, turnId, requestId: requestId ?? "" },
    messageId: answerOf(sql, executionId),
    inputHash: sha256(canonicalJson(input)),
    descriptor: { ...((described?.ok ? described.value : undefined) ?? describe(row, input)), input },
    // The grant of its turn was not stored; what the action requires is checked again when it is approved.
    grant: { allowed: true },
    decidedBy: null,
    reason: null
  };
  new TableSet(sql, WORK_TABLES).run(
    "INSERT INTO cf_work (kind, key, lane, payload, created_at) VALUES (?, ?, ?, ?, ?)",
    ...[PAUSED_ACTION, executionId, turnId, JSON.stringify(payload), row.created_at]
  );
}

/** The answer that shows the paused output. Empty: it is not in the transcript any more. */
function answerOf(sql: Sql, executionId: string): string {
  const stored = sql.one<{ id: string }>(
    `SELECT id FROM assistant_messages WHERE session_id = '' AND role = 'assistant' AND instr(content, ?) > 0
     ORDER BY sequence DESC LIMIT 1`,
    executionId
  );
  return stored?.id ?? "";
}

function describe(row: OriginalApproval, input: Json) {
  const { request_id: requestId, tool_call_id: toolCallId, action_name: action } = row;
  return { requestId, toolCallId, action, summary: action, input, permissions: [], kind: "durable-pause" };
}
