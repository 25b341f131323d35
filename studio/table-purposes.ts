// What each table of the package is for. Tables of other names are the application's own.
export const TABLE_PURPOSES: Readonly<Record<string, string>> = {
  cf_meta: "Who the object is, and which layout its data has.",
  cf_quarantine: "Rows that could not be read, set aside with the reason.",
  cf_blobs: "Large contents, by their hash.",
  cf_blob_chunks: "The bytes of large contents, in pieces.",
  cf_blob_owners: "Which row needs which large content.",
  cf_state: "The state that setState() stored.",
  cf_fibers: "Fibers: work of runFiber() that goes on after a restart.",
  cf_workflows: "Workflows that were started, and how they ended.",
  cf_children: "Sub-agents of this agent.",
  cf_journal: "Records of turns that run, or ended in the last ten minutes.",
  cf_conversations: "Each conversation: its branch, its open turns, what its client said last.",
  cf_waiting_turns: "Turns that wait for their start.",
  assistant_messages: "Messages of the conversations.",
  assistant_compactions: "Summaries that stand for older messages.",
  cf_session_usage: "Tokens that the model reported for a history.",
  cf_search_sessions: "How far the search index of messages has come.",
  cf_search_messages: "Messages of the search index.",
  cf_search_text: "The words of the search index.",
  cf_context_blocks: "Memory: the text of each context block.",
  cf_context_entries: "Memory that is searched: its entries.",
  cf_context_entries_fts: "The words of that memory.",
  cf_context_prompts: "The prompt as it was frozen for its cache.",
  think_config: "What configure() stored.",
  cf_idempotency: "Calls that were made under a key, with their results.",
  cf_action_ledger: "Actions that ran or run, by their key: each of them once.",
  cf_action_results: "Results of actions that were too long for the model.",
  cf_action_attachments: "What actions attached to a reply.",
  cf_turns: "Turns that ended: what stays known of each.",
  cf_changes: "Changes of the history that no turn made.",
  cf_child_runs: "Runs of agent tools that this agent started.",
  cf_own_runs: "Runs that this agent makes for its parent.",
  cf_own_run_steers: "Words of the parent for such a run.",
  cf_own_run_turns: "Turns of such a run that ended to wait for more budget.",
  cf_mcp_servers: "MCP servers and how they are reached.",
  cf_mcp_credentials: "Logins of MCP servers.",
  cf_submissions: "Submissions, and how they ended.",
  cf_submission_names: "Keys of submissions.",
  cf_work: "Work that must happen: queue, schedules, wakes, replies, questions.",
  cf_workflow_approvals: "Questions of workflows that wait for a person.",
  cf_scheduled_tasks: "Tasks of getScheduledTasks(), with their next and last run.",
  cf_decisions: "Decisions over approvals, and who made them.",
  cf_budget_accounts: "Budgets: what each account has spent.",
  cf_budget_calls: "Budgets: model calls one by one, with what they reserved or cost.",
  cf_budget_grants: "Budgets: what a person granted.",
  cf_budget_limits: "Budgets: the limits of each open turn.",
  cm_executions: "Executed code, its result and its logs.",
  cm_log: "Calls that executed code made.",
  cm_snippets: "Code that was saved to be run again.",
  cf_failing_providers: "Models that failed a moment ago, and until when others stand in.",
  cf_active_skills: "Skills that the model activated.",
  cf_takeover: "What was taken over from another package.",
  cf_messenger_state: "What messengers keep between messages.",
  cf_messenger_approvals: "Questions that were asked in a messenger.",
  cf_messenger_conversations: "Conversations that belong to a messenger.",
  chat_sdk_state_subscriptions: "Chat SDK: threads that are followed.",
  chat_sdk_state_locks: "Chat SDK: threads that are being worked on.",
  chat_sdk_state_cache: "Chat SDK: its cache.",
  chat_sdk_state_queue: "Chat SDK: messages that wait.",
  chat_sdk_state_lists: "Chat SDK: its lists.",
  chat_sdk_state_metadata: "Chat SDK: its settings."
};

/** What full-text indexes of SQLite keep beside themselves. */
const PART_OF_INDEX = /^(.+)_(?:data|idx|content|docsize|config)$/;

export function purposeOf(table: string): string {
  const index = PART_OF_INDEX.exec(table)?.[1];
  const known = Object.hasOwn(TABLE_PURPOSES, table) ? TABLE_PURPOSES[table] : undefined;
  if (known !== undefined) return known;
  return index !== undefined && Object.hasOwn(TABLE_PURPOSES, index) ? `Part of ${index}.` : "A table of the class.";
}
