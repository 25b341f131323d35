// One run that this process works on: reaches the child, follows it to its end, and stops it where it must. It says how
// the run ended; writing that down is its owner's. Between any two of its steps the process may die: the row and the
// child's own record say how it goes on.
import { cutErrorText, errorMessage, ThinkError } from "../../util/errors.ts";
import { answerInTime, follow, NoAnswerError, type Followed } from "./follow.ts";
import type { AgentToolChunk } from "./chunk-feed.ts";
import type { AgentToolRunInspection } from "./run-progress.ts";
import type { RunOwner } from "./ports.ts";
import {
  DEFAULT_BACKGROUND_MS,
  NEVER_STARTED,
  abortReasonText,
  type RunAgentToolResult,
  type ChildRunEnd
} from "./run.ts";
import { backgroundOf, runInfo, type RunRow } from "./run-table.ts";

/**
 * How long a child may go without a sign of life: one that this process started, and one that an earlier process did. The
 * first is longer than a model may be silent: a child whose stream stalls recovers, and is only slower.
 */
export const NO_PROGRESS_MS = 900_000;
export const REATTACH_MS = 120_000;
/** How long a child of an earlier process has for its first answer. */
export const INSPECT_MS = 2_000;

export interface RunRequest {
  /** Absent: only what is known of the run can be taken up. */
  readonly input?: { readonly value: unknown };
  /** Its row was written by this call: no child can know it. */
  readonly isNew: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly noProgressMs?: number | undefined;
  /** As in RunAgentToolOptions. */
  readonly steer?: "child" | "parent" | undefined;
}

/** Why the run is left before its child has ended. */
export type Stop =
  | { readonly kind: "cancel"; readonly reason: string }
  /** The attempt that waits for it is over, and the turn goes on: the child does, too. */
  | { readonly kind: "detach" }
  | { readonly kind: "budget" }
  | { readonly kind: "tokens" }
  | { readonly kind: "cleared" };

/** Who works on runs, and what a run that is worked on reports to it. */
export interface LiveRunOwner extends RunOwner {
  /** Called when the child has said something. */
  onChunks(row: RunRow, chunks: readonly AgentToolChunk[]): void;
  /** Called when its child may be given messages, and with each answer of it: it may have read some. */
  onReachable(live: LiveRun, run?: AgentToolRunInspection): void;
  /** Called when the turn has no tokens left: its other runs are stopped, too. */
  onOverspent(turnId: string): void;
  /** Called at once when the run is left to another call. */
  onLeft(live: LiveRun): void;
  /** Called when the run could not be worked on, or its end could not be written down: a wake tries again. */
  onFailed(live: LiveRun): void;
}

const NO_RECORD = "The sub-agent has no record of this run.";
const NOT_STARTED = "The sub-agent could not be started.";
const SLOW_START = "The sub-agent did not begin in time.";
const SILENT = "The sub-agent showed no sign of life for too long.";
const UNREACHABLE = "The sub-agent could not be reached.";
const OVER_BUDGET = "The run took longer than it may.";
const OVER_TOKENS = "The turn's token budget is used up.";

export class LiveRun {
  readonly row: RunRow;
  /** What its child has used, as far as is known. */
  tokens = 0;
  /** The number of the newest event that clients were sent. */
  lastEvent = 0;
  /** Its child has ended. */
  isOver = false;
  readonly #owner: LiveRunOwner;
  readonly #request: RunRequest;
  readonly #stop = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  readonly #result = Promise.withResolvers<RunAgentToolResult>();
  readonly #detach: (() => void)[] = [];
  #stopped: Stop | undefined;
  /** Its child has said that it has the run. */
  #isAccepted = false;
  /** The child refused a message: the next ones are the parent's. */
  refusesSteers = false;
  /** What the child said last that it waits for. */
  #waitingFor: string | undefined;

  constructor(owner: LiveRunOwner, row: RunRow, request: RunRequest) {
    this.#owner = owner;
    this.row = row;
    this.#request = request;
  }

  /** Steers of the turn that waits for it are for its child. */
  get takesSteers(): boolean {
    const { turn_id: turnId, detached } = this.row;
    const isWaitedFor = turnId !== null && detached === null && !this.#stopped && !this.isOver;
    return this.#request.steer === "child" && isWaitedFor && this.#isAccepted && !this.refusesSteers;
  }

  /** Resolves when the child has accepted the run, or the run is over. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Never rejects. */
  get result(): Promise<RunAgentToolResult> {
    return this.#result.promise;
  }

  /** `finish` writes down how it ended; undefined: it is not over, and another call takes it up. */
  begin(finish: (end: ChildRunEnd | undefined) => Promise<RunAgentToolResult>): void {
    const { runtime } = this.#owner;
    const { row } = this;
    const request = this.#request;
    if (row.cancel !== null) this.stop({ kind: "cancel", reason: row.cancel });
    else if (row.detached !== null) void this.#limitTime();
    this.join(request.signal);
    const { run_id: runId, class_name: agentType } = row;
    const beganAt = runtime.clock.now();
    const work = runtime.keepAlive.while(() => runtime.enterContext(async () => finish(await this.#run())));
    const ended = (result: RunAgentToolResult) => {
      const { status, error: reason } = result;
      const elapsedMs = runtime.clock.now() - beganAt;
      const why = reason === undefined ? {} : { reason };
      if (!request.isNew) runtime.emit("agent_tool:recovery:row", { runId, agentType, status, ...why, elapsedMs });
      this.#result.resolve(result);
    };
    runtime.background(
      work.then(ended, async (error: unknown) => {
        this.#owner.onFailed(this);
        if (!request.isNew) runtime.emit("agent_tool:recovery:failed", { error: errorMessage(error) });
        await runtime.report(error);
        this.#result.resolve({ runId, agentType, status: "error", error: NOT_STARTED });
      })
    );
    void this.#result.promise.then(() => {
      this.#begun.resolve();
      // Whatever still waits for it, such as its time limit.
      this.#stop.abort();
      for (const detach of this.#detach) detach();
    });
  }

  /** A caller that waits for it may stop it. */
  join(signal: AbortSignal | undefined): void {
    if (!signal || this.row.detached !== null) return;
    const onAbort = () => this.#aborted(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#detach.push(() => signal.removeEventListener("abort", onAbort));
  }

  stop(stop: Stop): void {
    if (this.#stopped) return;
    this.#stopped = stop;
    if (stop.kind === "detach") this.#owner.onLeft(this);
    this.#stop.abort(new DOMException("The run is left.", "AbortError"));
  }

  /** The end of an attempt is not that of its turn: the next attempt takes the run up where it is. */
  #aborted(reason: unknown): void {
    const { conversation, table } = this.#owner;
    const { turn_id: turnId, run_id: runId } = this.row;
    if (turnId !== null && !conversation.isStopped(turnId)) return this.stop({ kind: "detach" });
    const text = abortReasonText(reason);
    table.requestCancel(runId, text);
    this.stop({ kind: "cancel", reason: text });
  }

  async #limitTime(): Promise<void> {
    const { runtime } = this.#owner;
    const { maxBudgetMs = DEFAULT_BACKGROUND_MS } = backgroundOf(this.row) ?? {};
    const leftMs = this.row.started_at + maxBudgetMs - runtime.clock.now();
    try {
      await runtime.clock.sleep(Math.max(0, leftMs), this.#stop.signal);
    } catch {
      return; // It is over.
    }
    this.stop({ kind: "budget" });
  }

  /** How it ended; undefined: it goes on without this process knowing its end. */
  async #run(): Promise<ChildRunEnd | undefined> {
    try {
      return await this.#reachEnd();
    } catch (error) {
      if (!this.#stopped) throw error;
      return this.#stoppedEnd(this.#stopped);
    }
  }

  async #stoppedEnd(stop: Stop): Promise<ChildRunEnd | undefined> {
    switch (stop.kind) {
      case "detach":
        return undefined;
      case "cleared":
        return { status: "aborted", error: "clearing agent tool run" };
      case "cancel":
        return (await this.#stopChild(stop.reason)) ? { status: "aborted", error: stop.reason } : undefined;
      case "tokens":
        await this.#stopChild(OVER_TOKENS);
        return { status: "error", error: OVER_TOKENS };
      case "budget": {
        const childStillRunning = !(await this.#stopChild(OVER_BUDGET));
        return { status: "interrupted", error: OVER_BUDGET, reason: "budget-exceeded", childStillRunning };
      }
    }
  }

  /** False: the child may still be working. */
  async #stopChild(reason: string): Promise<boolean> {
    try {
      await this.#owner.link.cancel(this.row, reason);
      return true;
    } catch (error) {
      console.warn("A sub-agent could not be stopped; it is tried again.", error);
      return false;
    }
  }

  async #reachEnd(): Promise<ChildRunEnd> {
    const { row } = this;
    const { runtime } = this.#owner;
    const request = this.#request;
    this.#stop.signal.throwIfAborted();
    if (!request.isNew) {
      const { run_id: runId, class_name: agentType } = row;
      runtime.emit("agent_tool:recovery:reattach", { runId, agentType, budgetMs: this.#noProgressMs });
      const followed = await this.#follow(row.detached === null ? INSPECT_MS : undefined);
      // Only a run that no child has accepted may begin.
      const isUnaccepted = !this.#isAccepted && (row.status === "starting" || row.reason === "not-started");
      if (!isUnaccepted || (followed.kind !== "unknown" && followed.kind !== "unreachable")) {
        return this.#endOf(followed);
      }
      // A later call may still start it: that its child was out of reach does not change that.
      if (followed.kind === "unreachable") return notAccepted(UNREACHABLE, followed.error);
      if (!request.input) return NOT_BEGUN;
    }
    const refusal = await this.#startChild(request.input?.value);
    return refusal ?? this.#endOf(await this.#follow());
  }

  /** A silent child is left running for a later call. No call comes back for a background run: its child is stopped. */
  async #endOf(followed: Followed): Promise<ChildRunEnd> {
    const waiting = followed.kind === "silent" ? this.#waitingFor : undefined;
    const end = { ...endOf(followed), ...(waiting !== undefined && { error: waitsFor(waiting) }) };
    if (followed.kind !== "silent" || this.row.detached === null) return end;
    return { ...end, childStillRunning: !(await this.#stopChild(SILENT)) };
  }

  async #startChild(input: unknown): Promise<ChildRunEnd | undefined> {
    const { agent, slots, link, conversation, table, runtime } = this.#owner;
    const { row } = this;
    await slots.take(row.run_id, this.#stop.signal);
    try {
      await agent.onAgentToolStart(runInfo(row));
    } catch (error) {
      await runtime.report(error);
      return { status: "error", error: cutErrorText(errorMessage(error)) };
    }
    this.#stop.signal.throwIfAborted();
    const maxTokens = row.turn_id === null ? Infinity : conversation.tokensLeft(row.turn_id);
    const limits = await runtime.features.role("budgets")?.limitsOf(row.turn_id ?? undefined);
    this.#stop.signal.throwIfAborted();
    try {
      await this.#inTime(link.start(row, input, { maxTokens, limits, signal: this.#stop.signal }), this.#startMs);
    } catch (error) {
      this.#stop.signal.throwIfAborted();
      if (!(await this.#hasBegun())) return this.#notStarted(error);
    }
    table.began(row.run_id);
    this.#isAccepted = true;
    this.#begun.resolve();
    this.#owner.onReachable(this);
    return undefined;
  }

  /** A call that failed on its way back has been made. */
  async #hasBegun(): Promise<boolean> {
    try {
      const reading = this.#owner.link.read(this.row, { afterSequence: -1, waitMs: 0 });
      return (await this.#inTime(reading, INSPECT_MS)).run !== null;
    } catch {
      this.#stop.signal.throwIfAborted();
      return false; // The failure of the start is reported.
    }
  }

  /** User code of the child may never return, when it starts or reads its input. */
  #inTime<T>(call: Promise<T>, timeoutMs: number): Promise<T> {
    return answerInTime(call, { clock: this.#owner.runtime.clock, signal: this.#stop.signal, timeoutMs });
  }

  #notStarted(error: unknown): ChildRunEnd {
    if (error instanceof NoAnswerError) return notAccepted(SLOW_START, error);
    console.error(`A run of ${this.row.class_name} could not be started:`, error);
    return { status: "error", error: error instanceof ThinkError ? error.message : NOT_STARTED };
  }

  #follow(firstAnswerMs?: number): Promise<Followed> {
    const { link, runtime } = this.#owner;
    return follow({
      ask: (options) => link.read(this.row, options),
      clock: runtime.clock,
      after: -1,
      noProgressMs: this.#noProgressMs,
      firstAnswerMs,
      signal: this.#stop.signal,
      onProgress: (chunks, run) => this.#progress(chunks, run)
    });
  }

  #progress(chunks: readonly AgentToolChunk[], run: AgentToolRunInspection): void {
    const { table, conversation } = this.#owner;
    const { run_id: runId, turn_id: turnId, status } = this.row;
    if (status === "starting" && !this.#request.isNew) table.began(runId);
    this.#isAccepted = true;
    this.#begun.resolve();
    this.tokens = Math.max(this.tokens, run.tokens ?? 0);
    this.isOver = run.status !== "running";
    this.#owner.onReachable(this, run);
    this.#waitingFor = run.waitingFor;
    if (chunks.length > 0) {
      this.lastEvent = Math.max(this.lastEvent, (chunks.at(-1)?.sequence ?? -1) + 1);
      this.#owner.onChunks(this.row, chunks);
    }
    if (turnId === null) return;
    if (chunks.length > 0) conversation.beat(turnId);
    if (conversation.tokensLeft(turnId) <= 0) this.#owner.onOverspent(turnId);
  }

  /** Also of a background run: its caller waits until it has begun. */
  get #startMs(): number {
    return this.#request.noProgressMs ?? this.#owner.agent.agentToolNoProgressMs ?? NO_PROGRESS_MS;
  }

  get #noProgressMs(): number {
    const { isNew, noProgressMs = this.#owner.agent.agentToolNoProgressMs } = this.#request;
    const background = backgroundOf(this.row);
    if (background) return background.noProgressBudgetMs ?? background.maxBudgetMs ?? DEFAULT_BACKGROUND_MS;
    return noProgressMs ?? (isNew ? NO_PROGRESS_MS : REATTACH_MS);
  }
}

function waitsFor(what: string): string {
  return `The sub-agent waits for a person to grant more budget, and goes on by itself then: ${what}.`;
}

const NOT_BEGUN: ChildRunEnd = {
  status: "interrupted",
  error: NEVER_STARTED,
  reason: "not-started",
  childStillRunning: false
};

/** It is not known whether a child has accepted it: a later call follows what there is, or starts it. */
function notAccepted(error: string, cause: unknown): ChildRunEnd {
  console.error(error, cause);
  return { status: "interrupted", error, reason: "not-started" };
}

function endOf(followed: Followed): ChildRunEnd {
  switch (followed.kind) {
    case "ended":
      return childEnd(followed.run);
    case "unknown":
      return { status: "error", error: NO_RECORD };
    case "silent":
      return { status: "interrupted", error: SILENT, reason: "no-progress", childStillRunning: true };
    case "unreachable":
      console.error("A sub-agent could not be reached:", followed.error);
      return { status: "interrupted", error: UNREACHABLE, reason: followed.reason };
  }
}

function childEnd({ status, summary, output, error, tokens, steers }: AgentToolRunInspection): ChildRunEnd {
  return {
    status: status === "running" ? "error" : status,
    summary,
    output,
    error,
    tokens,
    steers: steers ?? []
  };
}
