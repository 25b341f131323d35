// Events of webhooks that were received, and one row for each reply. An event is stored before its webhook is answered. A
// reply's row says how far it got: which messages were begun, and which of them the provider has confirmed. Everything that
// follows a crash is decided from these rows.
import type { Services } from "../../feature/services.ts";
import type { Clock } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { messengerErrors } from "./errors.ts";
import type { FollowedTurn } from "../channels/channels.ts";
import type { MessengerEvent } from "./event.ts";
import type { ChatPostable } from "./chat-adapter.ts";
import type { KeptFile } from "./uploads.ts";

/** Events that may wait for their reply. */
const MAX_WAITING = 10_000;
/** Messages that become one question. */
const MAX_BURST = 50;
/** How long events and ended replies are known: providers repeat webhooks for a day at most. */
export const RETENTION_MS = 7 * 24 * 3_600_000;
/** How long questions about parked actions are known, which are edited when they are decided: longer than actions wait. */
export const QUESTION_RETENTION_MS = 60 * 24 * 3_600_000;
/** The beginning of the keys of replies that show such a question. */
export const QUESTION_PREFIX = "approval:";
const SWEEP_ROWS = 500;

export const INBOX_TABLES: readonly TableDefinition[] = [
  // Bound: 10,000 that wait; 7 days for those that do not. Deleted: by `sweep`.
  {
    name: "cf_messenger_events",
    create: [
      `CREATE TABLE cf_messenger_events (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, messenger TEXT NOT NULL, thread TEXT NOT NULL,
        event TEXT NOT NULL, reply_id TEXT, due_at INTEGER NOT NULL, at INTEGER NOT NULL)`,
      `CREATE INDEX cf_messenger_events_waiting ON cf_messenger_events (messenger, thread) WHERE reply_id IS NULL`
    ]
  },
  // Bound: one for each question, notice and press; 7 days after its end, 60 for an approval's. Deleted: by `sweep`.
  {
    name: "cf_messenger_replies",
    create: [
      `CREATE TABLE cf_messenger_replies (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, messenger TEXT NOT NULL, thread TEXT NOT NULL,
        job TEXT NOT NULL, lane TEXT NOT NULL, stage TEXT NOT NULL, posts TEXT NOT NULL, attempts INTEGER NOT NULL,
        due_at INTEGER, created_at INTEGER NOT NULL, ended_at INTEGER)`,
      `CREATE INDEX cf_messenger_replies_open ON cf_messenger_replies (due_at) WHERE due_at IS NOT NULL`
    ]
  }
];

export type ReplyStage = "accepted" | "streaming" | "completed";

/** A message of a reply at the provider. */
export interface Post {
  /** The provider's id; null: the message was begun, and whether the provider has it is not known. */
  id: string | null;
  /** The fingerprint of the text that it was begun with. */
  sent?: string;
  /** The number of messages begun in its place before, whose fate is not known. */
  lost?: number;
  /** Whether it is the note after a message whose fate is not known. */
  apology?: boolean;
}

/** A job that is done after an answer. */
export type FollowUpJob =
  { readonly do: "say"; readonly message: ChatPostable } | { readonly do: "upload"; readonly file: KeptFile };

/** A job that ends with an answer. `attached` is what follows the answer, known from the end of its turn on. */
export type AnswerJob = (
  | { readonly do: "answer"; readonly events: readonly MessengerEvent[] }
  | { readonly do: "follow"; readonly turn: FollowedTurn }
) & { readonly attached?: readonly FollowUpJob[] };

/** A job that shows a question about a parked action. */
export interface AskJob {
  readonly do: "ask";
  readonly token: string;
  /** What of the question is in the chat; stored before the buttons are. */
  readonly shown?: {
    /** Whether all of the input is in the chat: only then it can be approved there. */
    readonly isWhole: boolean;
    /** The number of the reply's message that has the buttons. */
    readonly buttonsAt: number;
  };
}

/** The work of a reply. */
export type ReplyJob =
  | AnswerJob
  | FollowUpJob
  | AskJob
  /** Changes the message that another reply posted. */
  | { readonly do: "change"; readonly of: string; readonly message: ChatPostable }
  | { readonly do: "press"; readonly event: MessengerEvent }
  /** Closes questions of the thread that were decided meanwhile. */
  | { readonly do: "close" };

export interface MessengerReply {
  readonly key: string;
  readonly messengerId: string;
  readonly threadId: string;
  readonly job: ReplyJob;
  readonly lane: string;
  readonly stage: ReplyStage;
  readonly posts: readonly Post[];
  readonly attempts: number;
  readonly createdAt: number;
}

interface ReplyRow {
  key: string;
  messenger: string;
  thread: string;
  job: string;
  lane: string;
  stage: ReplyStage;
  posts: string;
  attempts: number;
  created_at: number;
}

export interface ReceivedEvent {
  readonly key: string;
  readonly event: MessengerEvent;
  readonly dueAt: number;
}

export class Inbox {
  readonly #tables: TableSet;
  readonly #clock: Clock;

  constructor({ sql, clock }: Pick<Services, "sql" | "clock">) {
    this.#tables = new TableSet(sql, INBOX_TABLES);
    this.#clock = clock;
  }

  transaction<T>(work: () => T): T {
    return this.#tables.transaction(work);
  }

  // ── Events ──

  /** Stores an event. False if it was received before. Throws InboxFullError. */
  receive({ key, event, dueAt }: ReceivedEvent): boolean {
    const waiting = this.#tables.one<{ n: number }>(
      `SELECT COUNT(*) AS n FROM cf_messenger_events WHERE reply_id IS NULL`
    );
    if ((waiting?.n ?? 0) >= MAX_WAITING) throw messengerErrors.InboxFullError(MAX_WAITING);
    const added = this.#tables.run(
      `INSERT INTO cf_messenger_events (key, messenger, thread, event, reply_id, due_at, at)
       VALUES (?, ?, ?, ?, NULL, ?, ?) ON CONFLICT (key) DO NOTHING`,
      key,
      event.messengerId,
      event.thread.id,
      JSON.stringify(event),
      dueAt,
      this.#clock.now()
    );
    if (added.changed === 0) return false;
    // A message that follows within the pause belongs to the same question.
    this.#tables.change(
      `UPDATE cf_messenger_events SET due_at = ? WHERE messenger = ? AND thread = ? AND reply_id IS NULL`,
      dueAt,
      event.messengerId,
      event.thread.id
    );
    return true;
  }

  /** Makes a question of what waits in each thread whose pause is over and that has no open question. */
  promote(): void {
    const threads = this.#tables.all<{ messenger: string; thread: string }>(
      `SELECT messenger, thread FROM cf_messenger_events AS e WHERE reply_id IS NULL AND due_at <= ?
         AND NOT EXISTS (SELECT 1 FROM cf_messenger_replies AS r
           WHERE r.due_at IS NOT NULL AND r.lane = e.messenger || char(10) || e.thread)
       GROUP BY messenger, thread ORDER BY MIN(id)`,
      this.#clock.now()
    );
    for (const { messenger, thread } of threads) this.#promoteThread(messenger, thread);
  }

  #promoteThread(messenger: string, thread: string): void {
    this.transaction(() => {
      const rows = this.#tables.all<{ id: number; key: string; event: string }>(
        `SELECT id, key, event FROM cf_messenger_events WHERE messenger = ? AND thread = ? AND reply_id IS NULL
         ORDER BY id LIMIT ${MAX_BURST}`,
        messenger,
        thread
      );
      const [first] = rows;
      if (!first) return;
      // Written by `receive` only.
      const events = rows.map(({ event }) => JSON.parse(event) as MessengerEvent);
      this.add({ key: first.key, messengerId: messenger, threadId: thread, job: { do: "answer", events } });
      for (const { id } of rows) {
        this.#tables.change(`UPDATE cf_messenger_events SET reply_id = ? WHERE id = ?`, first.key, id);
      }
    });
  }

  // ── Replies ──

  /** Adds a reply. False: there is one under the same key. */
  add(reply: Pick<MessengerReply, "key" | "messengerId" | "threadId" | "job">): boolean {
    const { key, messengerId, threadId, job } = reply;
    // Questions of a thread wait for each other; what is said beside them does not wait for a long answer.
    const lane = `${messengerId}\n${threadId}${job.do === "answer" ? "" : "\nbeside"}`;
    const now = this.#clock.now();
    return (
      this.#tables.run(
        `INSERT INTO cf_messenger_replies (key, messenger, thread, job, lane, stage, posts, attempts, due_at, created_at)
         VALUES (?, ?, ?, ?, ?, 'accepted', '[]', 0, ?, ?) ON CONFLICT (key) DO NOTHING`,
        key,
        messengerId,
        threadId,
        JSON.stringify(job),
        lane,
        now,
        now
      ).changed === 1
    );
  }

  /** Lists the oldest open reply of each lane, if its time has come. */
  listDue(): MessengerReply[] {
    return this.#tables
      .all<ReplyRow & { due_at: number }>(
        `SELECT * FROM cf_messenger_replies WHERE id IN
           (SELECT MIN(id) FROM cf_messenger_replies WHERE due_at IS NOT NULL GROUP BY lane) ORDER BY id`
      )
      .filter(({ due_at }) => due_at <= this.#clock.now())
      .map(readRow);
  }

  find(key: string): MessengerReply | undefined {
    const row = this.#tables.one<ReplyRow>(`SELECT * FROM cf_messenger_replies WHERE key = ?`, key);
    return row && readRow(row);
  }

  save(key: string, stage: ReplyStage, posts: readonly Post[]): void {
    this.#tables.change(
      `UPDATE cf_messenger_replies SET stage = ?, posts = ? WHERE key = ?`,
      stage,
      JSON.stringify(posts),
      key
    );
  }

  /** Changes the work of a reply. */
  changeJob(key: string, job: ReplyJob): void {
    this.#tables.change(`UPDATE cf_messenger_replies SET job = ? WHERE key = ?`, JSON.stringify(job), key);
  }

  postpone(key: string, dueAt: number): void {
    this.#tables.change(
      `UPDATE cf_messenger_replies SET due_at = ?, attempts = attempts + 1 WHERE key = ?`,
      dueAt,
      key
    );
  }

  complete(key: string): void {
    this.#tables.change(
      `UPDATE cf_messenger_replies SET stage = 'completed', due_at = NULL, ended_at = ? WHERE key = ?`,
      this.#clock.now(),
      key
    );
  }

  /** Finds when there is something to do, apart from lanes that are at work. Of each lane the oldest open reply is next. */
  nextDue(busyLanes: ReadonlySet<string>): number | null {
    const replies = this.#tables
      .all<{ lane: string; due_at: number }>(
        `SELECT lane, due_at, MIN(id) FROM cf_messenger_replies WHERE due_at IS NOT NULL GROUP BY lane`
      )
      .filter(({ lane }) => !busyLanes.has(lane))
      .map(({ due_at }) => due_at);
    const events = this.#tables
      .all<{ lane: string; due_at: number }>(
        `SELECT messenger || char(10) || thread AS lane, MIN(due_at) AS due_at FROM cf_messenger_events
         WHERE reply_id IS NULL GROUP BY messenger, thread`
      )
      .filter(({ lane }) => !busyLanes.has(lane))
      .map(({ due_at }) => due_at);
    const all = [...replies, ...events];
    return all.length === 0 ? null : Math.min(...all);
  }

  /** Deletes rows that no repetition of a webhook can need any more. */
  sweep(): void {
    const before = this.#clock.now() - RETENTION_MS;
    this.#tables.change(
      `DELETE FROM cf_messenger_events WHERE id IN (SELECT id FROM cf_messenger_events
         WHERE reply_id IS NOT NULL AND at < ? LIMIT ${SWEEP_ROWS})`,
      before
    );
    this.#tables.change(
      `DELETE FROM cf_messenger_replies WHERE id IN (SELECT id FROM cf_messenger_replies
         WHERE ended_at < CASE WHEN substr(key, 1, ${QUESTION_PREFIX.length}) = ? THEN ? ELSE ? END
         LIMIT ${SWEEP_ROWS})`,
      QUESTION_PREFIX,
      this.#clock.now() - QUESTION_RETENTION_MS,
      before
    );
  }
}

function readRow(row: ReplyRow): MessengerReply {
  return {
    key: row.key,
    messengerId: row.messenger,
    threadId: row.thread,
    // Written by `add` and `save` only.
    job: JSON.parse(row.job) as ReplyJob,
    posts: JSON.parse(row.posts) as Post[],
    lane: row.lane,
    stage: row.stage,
    attempts: row.attempts,
    createdAt: row.created_at
  };
}
