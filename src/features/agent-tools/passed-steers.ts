// The parent's side of messages that are passed to a child: who is given them is recorded before the child is asked, the
// child says which it has read, and what it has not read when its run ends waits in the parent again. A run that is taken up
// after a crash is asked again, which changes nothing for a message that it has.
import { happensWithin } from "../../host/deadline.ts";
import type { PassedSteer } from "../../turn/passing.ts";
import { INSPECT_MS, type LiveRun } from "./live-run.ts";
import type { RunOwner } from "./ports.ts";
import type { ChildRunEnd } from "./run.ts";
import type { AgentToolRunInspection } from "./run-progress.ts";

/** What this process knows of a message: its child is being asked, has it, does not take it, or did not answer. */
type Asked = "asking" | "has-it" | "refuses" | "no-answer";

export class PassedSteers {
  readonly #owner: RunOwner;
  /** The runs that this process works on. */
  readonly #live: () => Iterable<LiveRun>;
  readonly #asked = new WeakMap<LiveRun, Map<string, Asked>>();
  /** Messages of one run are given to it in their order. */
  readonly #delivered = new WeakMap<LiveRun, Promise<void>>();

  constructor(owner: RunOwner, live: () => Iterable<LiveRun>) {
    this.#owner = owner;
    this.#live = live;
  }

  /** Steers that wait are for the child that the running turn waits for, if it takes them: of several, the one that began last. */
  pass(): void {
    const takers = [...this.#live()].filter(({ takesSteers }) => takesSteers);
    const live = takers.toSorted((a, b) => b.row.ordinal - a.row.ordinal)[0];
    if (!live || live.row.turn_id === null) return;
    const steers = this.#passing?.pass(live.row.turn_id, live.row.run_id);
    for (const steer of steers ?? []) this.#give(live, steer);
  }

  /** Its child has answered: what an earlier process passed to it is given again, and what it has read is over. */
  reached(live: LiveRun, run?: AgentToolRunInspection): void {
    for (const steer of this.#of(live)) {
      if (run?.steers?.includes(steer.id)) this.#passing?.wasRead(steer);
      else if (run?.status !== "running" || this.#asked.get(live)?.has(steer.id)) continue;
      else this.#give(live, steer);
    }
    this.pass();
  }

  /** The run is over. What it has not read waits again, before the parent's model is asked the next time. */
  async ended(live: LiveRun, end: ChildRunEnd): Promise<void> {
    const steers = this.#of(live);
    if (steers.length === 0) return;
    const read = end.steers ?? (await this.#readBy(live));
    for (const steer of steers) {
      // A child that cannot be asked, and has the message, still works: it reads it in its own time.
      const isRead = read?.includes(steer.id) ?? this.#asked.get(live)?.get(steer.id) === "has-it";
      if (isRead) this.#passing?.wasRead(steer);
      else this.#passing?.giveBack(steer);
    }
  }

  /** At a start: runs that were deleted, and whose process died with that, have read nothing. */
  giveBackLost(): void {
    const open = new Set(this.#owner.table.open().map(({ run_id: runId }) => runId));
    for (const steer of this.#passing?.list() ?? []) {
      if (!open.has(steer.runId)) this.#passing?.giveBack(steer);
    }
  }

  get #passing() {
    return this.#owner.conversation.passing;
  }

  #of(live: LiveRun): PassedSteer[] {
    return (this.#passing?.list() ?? []).filter(({ runId }) => runId === live.row.run_id);
  }

  #give(live: LiveRun, steer: PassedSteer): void {
    const asked = this.#asked.get(live) ?? new Map<string, Asked>();
    this.#asked.set(live, asked.set(steer.id, "asking"));
    const before = this.#delivered.get(live) ?? Promise.resolve();
    const delivered = before.then(async () => void asked.set(steer.id, await this.#ask(live, steer)));
    this.#delivered.set(live, delivered);
    this.#owner.runtime.background(delivered);
  }

  async #ask(live: LiveRun, steer: PassedSteer): Promise<Asked> {
    const { id, messages, body } = steer;
    try {
      if (await this.#owner.link.steer(live.row, { id, messages, body })) return "has-it";
    } catch (error) {
      console.warn("It is not known whether a sub-agent has a message; it says so when it ends.", error);
      return "no-answer";
    }
    live.refusesSteers = true;
    this.#passing?.giveBack(steer);
    return "refuses";
  }

  /** Of a run that was left before its child said how it ended. Undefined: the child does not answer. */
  async #readBy({ row }: LiveRun): Promise<readonly string[] | undefined> {
    const { link, runtime } = this.#owner;
    try {
      const reading = link.read(row, { afterSequence: -1, waitMs: 0 });
      if (!(await happensWithin(INSPECT_MS, reading, runtime.clock))) return undefined;
      const { run } = await reading;
      return run?.status === "running" ? undefined : (run?.steers ?? []);
    } catch {
      return undefined; // The run's end says that it could not be reached.
    }
  }
}
