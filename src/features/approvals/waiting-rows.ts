// What waits for a person in the database of one agent, read from the rows themselves: which questions, since when and how
// long. An inspector reads them of a running agent, and a program on the same machine reads them from the file of an agent
// that does not run. A row is a hint: whether its question can still be decided is the agent's to say.
import type { ReadRows } from "../../session/last-words.ts";
import { isObject, parseJson } from "../../util/json.ts";

export interface WaitingRow {
  /** The id of what waits: of an execution, or of a call of the chat. */
  readonly id: string;
  readonly askedAt: number;
  /** Null: it waits for ever. */
  readonly expiresAt: number | null;
}

/** Rows of each kind that are read; an agent refuses further actions at 1,000. */
const MAX_ROWS = 1_000;
/** The newest messages that are looked through for calls of the chat. */
const MAX_MESSAGES = 500;
/** Conversations of one agent whose messages are looked through. */
const MAX_CONVERSATIONS = 20;

/** By table. An agent of an older version has the table of parked actions until its next start. */
const KEPT_QUESTIONS: Readonly<Record<string, string>> = {
  cf_work: `SELECT key AS id, created_at AS asked_at,
      CASE WHEN json_type(payload, '$.escalation') IS NULL THEN due_at
        ELSE json_extract(payload, '$.escalation.expiresAt') END AS due_at
    FROM cf_work WHERE kind IN ('paused-action', 'budget-question') AND settled_at IS NULL
      AND CASE WHEN json_valid(payload) THEN json_extract(payload, '$.state') END = 'parked'
    ORDER BY id LIMIT ${MAX_ROWS}`,
  cf_action_pauses: `SELECT execution_id AS id, created_at AS asked_at, due_at FROM cf_action_pauses
    WHERE state = 'parked' ORDER BY id LIMIT ${MAX_ROWS}`,
  cm_executions: `SELECT id, updated_at AS asked_at, due_at FROM cm_executions WHERE status = 'paused' LIMIT ${MAX_ROWS}`,
  cf_workflow_approvals: `SELECT id, created_at AS asked_at, NULL AS due_at FROM cf_workflow_approvals
    WHERE decided_at IS NULL LIMIT ${MAX_ROWS}`
};

/** Found by primary key from the newest message up: the cost does not grow with the length of the conversation. */
const MESSAGES_WITH_QUESTIONS = `
  WITH RECURSIVE path (session_id, parent_id, content, created_at, place) AS (
    SELECT message.session_id, message.parent_id, message.content, message.created_at, 1
      FROM (SELECT id, leaf FROM cf_conversations LIMIT ${MAX_CONVERSATIONS}) AS conversation
      JOIN assistant_messages AS message ON message.session_id = conversation.id AND message.id = conversation.leaf
    UNION ALL
    SELECT message.session_id, message.parent_id, message.content, message.created_at, path.place + 1
      FROM path JOIN assistant_messages AS message ON message.session_id = path.session_id AND message.id = path.parent_id
      WHERE path.place < ${MAX_MESSAGES}
  )
  SELECT content, created_at FROM path WHERE instr(content, '"approval-requested"') > 0 LIMIT ${MAX_ROWS}`;

const CHAT_TABLES = ["cf_conversations", "assistant_messages"];

/** Oldest first. A table that the agent does not have, or that another version wrote, holds nothing. */
export function readWaitingRows(read: ReadRows): WaitingRow[] {
  const names = [...Object.keys(KEPT_QUESTIONS), ...CHAT_TABLES].map((name) => `'${name}'`).join(", ");
  const tables = new Set(
    rowsOf(read, `SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (${names})`).map(({ name }) => name)
  );
  const kept = Object.entries(KEPT_QUESTIONS).flatMap(([table, query]) =>
    tables.has(table) ? rowsOf(read, query).flatMap(keptQuestion) : []
  );
  const asked = CHAT_TABLES.every((table) => tables.has(table))
    ? rowsOf(read, MESSAGES_WITH_QUESTIONS).flatMap(askedInMessage)
    : [];
  return [...kept, ...asked].sort((first, second) => first.askedAt - second.askedAt);
}

function rowsOf(read: ReadRows, query: string): ReturnType<ReadRows> {
  try {
    return read(query);
  } catch {
    // Columns of another version: its agent brings them up to date at its next start.
    return [];
  }
}

function keptQuestion({ id, asked_at: askedAt, due_at: dueAt }: Readonly<Record<string, unknown>>): WaitingRow[] {
  if (typeof id !== "string") return [];
  return [{ id, askedAt: Number(askedAt), expiresAt: typeof dueAt === "number" ? dueAt : null }];
}

function askedInMessage({ content, created_at: createdAt }: Readonly<Record<string, unknown>>): WaitingRow[] {
  const parsed = typeof content === "string" ? parseJson(content) : undefined;
  const parts: unknown = parsed?.ok && isObject(parsed.value) ? parsed.value["parts"] : undefined;
  if (!Array.isArray(parts)) return [];
  const askedAt = typeof createdAt === "string" ? Date.parse(`${createdAt.replace(" ", "T")}Z`) : Number.NaN;
  return parts.flatMap((part: unknown): WaitingRow[] => {
    if (!isObject(part) || part["state"] !== "approval-requested" || typeof part["toolCallId"] !== "string") return [];
    return [{ id: part["toolCallId"], askedAt: Number.isFinite(askedAt) ? askedAt : 0, expiresAt: null }];
  });
}
