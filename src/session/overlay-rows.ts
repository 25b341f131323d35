// The table of summaries, statement by statement, and the pure rules over its rows: which of them a path shows, where two
// paths part, a walk along a path as it is shown, and the message that shows a summary. Of the active path, the rows hold
// whether their end is on it and whether histories show them, so that an append and a read of the newest messages read
// one or few of them.
import { Cached } from "../host/cached.ts";
import type { Sql, SqlValue } from "../host/ports.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import { byteLength } from "../util/bytes.ts";
import type { MessageHeader, WalkStop } from "./message-rows.ts";
import { COMPACTION_PREFIX, type SessionMessage } from "./session-message.ts";
import { estimateMessageTokens } from "./tokens.ts";

export const COMPACTION_TABLES: readonly TableDefinition[] = [
  // Bound: a row per compaction, its summary below 256 KiB. Deleted: with the messages it covers, by clearMessages.
  {
    name: "assistant_compactions",
    create: [
      `CREATE TABLE assistant_compactions (
        session_id TEXT NOT NULL DEFAULT '',
        id TEXT NOT NULL,
        from_message_id TEXT NOT NULL,
        to_message_id TEXT NOT NULL,
        created_at TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        from_sequence INTEGER NOT NULL,
        to_sequence INTEGER NOT NULL,
        is_on_path INTEGER NOT NULL,
        is_shown INTEGER NOT NULL,
        covered_length INTEGER NOT NULL,
        covered_bytes INTEGER NOT NULL,
        covered_tokens INTEGER NOT NULL,
        size_bytes INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        summary TEXT NOT NULL,
        PRIMARY KEY (session_id, id)
      ) WITHOUT ROWID`,
      // The one or few that histories show: an append and a look read these only.
      `CREATE INDEX assistant_compactions_shown ON assistant_compactions (session_id, to_sequence) WHERE is_shown = 1`
    ]
  }
];

/** A summary that stands for the messages from one to another, both on one path. */
export interface Overlay {
  readonly id: string;
  /** Order of creation. */
  readonly sequence: number;
  readonly fromId: string;
  readonly toId: string;
  /** Order of writing of its ends; what it covers on a path is between them. */
  readonly fromSequence: number;
  readonly toSequence: number;
  readonly createdAt: string;
  /** 1 if the active path goes through its end. Then its sums are exact. */
  readonly isOnPath: number;
  /** 1 if histories of the active path show it; the others of that path are inside of what it covers. */
  readonly isShown: number;
  readonly coveredLength: number;
  readonly coveredBytes: number;
  readonly coveredTokens: number;
  /** Of the message that shows it. */
  readonly sizeBytes: number;
  readonly tokens: number;
}

export interface OverlayWithSummary extends Overlay {
  readonly summary: string;
}

const HEADER = `id, sequence, from_message_id AS fromId, to_message_id AS toId, from_sequence AS fromSequence,
  to_sequence AS toSequence, created_at AS createdAt, is_on_path AS isOnPath, is_shown AS isShown,
  covered_length AS coveredLength, covered_bytes AS coveredBytes, covered_tokens AS coveredTokens,
  size_bytes AS sizeBytes, tokens`;

const SELECT_SHOWN = `SELECT ${HEADER} FROM assistant_compactions
  WHERE session_id = ? AND is_shown = 1 ORDER BY to_sequence`;

export class OverlayRows {
  readonly #table: TableSet;
  readonly #session: string;
  readonly #shown: Cached<readonly Overlay[]>;

  constructor(sql: Sql, session: string) {
    this.#table = new TableSet(sql, COMPACTION_TABLES);
    this.#session = session;
    this.#shown = new Cached(sql, () => this.#table.all<Overlay>(SELECT_SHOWN, session));
  }

  /** Oldest first. */
  all(): Overlay[] {
    return this.#table.all<Overlay>(
      `SELECT ${HEADER} FROM assistant_compactions WHERE session_id = ? ORDER BY sequence`,
      this.#session
    );
  }

  allWithSummary(): OverlayWithSummary[] {
    return this.#table.all<OverlayWithSummary>(
      `SELECT ${HEADER}, summary FROM assistant_compactions WHERE session_id = ? ORDER BY sequence`,
      this.#session
    );
  }

  /** Those that histories of the active path show, without their summaries. */
  shown(): readonly Overlay[] {
    return this.#shown.value;
  }

  one(id: string): OverlayWithSummary | undefined {
    return this.#table.one<OverlayWithSummary>(
      `SELECT ${HEADER}, summary FROM assistant_compactions WHERE session_id = ? AND id = ?`,
      this.#session,
      id
    );
  }

  insert(overlay: OverlayWithSummary): void {
    this.#table.run(
      `INSERT INTO assistant_compactions (session_id, id, sequence, from_message_id, to_message_id, from_sequence,
         to_sequence, created_at, is_on_path, is_shown, covered_length, covered_bytes, covered_tokens, size_bytes,
         tokens, summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.#session,
      overlay.id,
      overlay.sequence,
      overlay.fromId,
      overlay.toId,
      overlay.fromSequence,
      overlay.toSequence,
      overlay.createdAt,
      overlay.isOnPath,
      overlay.isShown,
      overlay.coveredLength,
      overlay.coveredBytes,
      overlay.coveredTokens,
      overlay.sizeBytes,
      overlay.tokens,
      overlay.summary
    );
    this.#shown.drop();
  }

  /** Replaces its ends, its flags and what it covers. */
  replace(overlay: Overlay): void {
    this.#change(
      `UPDATE assistant_compactions SET (from_message_id, to_message_id, from_sequence, to_sequence, is_on_path,
         is_shown, covered_length, covered_bytes, covered_tokens) = (?, ?, ?, ?, ?, ?, ?, ?, ?)
         WHERE session_id = ? AND id = ?`,
      overlay.fromId,
      overlay.toId,
      overlay.fromSequence,
      overlay.toSequence,
      overlay.isOnPath,
      overlay.isShown,
      overlay.coveredLength,
      overlay.coveredBytes,
      overlay.coveredTokens,
      this.#session,
      overlay.id
    );
  }

  /** A message of the active path changed its size: whatever covers it there covers more or less now. */
  correct(sequence: number, delta: { bytes: number; tokens: number }): void {
    this.#change(
      `UPDATE assistant_compactions SET covered_bytes = covered_bytes + ?, covered_tokens = covered_tokens + ?
         WHERE session_id = ? AND is_on_path = 1 AND from_sequence <= ? AND to_sequence >= ?`,
      delta.bytes,
      delta.tokens,
      this.#session,
      sequence,
      sequence
    );
  }

  delete(id: string): void {
    this.#change("DELETE FROM assistant_compactions WHERE session_id = ? AND id = ?", this.#session, id);
  }

  deleteAll(): void {
    this.#change("DELETE FROM assistant_compactions WHERE session_id = ?", this.#session);
  }

  #change(statement: string, ...values: SqlValue[]): void {
    this.#table.change(statement, ...values);
    this.#shown.drop();
  }
}

/**
 * Of summaries whose both ends are on one path, those that are shown, by position. Read from the root: where several
 * start at one message the newest stands for them, and what starts inside of a shown one is not seen.
 */
export function shownOf<Item extends Overlay>(onPath: readonly Item[]): Item[] {
  const newest = new Map<number, Item>();
  for (const overlay of onPath) {
    const rival = newest.get(overlay.fromSequence);
    if (rival === undefined || rival.sequence < overlay.sequence) newest.set(overlay.fromSequence, overlay);
  }
  const shown: Item[] = [];
  let coveredThrough = Number.NEGATIVE_INFINITY;
  for (const overlay of [...newest.values()].sort((first, second) => first.fromSequence - second.fromSequence)) {
    if (overlay.fromSequence <= coveredThrough) continue;
    shown.push(overlay);
    coveredThrough = overlay.toSequence;
  }
  return shown;
}

/** Where a path leaves the active one. */
export interface Fork {
  /** Order of writing of the newest message on both; negative if there is none, or none that matters. */
  readonly sequence: number;
  /** Messages of the path that are not on the active one. */
  readonly apart: ReadonlySet<string>;
}

export const NO_FORK: Fork = { sequence: Number.NEGATIVE_INFINITY, apart: new Set() };

/** Walks both paths up until they meet, or until nothing at or after `downTo` is left: short when they parted lately. */
export function forkOf(path: Iterable<MessageHeader>, activePath: Iterable<MessageHeader>, downTo: number): Fork {
  const apart = new Set<string>();
  const active = activePath[Symbol.iterator]();
  let other = active.next();
  for (const header of path) {
    if (header.sequence < downTo) break;
    while (!other.done && other.value.sequence > header.sequence) other = active.next();
    if (!other.done && other.value.id === header.id) return { sequence: header.sequence, apart };
    apart.add(header.id);
  }
  return { ...NO_FORK, apart };
}

export function isOnPathOf(overlay: Overlay, { sequence, apart }: Fork): boolean {
  return (overlay.isOnPath === 1 && overlay.toSequence <= sequence) || apart.has(overlay.toId);
}

export interface WalkSource<Row extends Pick<MessageHeader, "parentId">> {
  /** Messages from one upwards, to the root or to the message where it stops, which is not given. */
  segment(fromId: string, stop?: WalkStop): Iterable<Row>;
  header(id: string): MessageHeader | undefined;
}

export type ShownEntry<Row> =
  { readonly row: Row; readonly overlay?: never } | { readonly overlay: Overlay; readonly row?: never };

/** `shown`: the summaries of this path, by position. */
export function* walkShown<Row extends Pick<MessageHeader, "parentId">>(
  fromId: string,
  shown: readonly Overlay[],
  source: WalkSource<Row>
): Generator<ShownEntry<Row>, void, undefined> {
  let next: string | null = fromId;
  for (const overlay of shown.toReversed()) {
    for (const row of source.segment(next, { id: overlay.toId, sequence: overlay.toSequence })) {
      yield { row };
      next = row.parentId;
    }
    if (next === null) return;
    // Other code changed the rows: what the summary stood for is shown as it is.
    const start: MessageHeader | undefined = next === overlay.toId ? source.header(overlay.fromId) : undefined;
    if (start === undefined) continue;
    yield { overlay };
    if (start.parentId === null) return;
    next = start.parentId;
  }
  for (const row of source.segment(next)) yield { row };
}

type SummaryFields = Pick<OverlayWithSummary, "id" | "summary" | "createdAt">;

export function overlayMessage({ id, summary, createdAt }: SummaryFields): SessionMessage {
  const message = {
    id: overlayMessageId({ id }),
    role: "assistant",
    parts: [{ type: "text", text: summary }]
  };
  const date = timeOf(createdAt);
  return Number.isFinite(date.getTime()) ? { ...message, createdAt: date } : message;
}

export function overlaySize(summary: SummaryFields): { sizeBytes: number; tokens: number } {
  const message = overlayMessage(summary);
  return { sizeBytes: byteLength(JSON.stringify(message)), tokens: estimateMessageTokens(message) };
}

export function overlayMessageId({ id }: { readonly id: string }): string {
  return `${COMPACTION_PREFIX}${id}`;
}

/** The overlay a message id stands for, or undefined if it is no summary's. */
export function overlayIdOf(messageId: string): string | undefined {
  return messageId.startsWith(COMPACTION_PREFIX) ? messageId.slice(COMPACTION_PREFIX.length) : undefined;
}

/** From SQLite's form of a time, which is in UTC without saying so. */
function timeOf(stored: string): Date {
  return new Date(`${stored.replace(" ", "T")}Z`);
}
