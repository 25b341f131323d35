// The child's side of messages that a parent passes to a run: each is a steer of the turn that answers it. A row says that
// the run was given it, so that asking again gives it once; it goes when the run ends and the model has not read it.
import type { UIMessage } from "ai";
import type { ChatServices } from "../../feature/services.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { rootOf } from "../../turn/turn.ts";
import { ThinkError } from "../../util/errors.ts";

export const GIVEN_STEER_TABLES: readonly TableDefinition[] = [
  // Bound: one row per message that the parent passed to a run. Deleted: when the run ends unread, and with the agent.
  {
    name: "cf_own_run_steers",
    create: [
      `CREATE TABLE cf_own_run_steers (
        run_id TEXT NOT NULL,
        steer_id TEXT NOT NULL,
        PRIMARY KEY (run_id, steer_id)
      ) WITHOUT ROWID`
    ]
  }
];

/** A message that a parent passes to a run. */
export interface PassedMessage {
  readonly id: string;
  readonly messages: readonly UIMessage[];
  readonly body?: Record<string, unknown> | undefined;
}

/** The turn of the run ended while the class decided over a message for it. */
class RunOverError extends Error {}

/** The run, and the request that its turns began with. */
interface SteerableRun {
  readonly run_id: string;
  readonly request_id: string;
}

export class GivenSteers {
  readonly #services: ChatServices;
  readonly #table: TableSet;

  constructor(services: ChatServices) {
    this.#services = services;
    this.#table = new TableSet(services.sql, GIVEN_STEER_TABLES);
  }

  /** True: the run has it, since now or before. False: its turn does not run, or the class refuses the message. */
  async take(run: SteerableRun, { id, messages, body }: PassedMessage): Promise<boolean> {
    if (this.#has(run, id)) return true;
    const { features } = this.#services;
    const steers = features.role("steers");
    if (!steers || !this.#isRunning(run)) return false;
    try {
      await steers.accept({
        id,
        kind: "steer",
        input: [...messages],
        body,
        isFromClient: false,
        commit: () => this.#add(run, id)
      });
    } catch (error) {
      // It was refused, or is under an id that this conversation has used.
      if (error instanceof ThinkError || error instanceof RunOverError) return false;
      throw error;
    }
    // Accepted before, as anything else than this message.
    return this.#has(run, id);
  }

  /** The class took its time: the turn may be over, and another one would read the message. */
  #add(run: SteerableRun, id: string): void {
    if (!this.#isRunning(run)) throw new RunOverError();
    this.#table.run("INSERT INTO cf_own_run_steers (run_id, steer_id) VALUES (?, ?)", run.run_id, id);
  }

  /** Those that the model of the run has read, or is about to. */
  read({ run_id: runId }: SteerableRun): string[] {
    return this.#ids(runId).filter((id) => !this.#isUnread(id));
  }

  /** The turn of the run is over: what it has not read is none of this agent's business any more. */
  leave({ run_id: runId }: SteerableRun): void {
    const { sql, turns } = this.#services;
    for (const id of this.#ids(runId)) {
      if (turns.steering.receipt(id)?.state !== "accepted") continue;
      sql.transaction(() => {
        turns.steering.withdraw(id);
        this.#table.change("DELETE FROM cf_own_run_steers WHERE run_id = ? AND steer_id = ?", runId, id);
      });
    }
  }

  /** Also one that was passed on to a sub-agent of this one, which may give it back. */
  #isUnread(id: string): boolean {
    const { turns } = this.#services;
    const state = turns.steering.receipt(id)?.state;
    return state === "accepted" || (state === "passed" && turns.isOpen(id));
  }

  /** Its turn has begun, or one that took over from it. */
  #isRunning({ request_id: requestId }: SteerableRun): boolean {
    const started = this.#services.turns.started();
    return started !== undefined && rootOf(started).requestId === requestId && !started.signal.aborted;
  }

  #has({ run_id: runId }: SteerableRun, id: string): boolean {
    return this.#ids(runId).includes(id);
  }

  #ids(runId: string): string[] {
    return this.#table
      .all<{ steer_id: string }>("SELECT steer_id FROM cf_own_run_steers WHERE run_id = ?", runId)
      .map(({ steer_id }) => steer_id);
  }
}
