// The one number for how large the conversation is to the model: what the provider last counted, and an estimate of what
// is newer. The provider's count holds what an estimate cannot know (tools, prompt, its own tokenizer), so it is kept as
// what it counted beyond the estimate of the same messages. It is forgotten when it no longer says anything: after a
// compaction, on another branch, after deletions. One row per session.
import { Cached } from "../host/cached.ts";
import type { Sql } from "../host/ports.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import type { MessageStore } from "./message-store.ts";

/** A report that moves the number by less is not written: a turn whose count is as expected costs no row. */
const NOTABLE_FRACTION = 0.02;

const SELECT_USAGE = `SELECT message_sequence AS messageSequence, reported_tokens AS reportedTokens,
  extra_tokens AS extraTokens FROM cf_session_usage WHERE session_id = ?`;

export const USAGE_TABLES: readonly TableDefinition[] = [
  // Bound: one row per session. Deleted: by a compaction, a change of branch, clearMessages.
  {
    name: "cf_session_usage",
    create: [
      `CREATE TABLE cf_session_usage (
        session_id TEXT PRIMARY KEY,
        message_sequence INTEGER NOT NULL,
        reported_tokens INTEGER NOT NULL,
        extra_tokens INTEGER NOT NULL
      ) WITHOUT ROWID`
    ]
  }
];

export interface UsageReport {
  /** The newest message the count includes. */
  readonly messageId: string;
  /** What the provider counted as input of the call. */
  readonly inputTokens: number;
  /** Its output, when `messageId` is the answer that the call wrote. */
  readonly outputTokens?: number;
}

export interface UsageRow {
  readonly messageSequence: number;
  readonly reportedTokens: number;
  readonly extraTokens: number;
}

/** The row of a session, undefined without one. */
export function cachedUsage(sql: Sql, sessionId: string): Cached<UsageRow | undefined> {
  const table = new TableSet(sql, USAGE_TABLES);
  return new Cached(sql, () => table.one<UsageRow>(SELECT_USAGE, sessionId));
}

export class ReportedUsage {
  readonly #store: MessageStore;

  constructor(store: MessageStore) {
    this.#store = store;
  }

  /** Of a message that is not on the active path, or that a summary covers, nothing is noted. */
  note({ messageId, inputTokens, outputTokens = 0 }: UsageReport): void {
    const reported = Math.ceil(inputTokens + outputTokens);
    if (!Number.isSafeInteger(reported) || reported <= 0) return;
    const { scope, rows, overlays } = this.#store;
    scope.conversation.join(() => {
      const header = rows.header(messageId);
      if (header === undefined || overlays.isCovered(header)) return;
      const { isOnPath, below } = this.#store.locate(header);
      if (!isOnPath) return;
      const extra = reported - (this.#store.shownTotals().tokens - below.tokens);
      const before = this.#row();
      if (before !== undefined && Math.abs(before.extraTokens - extra) <= reported * NOTABLE_FRACTION) return;
      new TableSet(scope.host.sql, USAGE_TABLES).run(
        `INSERT OR REPLACE INTO cf_session_usage (session_id, message_sequence, reported_tokens, extra_tokens)
           VALUES (?, ?, ?, ?)`,
        scope.sessionId,
        header.sequence,
        reported,
        extra
      );
      scope.usage.drop();
    });
  }

  /** What the provider counts beyond the estimate of the messages; undefined without a report that still holds. */
  extraTokens(): number | undefined {
    return this.#row()?.extraTokens;
  }

  /** Order of writing of the message the report is about. */
  sequence(): number | undefined {
    return this.#row()?.messageSequence;
  }

  forget(): void {
    if (this.#row() === undefined) return;
    const { host, sessionId, usage } = this.#store.scope;
    new TableSet(host.sql, USAGE_TABLES).change("DELETE FROM cf_session_usage WHERE session_id = ?", sessionId);
    usage.drop();
  }

  #row(): UsageRow | undefined {
    return this.#store.scope.usage.value;
  }
}
