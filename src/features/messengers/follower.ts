// Turns on a messenger's channel that the messenger did not start, such as the one after an approval: the agent that runs
// one notes it before the model is called, and reports it to the root when it is over. The note is deleted when the root
// has stored it, so a crash anywhere repeats the report and loses nothing.
import { runtimeOf } from "../../agent/runtime.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { ChannelMembers } from "../channels/capability.ts";
import type { FollowedTurn, MessengerOrigin } from "../channels/channels.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { TurnView, TurnOutcome } from "../../turn/turn.ts";
import { ReplyText } from "./reply-text.ts";

const RETRY_MS = 5_000;

export const FOLLOWER_TABLES: readonly TableDefinition[] = [
  // Bound: the open continuations of this conversation. Deleted: when the root has stored the report.
  {
    name: "cf_messenger_turns",
    create: [
      `CREATE TABLE cf_messenger_turns (
        turn_id TEXT PRIMARY KEY, request_id TEXT NOT NULL, origin TEXT NOT NULL, report TEXT, due_at INTEGER)`
    ]
  }
];

interface TurnRow {
  turn_id: string;
  request_id: string;
  origin: string;
  report: string | null;
}

export class TurnFollower {
  readonly #host: ChatServices;
  readonly #agent: ChannelMembers;
  readonly #tables: TableSet;
  #reporting: Promise<void> | undefined;

  constructor(host: ChatServices) {
    this.#host = host;
    // Only classes with `getMessengers()` have this feature.
    this.#agent = host.agent as ChannelMembers;
    this.#tables = new TableSet(host.sql, FOLLOWER_TABLES);
  }

  /** Notes a turn before its model is called. */
  begin({ turnId, requestId }: TurnView): void {
    const origin = this.#agent.getMessengerContext();
    if (!origin) return;
    const { messengerId, thread } = origin;
    this.#tables.run(
      `INSERT INTO cf_messenger_turns (turn_id, request_id, origin) VALUES (?, ?, ?) ON CONFLICT (turn_id) DO NOTHING`,
      turnId,
      requestId,
      JSON.stringify({ messengerId, thread: { id: thread.id } })
    );
  }

  /** Keeps the report of a turn that is over. */
  settled({ turnId }: TurnView, { status }: TurnOutcome): void {
    const row = this.#tables.one<TurnRow>(`SELECT * FROM cf_messenger_turns WHERE turn_id = ?`, turnId);
    if (row) this.#write(row, status === "error");
    this.report();
  }

  /** Goes on after a start, also with turns that ended in the moment of the crash. */
  resume(): void {
    for (const row of this.#tables.all<TurnRow>(`SELECT * FROM cf_messenger_turns WHERE report IS NULL`)) {
      const replay = this.#host.turns.replay(row.request_id);
      if (replay?.state !== "live") this.#write(row, replay?.state === "error");
    }
    this.report();
  }

  nextWake(): number | null {
    if (this.#reporting) return null;
    const row = this.#tables.one<{ at: number | null }>(`SELECT MIN(due_at) AS at FROM cf_messenger_turns`);
    return row?.at ?? null;
  }

  /** Reports what is due to the root. */
  report(): void {
    if (this.#reporting || this.#due().length === 0) return;
    const work = this.#host.inAgent(() => this.#reportAll());
    this.#reporting = work.finally(() => {
      this.#reporting = undefined;
      this.#host.rearm();
    });
    this.#host.background(this.#reporting);
  }

  async #reportAll(): Promise<void> {
    for (let rows = this.#due(); rows.length > 0; rows = this.#due()) {
      for (const { turn_id, report } of rows) {
        try {
          // Written by `#write` only.
          const turn = JSON.parse(report ?? "{}") as FollowedTurn;
          await this.#agent.messengerCall({ do: "follow", turn });
          this.#tables.change(`DELETE FROM cf_messenger_turns WHERE turn_id = ?`, turn_id);
        } catch (error) {
          console.warn("A turn could not be reported to the agent that has its messenger; it is tried again.", error);
          const dueAt = this.#host.clock.now() + RETRY_MS;
          this.#tables.change(`UPDATE cf_messenger_turns SET due_at = ? WHERE turn_id = ?`, dueAt, turn_id);
        }
      }
    }
  }

  #due(): TurnRow[] {
    return this.#tables.all<TurnRow>(`SELECT * FROM cf_messenger_turns WHERE due_at <= ?`, this.#host.clock.now());
  }

  #write({ turn_id: turnId, request_id: requestId, origin }: TurnRow, failed: boolean): void {
    const { messengerId, thread } = JSON.parse(origin) as MessengerOrigin;
    const text = this.#readText(requestId);
    const target = runtimeOf(this.#host.agent).identity.pathBelowRoot;
    const report: FollowedTurn = { messengerId, threadId: thread.id, turnId, requestId, text, failed, target };
    this.#tables.change(
      `UPDATE cf_messenger_turns SET report = ?, due_at = ? WHERE turn_id = ?`,
      JSON.stringify(report),
      this.#host.clock.now(),
      turnId
    );
  }

  /** Reads only what the turn itself said: its message may have begun in an earlier turn, which the chat already shows. */
  #readText(requestId: string): string {
    const text = new ReplyText();
    for (const { body } of this.#host.turns.replay(requestId)?.chunks ?? []) text.read(body);
    return text.value;
  }
}
