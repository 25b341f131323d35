// How the list of open turns is stored: the oldest in the conversation's row, which every change of a turn writes, and the
// others as rows of their own, written once and deleted once. So the cost of a turn does not grow with the queue behind it,
// and a conversation without a long queue has no such table.
import type { Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import type { OpenTurn } from "./conversation.ts";

/** Open turns in the conversation's row, about 120 bytes each. When it has none left it takes as many again. */
export const TURNS_IN_ROW = 16;

export const WAITING_TURN_TABLES: readonly TableDefinition[] = [
  // Bound: QUEUE_LIMIT rows per conversation. Deleted: with the outcome of their turn, or when it comes into the row.
  {
    name: "cf_waiting_turns",
    create: [
      `CREATE TABLE cf_waiting_turns (
        conversation_id TEXT NOT NULL,
        first_sequence INTEGER NOT NULL,
        turn_id TEXT NOT NULL,
        request_id TEXT NOT NULL,
        generation INTEGER NOT NULL,
        PRIMARY KEY (conversation_id, first_sequence)
      ) WITHOUT ROWID`
    ]
  }
];

interface WaitingRow {
  readonly first_sequence: unknown;
  readonly turn_id: unknown;
  readonly request_id: unknown;
  readonly generation: unknown;
}

export class OpenTurnRows {
  readonly #table: TableSet;
  readonly #conversationId: string;
  /** First sequences of the turns that have a row here, as of the last load or store. */
  #waiting: ReadonlySet<number> = new Set();
  #isDamaged = false;
  readonly #setAside: Quarantine | undefined;

  constructor(sql: Sql, conversationId: string, setAside?: Quarantine) {
    this.#table = new TableSet(sql, WAITING_TURN_TABLES);
    this.#conversationId = conversationId;
    this.#setAside = setAside;
  }

  /** The turns that are not in the conversation's row, oldest first. Undefined: some of them cannot be read. */
  load(): OpenTurn[] | undefined {
    const rows = this.#table.all<WaitingRow>(
      `SELECT first_sequence, turn_id, request_id, generation FROM cf_waiting_turns
         WHERE conversation_id = ? ORDER BY first_sequence`,
      this.#conversationId
    );
    const turns = rows.flatMap((row) => openTurnOf(row) ?? this.#lost(row));
    this.#waiting = new Set(turns.map(({ firstSequence }) => firstSequence));
    this.#isDamaged = turns.length < rows.length;
    return this.#isDamaged ? undefined : turns;
  }

  /** Part of the transaction that writes the conversation's row. Returns the turns that belong into that row. */
  store(openTurns: readonly OpenTurn[]): readonly OpenTurn[] {
    if (this.#isDamaged) this.#clear();
    const inRow = this.#inRow(openTurns);
    const waiting = openTurns.slice(inRow.length);
    const kept = new Set(waiting.map(({ firstSequence }) => firstSequence));
    this.#delete([...this.#waiting].filter((sequence) => !kept.has(sequence)));
    for (const turn of waiting) if (!this.#waiting.has(turn.firstSequence)) this.#insert(turn);
    this.#waiting = kept;
    return inRow;
  }

  /** Of each conversation that has any. */
  counts(): ReadonlyMap<string, number> {
    const query = "SELECT conversation_id AS id, COUNT(*) AS n FROM cf_waiting_turns GROUP BY conversation_id";
    return new Map(this.#table.all<{ id: string; n: number }>(query).map(({ id, n }) => [id, n]));
  }

  /** Those before the first that has a row here; when there is none of them, the oldest ones. */
  #inRow(openTurns: readonly OpenTurn[]): readonly OpenTurn[] {
    const first = openTurns.findIndex(({ firstSequence }) => this.#waiting.has(firstSequence));
    return openTurns.slice(0, first > 0 ? Math.min(first, TURNS_IN_ROW) : TURNS_IN_ROW);
  }

  #lost(row: WaitingRow): [] {
    const key = `${this.#conversationId}.${String(row.first_sequence)}`;
    const lost = { table: "cf_waiting_turns", key, body: JSON.stringify(row), error: "A value has another type." };
    if (this.#setAside) this.#setAside(lost);
    else console.error(`A waiting turn could not be read: ${lost.body}`);
    return [];
  }

  /** Damaged rows are replaced by what the journal says. */
  #clear(): void {
    this.#table.change("DELETE FROM cf_waiting_turns WHERE conversation_id = ?", this.#conversationId);
    this.#waiting = new Set();
    this.#isDamaged = false;
  }

  #insert({ firstSequence, turnId, requestId, generation }: OpenTurn): void {
    this.#table.run(
      "INSERT INTO cf_waiting_turns (conversation_id, first_sequence, turn_id, request_id, generation) VALUES (?, ?, ?, ?, ?)",
      ...[this.#conversationId, firstSequence, turnId, requestId, generation]
    );
  }

  #delete(sequences: readonly number[]): void {
    if (sequences.length === 0) return;
    this.#table.change(
      `DELETE FROM cf_waiting_turns
         WHERE conversation_id = ? AND first_sequence IN (SELECT value FROM json_each(?))`,
      ...[this.#conversationId, JSON.stringify(sequences)]
    );
  }
}

/** Undefined: a value is not what was written. */
function openTurnOf(row: WaitingRow): OpenTurn | undefined {
  const { first_sequence: firstSequence, turn_id: turnId, request_id: requestId, generation } = row;
  const isWhole =
    typeof firstSequence === "number" &&
    typeof turnId === "string" &&
    typeof requestId === "string" &&
    typeof generation === "number";
  return isWhole ? { turnId, requestId, firstSequence, generation } : undefined;
}
