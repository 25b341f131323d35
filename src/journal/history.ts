// What stays known of a conversation when the records of its turns are gone: one row per settled turn, which lives as long
// as the turn's message, and the newest changes that no turn made. Both are keyed by their place in the journal: a turn
// by that of its outcome. Written in the transaction of what they tell of. Nothing in them is content.
import { Cached } from "../host/cached.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import { byteLength, cutToBytes } from "../util/bytes.ts";
import { ok } from "../util/result.ts";
import { decodeFrame, unpackBatch } from "./batch.ts";
import { encodeRecord } from "./codec.ts";
import type { Conversation } from "./conversation.ts";
import type { AttemptView, TurnFold } from "./folds/turn-fold.ts";
import type { JournalInit } from "./journal.ts";
import type { AttemptStarted, ConversationChanged, StepUsage, TurnSettled } from "./records.ts";
import type { JournalRows } from "./rows.ts";
import { decodeTurn, encodeTurn } from "./turn-row.ts";

/** What is kept of a turn. Beyond it, lists are cut, and the row says so. */
export const TURN_ROW_BYTES = 4 * 1024;
/** Turns without a message that they could go with. */
export const MAX_LOOSE_TURNS = 100;
/** Changes that are kept: each newer one takes the place of the oldest. */
export const MAX_CHANGES = 1000;

/** One settled turn: what ran, how often, with what, and how it ended. */
export interface TurnHistory {
  readonly turnId: string;
  /** What the client calls it. */
  readonly requestId: string | null;
  /** Where it came from: "ws-chat", "rpc", "submission", … An open set. */
  readonly trigger: string | null;
  readonly outcome: TurnSettled["outcome"];
  /** Why, as a code. */
  readonly reason: string | null;
  readonly errorCode: string | null;
  /** Its answer, if one is stored. */
  readonly messageId: string | null;
  readonly inputMessageIds: readonly string[];
  readonly admittedAt: number | null;
  readonly startedAt: number | null;
  readonly settledAt: number;
  /** In order. How one ended and what the next one is, is what recovery decided. */
  readonly attempts: readonly AttemptSummary[];
  /** Model calls that ended. */
  readonly steps: number;
  readonly usage: StepUsage;
  readonly models: readonly string[];
  readonly tools: { readonly offered: readonly string[]; readonly called: readonly CalledTool[] };
  /** Who decided over calls while the turn ran, where it is known. Later decisions are changes of the conversation. */
  readonly deciders?: readonly Decider[];
  /** Equal for the same system prompt and tools; several if it changed during the turn. */
  readonly prompts: readonly string[];
  /** Lists are not complete: the row would have been too large. */
  readonly isCut?: true;
}

export interface AttemptSummary {
  readonly kind: AttemptStarted["kind"];
  readonly startedAt: number;
  readonly end: AttemptView["end"];
  readonly endedAt: number | null;
  readonly errorCode: string | null;
  readonly retryAt: number | null;
}

export interface CalledTool {
  readonly name: string;
  readonly calls: number;
  /** Calls without a result: errors, refusals, and those of which nothing is known. */
  readonly failed: number;
}

interface Decider {
  readonly callId: string;
  readonly decidedBy: string;
}

export const TURN_TABLES: readonly TableDefinition[] = [
  // Bound: TURN_ROW_BYTES a row; rows of a message as long as it is stored, others MAX_LOOSE_TURNS. Deleted: with the
  // message, by a newer loose one, by a clear.
  {
    name: "cf_turns",
    create: [
      `CREATE TABLE cf_turns (
        sequence INTEGER PRIMARY KEY,
        message_id TEXT,
        body TEXT NOT NULL
      )`
    ]
  }
];

export const CHANGE_TABLES: readonly TableDefinition[] = [
  // Bound: MAX_CHANGES slots, a few hundred bytes each. Deleted: the oldest, by the newest that takes its slot; all by a
  // clear.
  {
    name: "cf_changes",
    create: [
      `CREATE TABLE cf_changes (
        slot INTEGER PRIMARY KEY,
        sequence INTEGER NOT NULL,
        body TEXT NOT NULL
      )`
    ]
  }
];

export interface KeptRow {
  readonly sequence: number;
  readonly body: string;
}

/** Where the history of turns is kept that do not end with their message: submissions. */
export interface TurnArchive {
  /** As part of the transaction that settles it. False: it is not a turn of this archive. */
  settled(turn: TurnFold, kept: { readonly requestId: string; readonly history: TurnHistory }): boolean;
  /** By the sequence of their outcome. */
  turns(after: number, limit: number): KeptRow[];
  /** Those before a sequence, newest first. */
  turnsBefore(before: number, limit: number): KeptRow[];
  /** Newest first. */
  newest(limit: number): number[];
}

export class History {
  readonly #conversation: Conversation;
  /** Asked each time: an archive may join later. */
  readonly #archive: () => TurnArchive | undefined;
  readonly #rows: JournalRows;
  readonly #turns: TableSet;
  readonly #changes: TableSet;
  /** Of the newest change. */
  readonly #slot: Cached<number>;

  constructor({ sql, conversation, archive }: JournalInit, rows: JournalRows) {
    this.#conversation = conversation;
    this.#archive = archive ?? (() => undefined);
    this.#rows = rows;
    this.#turns = new TableSet(sql, TURN_TABLES);
    this.#changes = new TableSet(sql, CHANGE_TABLES);
    this.#slot = new Cached(sql, () => this.#newestSlot());
  }

  /**
   * As part of the transaction that makes the change. It takes the next sequence of the journal, unless a record there
   * says the same: then it has its place.
   */
  changed(record: ConversationChanged, place?: number): void {
    this.#conversation.join((row) => {
      const sequence = place ?? this.#rows.head() + 1;
      const slot = (this.#slot.value + 1) % MAX_CHANGES;
      this.#changes.run(
        "INSERT OR REPLACE INTO cf_changes (slot, sequence, body) VALUES (?, ?, ?)",
        slot,
        sequence,
        encodeRecord(record)
      );
      this.#slot.set(slot);
      row.journalFloor = Math.max(row.journalFloor, sequence);
    });
  }

  /** As part of the transaction that settles it. `ownerId` is the message that it goes with, unless an archive keeps it. */
  settled(turn: TurnFold, { ownerId, requestId }: { ownerId: string | null; requestId: string }): void {
    const row = turnHistory(turn);
    if (row === undefined || this.#archive()?.settled(turn, { requestId, history: row })) return;
    this.#turns.run(
      "INSERT OR REPLACE INTO cf_turns (sequence, message_id, body) VALUES (?, ?, ?)",
      turn.lastSequence,
      ownerId,
      encodeTurn(row)
    );
    if (ownerId !== null) return;
    this.#turns.change(
      `DELETE FROM cf_turns WHERE message_id IS NULL AND sequence <=
         (SELECT sequence FROM cf_turns WHERE message_id IS NULL ORDER BY sequence DESC LIMIT 1 OFFSET ?)`,
      MAX_LOOSE_TURNS
    );
  }

  /** Their messages are gone. */
  forgetTurns(messageIds: readonly string[]): void {
    const ids = JSON.stringify(messageIds);
    this.#turns.change("DELETE FROM cf_turns WHERE message_id IN (SELECT value FROM json_each(?))", ids);
  }

  /** Everything up to now. */
  clear(): void {
    this.#turns.change("DELETE FROM cf_turns");
    this.#changes.change("DELETE FROM cf_changes");
  }

  turns(after: number, limit: number): KeptRow[] {
    const own = this.#turns.all<KeptRow>(
      "SELECT sequence, body FROM cf_turns WHERE sequence > ? ORDER BY sequence LIMIT ?",
      after,
      limit
    );
    // What a clear has taken is still kept there.
    const archived = this.#archive()?.turns(Math.max(after, this.#conversation.row.clearedSequence), limit);
    if (!archived || archived.length === 0) return own;
    return [...own, ...archived].sort((first, second) => first.sequence - second.sequence).slice(0, limit);
  }

  /** Those whose outcome has its place before a sequence, newest first. */
  turnsBefore(before: number, limit: number): KeptRow[] {
    const own = this.#turns.all<KeptRow>(
      "SELECT sequence, body FROM cf_turns WHERE sequence < ? ORDER BY sequence DESC LIMIT ?",
      before,
      limit
    );
    const { clearedSequence } = this.#conversation.row;
    const archived = this.#archive()?.turnsBefore(before, limit) ?? [];
    const shown = archived.filter(({ sequence }) => sequence > clearedSequence);
    return [...own, ...shown].sort((first, second) => second.sequence - first.sequence).slice(0, limit);
  }

  changes(after: number, limit: number): KeptRow[] {
    return this.#changes.all(
      "SELECT sequence, body FROM cf_changes WHERE sequence > ? ORDER BY sequence LIMIT ?",
      after,
      limit
    );
  }

  /** Of both, newest first. */
  newest(limit: number): number[] {
    const newestOf = (table: TableSet, name: string) =>
      table
        .all<{ sequence: number }>(`SELECT sequence FROM ${name} ORDER BY sequence DESC LIMIT ?`, limit)
        .map(({ sequence }) => sequence);
    const { clearedSequence } = this.#conversation.row;
    const archived = (this.#archive()?.newest(limit) ?? []).filter((sequence) => sequence > clearedSequence);
    return [...newestOf(this.#turns, "cf_turns"), ...newestOf(this.#changes, "cf_changes"), ...archived];
  }

  #newestSlot(): number {
    const query = "SELECT slot FROM cf_changes ORDER BY sequence DESC LIMIT 1";
    return this.#changes.one<{ slot: number }>(query)?.slot ?? -1;
  }
}

/** The row of a settled turn, at most TURN_ROW_BYTES; undefined for a turn without an outcome. Pure. */
export function turnHistory(turn: TurnFold): TurnHistory | undefined {
  for (const limit of LIST_LIMITS) {
    const row = summary(turn, limit);
    if (row === undefined || byteLength(JSON.stringify(row)) <= TURN_ROW_BYTES) return row;
  }
  return undefined;
}

/** How long lists may be, tried in this order; with the last one, a row always fits. */
const LIST_LIMITS = [Number.POSITIVE_INFINITY, 50, 20, 8, 2, 0] as const;
/** Ids and names are the user's, and may be of any length. */
const MAX_NAME_BYTES = 100;

function summary(turn: TurnFold, limit: number): TurnHistory | undefined {
  const { admission, outcome, attempts, steps } = turn;
  if (outcome === null) return undefined;
  const offered = [...new Set(turn.models.flatMap(({ tools }) => tools))];
  const called = calledTools(turn);
  const prompts = [...new Set(turn.models.map(({ prompt }) => prompt))];
  const models = [...new Set(turn.models.map(({ modelId }) => modelId))];
  const inputMessageIds = admission?.inputMessageIds ?? [];
  const deciders = decidersOf(turn);
  const isCut = [offered, called, deciders, prompts, models, inputMessageIds, attempts].some(
    ({ length }) => length > limit
  );
  const newest = <T>(list: readonly T[]) => list.slice(Math.max(0, list.length - limit));
  const names = (list: readonly string[]) => newest(list).map(named);
  return {
    turnId: turn.turnId,
    requestId: admission?.requestId ? named(admission.requestId) : null,
    trigger: admission && named(admission.trigger),
    outcome: outcome.outcome,
    reason: outcome.reason && named(outcome.reason),
    errorCode: outcome.error && named(outcome.error.code),
    messageId: outcome.messageStored && admission ? named(admission.messageId) : null,
    inputMessageIds: names(inputMessageIds),
    admittedAt: admission?.at ?? null,
    startedAt: attempts[0]?.startedAt ?? null,
    settledAt: outcome.at,
    attempts: newest(attempts).map(attemptSummary),
    steps: steps.finished,
    usage: steps.usage,
    models: names(models),
    tools: { offered: names(offered), called: newest(called).map((tool) => ({ ...tool, name: named(tool.name) })) },
    ...(deciders.length > 0 && { deciders: newest(deciders) }),
    prompts: names(prompts),
    ...(isCut && { isCut: true as const })
  };
}

function named(text: string): string {
  return cutToBytes(text, MAX_NAME_BYTES);
}

function attemptSummary({ kind, startedAt, end, endedAt, errorCode, retryAt }: AttemptView): AttemptSummary {
  return { kind, startedAt, end, endedAt, errorCode: errorCode && named(errorCode), retryAt };
}

function decidersOf({ calls }: TurnFold): Decider[] {
  return [...calls.values()].flatMap(({ callId, approval }) => {
    const decidedBy = approval?.decidedBy;
    return decidedBy === undefined ? [] : [{ callId: named(callId), decidedBy: named(decidedBy) }];
  });
}

function calledTools({ calls }: TurnFold): CalledTool[] {
  const byName = Map.groupBy(calls.values(), ({ toolName }) => toolName);
  return [...byName].map(([name, of]) => ({
    name,
    calls: of.length,
    failed: of.filter(({ outcome }) => outcome !== null && outcome.kind !== "output").length
  }));
}

/** Undefined for a row that cannot be read. Written by `settled` and by archives. */
export function turnOf({ body }: KeptRow): TurnHistory | undefined {
  return decodeTurn(body);
}

/** Undefined for a row that cannot be read, or that a newer build wrote. */
export function changeOf({ sequence, body }: KeptRow): ConversationChanged | undefined {
  const [frame] = unpackBatch({ last: sequence, count: 1 }, ok(body));
  const record = frame && decodeFrame(frame);
  return record?.ok && record.value.type === "conversation-changed" ? record.value : undefined;
}
