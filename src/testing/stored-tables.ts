// Statements of tests on what an object has stored. Objects make their tables on the first write; a test need not know
// which exist: one that does not exist yet reads as an empty one, and is made if the test writes to it.
import { BUDGET_TABLES, TURN_LIMIT_TABLES } from "../features/budgets/tables.ts";
import { ATTACHMENT_TABLES } from "../features/actions/attachments.ts";
import { RESULT_TABLES } from "../features/actions/results.ts";
import { FIBER_TABLES } from "../features/fibers/fiber-table.ts";
import { QUEUE_TABLE } from "../features/queue/queue-item.ts";
import { SCHEDULE_ROWS } from "../features/schedules/schedule-table.ts";
import { STATE_TABLES } from "../agent/state.ts";
import { WAKES } from "../agent/tree/child-wakes.ts";
import { GIVEN_STEER_TABLES } from "../features/agent-tools/given-steers.ts";
import { OWN_RUN_TABLES } from "../features/agent-tools/own-run.ts";
import { OWN_RUN_TURN_TABLES } from "../features/agent-tools/run-stream.ts";
import { RUN_TABLES } from "../features/agent-tools/run-table.ts";
import { CHILDREN_TABLES } from "../agent/tree/children.ts";
import { WORKFLOW_TABLES } from "../features/workflows/workflow-table.ts";
import { EXECUTION_TABLES } from "../features/execute/tables.ts";
import { BLOB_TABLES } from "../host/blobs.ts";
import type { Database } from "./inprocess/database.ts";
import type { SqlValue } from "../host/ports.ts";
import { QUARANTINE_TABLES } from "../host/quarantine.ts";
import { TAKEOVER_TABLES } from "../host/takeover.ts";
import { CONVERSATION_TABLES } from "../journal/conversation.ts";
import { CHANGE_TABLES, TURN_TABLES } from "../journal/history.ts";
import { WAITING_TURN_TABLES } from "../journal/open-turn-rows.ts";
import { JOURNAL_TABLES } from "../journal/rows.ts";
import { MCP_TABLES } from "../features/mcp/server-store.ts";
import { BLOCK_TABLES } from "../session/context/agent-context-provider.ts";
import { ENTRY_TABLES } from "../session/context/agent-search-provider.ts";
import { PROMPT_TABLES } from "../session/context/prompt-store.ts";
import { MESSAGE_TABLES } from "../session/message-rows.ts";
import { COMPACTION_TABLES } from "../session/overlay-rows.ts";
import { SEARCH_TABLES } from "../session/search-index.ts";
import { USAGE_TABLES } from "../session/tokens-reported.ts";
import { LEDGER_TABLES, PAUSES } from "../features/actions/action-tables.ts";
import { CLAIM_TABLES } from "../agent/tree/closed-conversations.ts";
import { TASK_TABLES } from "../features/tasks/task-table.ts";
import { MEMORY_TABLES } from "../features/models/memory.ts";
import { ACTIVATION_TABLES } from "../features/skills/activations.ts";
import { DECISION_TABLES } from "../features/approvals/decision-log.ts";
import { WORK_TABLES } from "../work/work-table.ts";
import { APPROVAL_TABLES } from "../features/workflows/workflow-approvals.ts";
import { WORKFLOW_OUTBOX } from "../features/workflows/outbox-table.ts";
import { SUBMISSION_TABLES } from "../features/submissions/submission-table.ts";
import { CHAT_SDK_TABLES } from "../features/chat-sdk/state-store.ts";
import { ASKED_TABLES } from "../features/messengers/approvals.ts";
import { MESSENGER_EVENTS, MESSENGER_REPLIES, MESSENGER_TURNS } from "../features/messengers/replaced-tables.ts";
import { MESSENGER_STATE_TABLES } from "../features/messengers/state.ts";
import { CONFIG_TABLES } from "../agent/config.ts";
import { IDEMPOTENCY_TABLES } from "../session/idempotency.ts";

/** Tables of older builds that became items of durable work. */
export const MOVED_TABLES = [
  ...[WORKFLOW_OUTBOX, PAUSES, WAKES, SCHEDULE_ROWS, QUEUE_TABLE],
  ...[MESSENGER_REPLIES, MESSENGER_EVENTS, MESSENGER_TURNS]
];

type Result = ReturnType<Database["run"]>;

/** Every table of the package but cf_meta, which all objects have. */
export const ALL_TABLES = [
  ...[QUARANTINE_TABLES, BLOB_TABLES, STATE_TABLES, FIBER_TABLES, WORKFLOW_TABLES],
  ...[CHILDREN_TABLES, JOURNAL_TABLES, CONVERSATION_TABLES, WAITING_TURN_TABLES, MESSAGE_TABLES],
  ...[COMPACTION_TABLES],
  ...[USAGE_TABLES, SEARCH_TABLES, BLOCK_TABLES, ENTRY_TABLES, PROMPT_TABLES, CONFIG_TABLES, IDEMPOTENCY_TABLES],
  ...[LEDGER_TABLES, RESULT_TABLES, ATTACHMENT_TABLES, TURN_TABLES, CHANGE_TABLES],
  ...[
    RUN_TABLES,
    OWN_RUN_TABLES,
    GIVEN_STEER_TABLES,
    OWN_RUN_TURN_TABLES,
    MCP_TABLES,
    SUBMISSION_TABLES,
    WORK_TABLES,
    APPROVAL_TABLES,
    TASK_TABLES
  ],
  ...[DECISION_TABLES, BUDGET_TABLES, TURN_LIMIT_TABLES],
  ...[EXECUTION_TABLES, MEMORY_TABLES, ACTIVATION_TABLES, TAKEOVER_TABLES],
  ...[MESSENGER_STATE_TABLES, ASKED_TABLES, CLAIM_TABLES, CHAT_SDK_TABLES]
].flat();

export function runOnStored(database: Database, query: string, values: readonly SqlValue[]): Result {
  database.run("SAVEPOINT stored_tables");
  let hasWritten = false;
  try {
    const result = runMakingTables(database, query, values);
    hasWritten = result.hasWritten;
    return result;
  } finally {
    if (!hasWritten) database.run("ROLLBACK TO stored_tables");
    database.run("RELEASE stored_tables");
  }
}

function runMakingTables(database: Database, query: string, values: readonly SqlValue[]): Result {
  try {
    return database.run(query, ...values);
  } catch (error) {
    const missing = error instanceof Error ? /no such table: (\w+)/.exec(error.message)?.[1] : undefined;
    const table = ALL_TABLES.find(({ name }) => name === missing);
    if (table === undefined || !database.has("cf_meta")) throw error;
    for (const statement of table.create) database.run(statement);
    return runMakingTables(database, query, values);
  }
}
