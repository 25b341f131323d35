// The way from a parent to the child of a run. Every call is one message down the tree with plain data; a child that the
// parent does not have is an answer, not an error.
import { beforeDeadline } from "../../host/deadline.ts";
import type { AgentRuntime } from "../../agent/runtime.ts";
import { isUnknownChild, type Invoked } from "../../agent/tree/internal.ts";
import type { AgentPathStep } from "../../host/path.ts";
import type { Json } from "../../util/json.ts";
import type { PassedMessage } from "./given-steers.ts";
import type { RunProgress } from "./run-progress.ts";
import type { RunKey, RunRow } from "./run-table.ts";

/** Methods that every child has: see `AgentToolsMembers`. */
type ChildMethod = "startAgentToolRun" | "cancelAgentToolRun" | "readAgentToolRun" | "steerAgentToolRun";

interface StartOptions {
  /** What the run may use. */
  readonly maxTokens: number;
  /** The limits of the turn that it works for; undefined: there are none. */
  readonly limits: Json | undefined;
  readonly signal: AbortSignal;
}

/** How long a child has to take a cancel. */
const CANCEL_MS = 5_000;

const NO_RUN: RunProgress = { run: null, chunks: [], more: false, idleMs: 0 };

export class ChildLink {
  readonly #runtime: AgentRuntime;

  constructor(runtime: AgentRuntime) {
    this.#runtime = runtime;
  }

  /** Makes the child if there is none, and has it accept the run, unless that was stopped while the child came up. */
  async start(row: RunRow, input: unknown, { maxTokens, limits, signal }: StartOptions): Promise<void> {
    await this.#runtime.tree.spawn(childOf(row));
    // The child has had its cancel by now: what came after that would begin all the same.
    signal.throwIfAborted();
    const limit = { ...(Number.isFinite(maxTokens) && { maxTokens }), ...(limits !== undefined && { limits }) };
    await this.#ask(row, "startAgentToolRun", input, { runId: row.run_id, ...limit });
  }

  async read(row: RunRow, options: { afterSequence: number; waitMs: number }): Promise<RunProgress> {
    const read = async () => (await this.#ask(row, "readAgentToolRun", row.run_id, options)) as RunProgress | undefined;
    // Every child answers with this.
    const known = await read();
    if (known || !this.#mayBeMisnamed(row)) return known ?? NO_RUN;
    return (await this.#registerAgain(row, read)) ?? NO_RUN;
  }

  /** Its child has accepted the run, and is not registered: it was deleted, or its row is not what was stored. */
  #mayBeMisnamed(row: RunRow): boolean {
    if (row.status !== "running") return false;
    const expected = childOf(row);
    return this.#runtime.tree.children
      .list()
      .filter(({ createdAt }) => createdAt >= row.started_at)
      .some(({ className, name }) => className === expected.className || name === expected.name);
  }

  /** A child's storage is found by its name: if the run is in it, the row of the registry was bad, and is made again. */
  async #registerAgain(row: RunRow, read: () => Promise<RunProgress | undefined>): Promise<RunProgress | undefined> {
    const { tree } = this.#runtime;
    await tree.spawn(childOf(row));
    const found = await read();
    const key = row.run_id;
    const error = "a child that works on a run is not registered under its name; it is registered again";
    if (found?.run) this.#runtime.emit("storage:row:quarantined", { table: "cf_children", key, error });
    else await tree.remove(childOf(row));
    return found;
  }

  /** Gives the run a message. False: it never had it, and takes none. */
  async steer(row: RunKey, message: PassedMessage): Promise<boolean> {
    return (await this.#ask(row, "steerAgentToolRun", row.run_id, message)) === true;
  }

  /** Rejects when the child does not take it in time: it may still be working. */
  async cancel(row: RunKey, reason: string): Promise<void> {
    const late = () => new Error("The sub-agent did not take the cancel.");
    const taken = this.#ask(row, "cancelAgentToolRun", row.run_id, reason);
    await beforeDeadline(taken, { clock: this.#runtime.clock, timeoutMs: CANCEL_MS, late });
  }

  /** With its storage and everything below it. */
  async remove(row: RunKey): Promise<void> {
    await this.#runtime.tree.remove(childOf(row));
  }

  /** Undefined: there is no such child. */
  async #ask(row: RunKey, method: ChildMethod, ...args: unknown[]): Promise<unknown> {
    const answer = await this.#runtime.tree.pass([childOf(row)], { op: "invoke", method, args });
    // `invoke` is always answered like this.
    return isUnknownChild(answer) ? undefined : (answer as Invoked).result;
  }
}

function childOf({ class_name: className, run_id: name }: RunKey): AgentPathStep {
  return { className, name };
}
