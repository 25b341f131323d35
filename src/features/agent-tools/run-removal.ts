// Deletes the children of runs that were cleared. The row of a run goes in the transaction that adds the deletion of its
// child, so that the run counts as gone at once; its child is deleted until that has worked, also by later processes.
import { ok } from "../../util/result.ts";
import { SETTLED } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import { CHILD_BACKOFF, CLEARED, type RunOwner } from "./ports.ts";
import { REMOVAL, type RunKey } from "./run-table.ts";

/** Children that are deleted at a time. */
const CONCURRENCY = 100;

export class RunRemoval {
  /** Its key names the child. Payload: whether that is stopped first. */
  readonly work: Work<boolean>;
  readonly #owner: RunOwner;
  readonly #stop: (runId: string) => void;

  /** `stop` makes what follows the run in this process leave it. */
  constructor(owner: RunOwner, stop: (runId: string) => void) {
    this.#owner = owner;
    this.#stop = stop;
    this.work = new Work(owner.runtime, {
      name: REMOVAL,
      codec: { encode: (isToStop) => isToStop, decode: (stored) => ok(stored === true) },
      retry: { backoff: CHILD_BACKOFF },
      concurrency: CONCURRENCY,
      retentionMs: 0,
      run: async ({ key, payload }) => {
        await this.#remove(key, payload);
        return SETTLED;
      }
    });
  }

  /** `take` deletes the rows and returns them. */
  add(take: () => readonly RunKey[], isToStop: boolean): void {
    this.#owner.runtime.sql.transaction(() => {
      for (const run of take()) this.work.add({ key: keyOf(run), payload: isToStop });
    });
  }

  isOwed(run: RunKey): boolean {
    return this.work.state(keyOf(run)) !== undefined;
  }

  async #remove(key: string, isToStop: boolean): Promise<void> {
    const { link, slots } = this.#owner;
    const [class_name = "", ...rest] = key.split(":");
    const run = { class_name, run_id: rest.join(":") };
    this.#stop(run.run_id);
    try {
      if (isToStop) {
        await link.cancel(run, CLEARED).catch((error: unknown) => {
          console.warn(`A run of ${class_name} could not be stopped before it is deleted:`, error);
        });
      }
      await link.remove(run);
    } catch (error) {
      console.error("A sub-agent could not be deleted; it is tried again.", error);
      throw error;
    } finally {
      slots.free(run.run_id);
    }
  }
}

/** The name of a class has no colon. */
function keyOf({ class_name, run_id }: RunKey): string {
  return `${class_name}:${run_id}`;
}
