// The one row a conversation keeps beside its records and messages: where it stands now. Everything in it is a fold of
// the journal, kept so that a boot and a turn read one row instead of the records. All rooms change it through
// `transaction`, which writes it at most once, together with whatever else the transaction writes.
import type { Sql } from "../host/ports.ts";
import type { Json } from "../util/json.ts";

/** A turn that is accepted and has no outcome yet. */
export interface OpenTurn {
  readonly turnId: string;
  /** What its client calls it. */
  readonly requestId: string;
  /** Sequence of its admission: its records start there. */
  readonly firstSequence: number;
  readonly generation: number;
  /** The fence: the newest attempt, 0 before the first. Only it may write, and only while it is open. */
  readonly attempt: number;
  readonly attemptOpen: boolean;
  /** Number of the next chunk of its stream, as of its last attempt's start. */
  readonly firstChunk: number;
}

/** The last turn that failed, until something newer happened; shown to every client that asks. */
export interface FailedTurn {
  readonly requestId: string;
  readonly text: string;
  readonly messageIds: readonly string[];
}

export interface ConversationRow {
  /** Counts the clears. A turn of an older generation must not run. */
  generation: number;
  /** Newest message of the active path. */
  leaf: string | null;
  /** Creation order of the next message. */
  nextMessage: number;
  /** Oldest first: the running one, then the queue. */
  openTurns: readonly OpenTurn[];
  /** Settled, and their response hook has not returned. */
  respondingTurns: readonly string[];
  failedTurn: FailedTurn | null;
  /** Tools the client last described, and the custom fields of its last request. */
  clientTools: Json;
  body: Json;
  /** Sequence of the last clear: nothing up to it is read any more. */
  clearedSequence: number;
}

const EMPTY: ConversationRow = {
  generation: 0,
  leaf: null,
  nextMessage: 1,
  openTurns: [],
  respondingTurns: [],
  failedTurn: null,
  clientTools: null,
  body: null,
  clearedSequence: 0
};

interface StoredRow {
  generation: number;
  leaf: string | null;
  next_message: number;
  cleared_sequence: number;
  open_turns: string;
  responding_turns: string;
  failed_turn: string | null;
  client_tools: string | null;
  body: string | null;
}

export class Conversation {
  readonly id: string;
  readonly #sql: Sql;
  /** Write-through: the object is the only writer of its database. */
  #row: ConversationRow | undefined;
  #depth = 0;

  constructor(sql: Sql, id = "") {
    this.#sql = sql;
    this.id = id;
  }

  get row(): Readonly<ConversationRow> {
    this.#row ??= this.#load();
    return this.#row;
  }

  /**
   * One state change: `work` reads and writes what it needs, and may replace fields of the row (never change them in
   * place). All or nothing; nests. The row is written once, when the outermost transaction commits, and only if it changed.
   */
  transaction<T>(work: (row: ConversationRow) => T): T {
    const before = this.row;
    const isOutermost = this.#depth === 0;
    this.#row = { ...before };
    this.#depth += 1;
    try {
      return this.#sql.transaction(() => {
        const result = work(this.#draft());
        if (isOutermost && !isSame(before, this.#draft())) this.#store(this.#draft());
        return result;
      });
    } catch (error) {
      this.#row = before;
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  #draft(): ConversationRow {
    return this.#row ?? EMPTY;
  }

  #load(): ConversationRow {
    const stored = this.#sql.one<StoredRow>("SELECT * FROM cf_conversations WHERE id = ?", this.id);
    if (!stored) return EMPTY;
    return {
      generation: stored.generation,
      leaf: stored.leaf,
      nextMessage: stored.next_message,
      clearedSequence: stored.cleared_sequence,
      // Written by `#store` only.
      openTurns: JSON.parse(stored.open_turns) as OpenTurn[],
      respondingTurns: JSON.parse(stored.responding_turns) as string[],
      failedTurn: stored.failed_turn === null ? null : (JSON.parse(stored.failed_turn) as FailedTurn),
      clientTools: stored.client_tools === null ? null : (JSON.parse(stored.client_tools) as Json),
      body: stored.body === null ? null : (JSON.parse(stored.body) as Json)
    };
  }

  #store(row: ConversationRow): void {
    this.#sql.run(
      `INSERT OR REPLACE INTO cf_conversations
         (id, generation, leaf, next_message, cleared_sequence, open_turns, responding_turns, failed_turn, client_tools, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.id,
      row.generation,
      row.leaf,
      row.nextMessage,
      row.clearedSequence,
      JSON.stringify(row.openTurns),
      JSON.stringify(row.respondingTurns),
      row.failedTurn && JSON.stringify(row.failedTurn),
      row.clientTools === null ? null : JSON.stringify(row.clientTools),
      row.body === null ? null : JSON.stringify(row.body)
    );
  }
}

/** Fields are replaced, never changed in place, so identity is equality. */
function isSame(a: ConversationRow, b: ConversationRow): boolean {
  // Both have exactly these keys.
  return (Object.keys(EMPTY) as (keyof ConversationRow)[]).every((key) => a[key] === b[key]);
}
