// The one row a conversation keeps beside its records and messages: where it stands now. Everything in it is a fold of
// the journal, kept so that a boot and a turn read one row instead of the records. All modules change it through
// `transaction`, which writes it at most once, together with whatever else the transaction writes. Of a long queue the
// row holds the beginning only (open-turn-rows.ts).
import type { Quarantine } from "../host/quarantine.ts";
import { Cached } from "../host/cached.ts";
import type { Sql } from "../host/ports.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import type { TransactionEnd } from "../host/transactions.ts";
import { isCount } from "../util/counts.ts";
import { parseJson, type Json } from "../util/json.ts";
import { OpenTurnRows } from "./open-turn-rows.ts";

/** A turn that is accepted and has no outcome yet. What happened in it is in its records. */
export interface OpenTurn {
  readonly turnId: string;
  /** What its client calls it. */
  readonly requestId: string;
  /** Sequence of its admission: its records start there. */
  readonly firstSequence: number;
  readonly generation: number;
}

/** The last turn that failed, until something newer happened; shown to every client that asks. */
export interface FailedTurn {
  readonly requestId: string;
  readonly text: string;
  readonly messageIds: readonly string[];
}

/** A tool call was answered, and the answer asks for the conversation to go on. */
export interface ArmedContinuation {
  /** Fixed when it was armed. */
  readonly requestId: string;
  /** The answer it will extend. */
  readonly messageId: string;
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
  /** Continuations that wait for the rest of their answers, or for the running turn to end; oldest first. */
  armedContinuations: readonly ArmedContinuation[];
  /** Sequence of the last clear: nothing up to it is read any more. */
  clearedSequence: number;
  /** Sequences up to here were used, whatever retention has deleted since. */
  journalFloor: number;
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
  armedContinuations: [],
  clearedSequence: 0,
  journalFloor: 0
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
  armed_continuation: string | null;
  journal_floor: number;
}

export const CONVERSATION_TABLES: readonly TableDefinition[] = [
  // Bound: one row per conversation. Deleted: with the object.
  {
    name: "cf_conversations",
    create: [
      `CREATE TABLE cf_conversations (
        id TEXT PRIMARY KEY,
        generation INTEGER NOT NULL,
        leaf TEXT,
        next_message INTEGER NOT NULL,
        cleared_sequence INTEGER NOT NULL,
        journal_floor INTEGER NOT NULL,
        open_turns TEXT NOT NULL,
        responding_turns TEXT NOT NULL,
        failed_turn TEXT,
        client_tools TEXT,
        body TEXT,
        armed_continuation TEXT
      ) WITHOUT ROWID`
    ]
  }
];

export class Conversation {
  readonly id: string;
  readonly #sql: Sql;
  readonly #table: TableSet;
  readonly #openTurns: OpenTurnRows;
  /** Write-through: the object is the only writer of its database. */
  readonly #stored: Cached<ConversationRow>;
  /** The row while a transaction changes it; nested ones share it. */
  #draft: ConversationRow | undefined;
  #afterCommit: TransactionEnd[] = [];
  /** A part that was joined to the current transaction has failed. */
  #failure: { readonly error: unknown } | undefined;
  readonly #setAside: Quarantine | undefined;
  #isDamaged = false;

  constructor(sql: Sql, id = "", setAside?: Quarantine) {
    this.#sql = sql;
    this.#table = new TableSet(sql, CONVERSATION_TABLES);
    this.#openTurns = new OpenTurnRows(sql, id, setAside);
    this.id = id;
    this.#setAside = setAside;
    this.#stored = new Cached(sql, () => this.#load());
  }

  /** See `Sql.rollbacks`. */
  get rollbacks(): number {
    return this.#sql.rollbacks;
  }

  /** Which turns are open could not be read; the journal says. */
  get isDamaged(): boolean {
    return this.#draft === undefined && this.row !== undefined && this.#isDamaged;
  }

  /** As the current transaction sees it, or as stored. */
  get row(): Readonly<ConversationRow> {
    return this.#draft ?? this.#stored.value;
  }

  /** The object's other conversations, as far as their rows can be read; at most 100. */
  others(): { id: string; generation: number; openTurns: number }[] {
    const rows = this.#table.all<{ id: string; generation: number; openTurns: number | null }>(
      `SELECT id, generation, CASE WHEN json_valid(open_turns) THEN json_array_length(open_turns) END AS openTurns
         FROM cf_conversations WHERE id <> ? ORDER BY id LIMIT 100`,
      this.id
    );
    const waiting = this.#openTurns.counts();
    return rows.map((row) => ({ ...row, openTurns: (row.openTurns ?? 0) + (waiting.get(row.id) ?? 0) }));
  }

  /**
   * One state change: `work` reads and writes what it needs, and may replace fields of the row (never change them in
   * place). All or nothing; nests. The row is written once, when the outermost transaction commits, and only if it changed.
   */
  transaction<T>(work: (row: ConversationRow) => T): T {
    const before = { ...this.row };
    const waiting = this.#afterCommit.length;
    const isOutermost = this.#draft === undefined;
    const draft = (this.#draft ??= { ...before });
    try {
      const result = this.#sql.transaction(() => {
        const value = work(draft);
        if (this.#failure !== undefined) throw this.#failure.error;
        if (isOutermost && !isSame(before, draft)) this.#store(draft);
        return value;
      });
      if (isOutermost) this.#commit(draft);
      return result;
    } catch (error) {
      // An outer transaction may catch this and go on: it must not see what was undone.
      Object.assign(draft, before);
      // What this one undid is no reason to undo more.
      this.#failure = undefined;
      if (isOutermost) this.#draft = undefined;
      for (const end of this.#afterCommit.splice(waiting)) end.undone?.();
      throw error;
    }
  }

  /**
   * The same as a part of the caller's transaction, if there is one, without a savepoint of its own: what fails here
   * fails all of it, also when code in between catches the error.
   */
  join<T>(work: (row: ConversationRow) => T): T {
    const draft = this.#draft;
    if (draft === undefined) return this.transaction(work);
    try {
      return work(draft);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /**
   * Runs once everything written so far is committed: at once, or when the outermost transaction is, which user code may
   * have opened around ours. `undone` runs instead when one of them is rolled back.
   */
  afterCommit(committed: () => void, undone?: () => void): void {
    const end = { committed, undone };
    if (this.#draft === undefined) this.#sql.afterTransaction(end);
    else this.#afterCommit.push(end);
  }

  #commit(draft: ConversationRow): void {
    this.#stored.set(draft);
    this.#draft = undefined;
    for (const end of this.#afterCommit.splice(0)) this.#sql.afterTransaction(end);
  }

  #load(): ConversationRow {
    const stored = this.#table.one<StoredRow>("SELECT * FROM cf_conversations WHERE id = ?", this.id);
    if (!stored) return EMPTY;
    return {
      generation: this.#count("generation", stored.generation),
      leaf: this.#leaf(stored.leaf),
      nextMessage: this.#count("next_message", stored.next_message, () => this.#nextMessage()),
      clearedSequence: this.#count("cleared_sequence", stored.cleared_sequence),
      journalFloor: this.#count("journal_floor", stored.journal_floor),
      openTurns: [...this.#list<OpenTurn>("open_turns", stored.open_turns), ...this.#waiting()],
      respondingTurns: this.#list<string>("responding_turns", stored.responding_turns),
      failedTurn: this.#parsed<FailedTurn>("failed_turn", stored.failed_turn),
      clientTools: this.#parsed<Json>("client_tools", stored.client_tools),
      body: this.#parsed<Json>("body", stored.body),
      armedContinuations: this.#armed(stored.armed_continuation)
    };
  }

  /** One that is no count is lost; what the journal knows of it comes from there. */
  #count(field: string, value: unknown, known = () => 0): number {
    if (isCount(value)) return value;
    this.#isDamaged = true;
    this.#report(field, value, "It is no count.");
    return known();
  }

  #leaf(value: unknown): string | null {
    if (value === null || typeof value === "string") return value;
    this.#report("leaf", value, "It is no id.");
    return null;
  }

  #nextMessage(): number {
    if (!this.#sql.catalog.hasTable("assistant_messages")) return EMPTY.nextMessage;
    const newest = "SELECT MAX(sequence) AS sequence FROM assistant_messages WHERE session_id = ?";
    const sequence = this.#sql.one<{ sequence: unknown }>(newest, this.id)?.sequence;
    return isCount(sequence) ? sequence + 1 : EMPTY.nextMessage;
  }

  #report(field: string, value: unknown, error: string): void {
    const row = { table: "cf_conversations", key: `${this.id}.${field}`, body: String(value), error };
    if (this.#setAside) this.#setAside(row);
    else console.error(`A field of the conversation could not be read: ${error}`);
  }

  #waiting(): OpenTurn[] {
    const turns = this.#openTurns.load();
    if (turns) return turns;
    this.#isDamaged = true;
    return [];
  }

  /** A single one was stored as it is before there could be several. */
  #armed(text: string | null): ArmedContinuation[] {
    const value = this.#parsed<ArmedContinuation | ArmedContinuation[]>("armed_continuation", text);
    return value === null ? [] : [value].flat();
  }

  #list<T>(field: string, text: string): T[] {
    const value = this.#parsed<T[]>(field, text);
    if (Array.isArray(value)) return value;
    this.#isDamaged = true;
    return [];
  }

  /** Written by `#store` only. A damaged field is lost, the conversation is not. */
  #parsed<T>(field: string, text: string | null): T | null {
    if (text === null) return null;
    const value = parseJson(text);
    if (value.ok) return value.value as T;
    this.#report(field, text, value.error);
    return null;
  }

  #store(row: ConversationRow): void {
    this.#table.run(
      `INSERT OR REPLACE INTO cf_conversations
         (id, generation, leaf, next_message, cleared_sequence, journal_floor,
          open_turns, responding_turns, failed_turn, client_tools, body, armed_continuation)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.id,
      row.generation,
      row.leaf,
      row.nextMessage,
      row.clearedSequence,
      row.journalFloor,
      JSON.stringify(this.#openTurns.store(row.openTurns)),
      JSON.stringify(row.respondingTurns),
      printed(row.failedTurn),
      printed(row.clientTools),
      printed(row.body),
      printed(row.armedContinuations.length > 0 ? row.armedContinuations : null)
    );
  }
}

function printed(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** Fields are replaced, never changed in place, so identity is equality. */
function isSame(a: ConversationRow, b: ConversationRow): boolean {
  // Both have exactly these keys.
  return (Object.keys(EMPTY) as (keyof ConversationRow)[]).every((key) => a[key] === b[key]);
}
