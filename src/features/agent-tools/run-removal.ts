// Deletes runs with their children: what was marked as cleared counts as gone already, and is deleted until that has worked.
// Each once at a time. Nothing of a child goes on working when its storage is gone, as far as it can be reached.
import type { ChildLink } from "./child-link.ts";
import type { RetryTimes } from "./retry-times.ts";
import type { RunRow, RunTable } from "./run-table.ts";
import type { Slots } from "./slots.ts";

export interface RunRemovalInit {
  readonly table: RunTable;
  readonly link: ChildLink;
  readonly retries: RetryTimes;
  readonly slots: Slots;
  /** Whatever follows the run in this process leaves it. */
  readonly stop: (runId: string) => void;
  /** Runs work in the agent's context, kept alive until it ends. */
  readonly inAgent: (work: () => Promise<void>) => Promise<void>;
  /** What is to be deleted, and is not being deleted, needs a wake. */
  readonly rearm: () => void;
}

export class RunRemoval {
  readonly #init: RunRemovalInit;
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(init: RunRemovalInit) {
    this.#init = init;
  }

  isUnderWay({ run_id }: RunRow): boolean {
    return this.#underWay.has(run_id);
  }

  async removeCleared(): Promise<void> {
    const cleared = this.#init.table.unfinished().filter(({ status }) => status === "clearing");
    await Promise.all(cleared.map((row) => this.#removeOnce(row)));
  }

  #removeOnce(row: RunRow): Promise<void> {
    const known = this.#underWay.get(row.run_id);
    if (known) return known;
    this.#init.stop(row.run_id);
    const removing = this.#init
      .inAgent(() => this.#remove(row))
      .finally(() => {
        this.#underWay.delete(row.run_id);
        // No wake was asked for while it was under way.
        if (this.#init.retries.at(row.run_id) !== undefined) this.#init.rearm();
      });
    this.#underWay.set(row.run_id, removing);
    return removing;
  }

  async #remove(row: RunRow): Promise<void> {
    const { table, link, retries, slots } = this.#init;
    const runId = row.run_id;
    try {
      if (row.cancel !== null) {
        await link.cancel(row, row.cancel).catch((error: unknown) => {
          console.warn(`A run of ${row.class_name} could not be stopped before it is deleted:`, error);
        });
      }
      await link.remove(row);
      table.remove(runId);
      retries.done(runId);
    } catch (error) {
      console.error("A sub-agent could not be deleted; it is tried again.", error);
      retries.failed(runId);
    }
    slots.free(runId);
  }
}
