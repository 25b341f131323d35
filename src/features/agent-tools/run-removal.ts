// Deletes runs with their children: what was marked as cleared counts as gone already, and is deleted until that has worked.
// Each once at a time. Nothing of a child goes on working when its storage is gone, as far as it can be reached.
import type { RunOwner } from "./ports.ts";
import type { RunRow } from "./run-table.ts";

export class RunRemoval {
  readonly #owner: RunOwner;
  readonly #stop: (runId: string) => void;
  readonly #underWay = new Map<string, Promise<void>>();

  /** `stop` makes what follows the run in this process leave it. */
  constructor(owner: RunOwner, stop: (runId: string) => void) {
    this.#owner = owner;
    this.#stop = stop;
  }

  isUnderWay({ run_id }: RunRow): boolean {
    return this.#underWay.has(run_id);
  }

  async removeCleared(): Promise<void> {
    const cleared = this.#owner.table.unfinished().filter(({ status }) => status === "clearing");
    await Promise.all(cleared.map((row) => this.#removeOnce(row)));
  }

  #removeOnce(row: RunRow): Promise<void> {
    const known = this.#underWay.get(row.run_id);
    if (known) return known;
    this.#stop(row.run_id);
    const removing = this.#owner
      .inAgent(() => this.#remove(row))
      .finally(() => {
        this.#underWay.delete(row.run_id);
        // No wake was asked for while it was under way.
        const { retries, runtime } = this.#owner;
        if (retries.at(row.run_id) !== undefined) runtime.background(runtime.wakes.rearm());
      });
    this.#underWay.set(row.run_id, removing);
    return removing;
  }

  async #remove(row: RunRow): Promise<void> {
    const { table, link, retries, slots } = this.#owner;
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
