// The parent's side: what becomes of the runs that an agent has started. A run is written down before its child hears of
// it and is closed when its child has said how it ended, so that a restart finds every child again. The same run never
// starts twice. Starts call no child: runs that a crash left are taken up by the turn that waits for them, or by a wake.
import type { Connection } from "../../host/connection.ts";
import type { AgentToolsMembers } from "./members.ts";
import type { AgentToolChunk } from "./chunk-feed.ts";
import { isOverridden } from "../../feature/members.ts";
import { runtimeOf, type AgentRuntime } from "../../agent/runtime.ts";
import { currentDurable } from "../../agent/context.ts";
import type { SubAgentClass } from "../../agent/tree/sub-agent-stub.ts";
import { sha256 } from "../../host/blobs.ts";
import { happensWithin } from "../../host/deadline.ts";
import type { CallOutcome } from "../../journal/records.ts";
import type { TurnOutcome } from "../../turn/turn.ts";
import { isObject, type Json, stringifyJson } from "../../util/json.ts";
import { ok } from "../../util/result.ts";
import { SETTLED, type WorkItem } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import { displayOfTool, toolOutput, type AgentToolDefinition } from "./definition.ts";
import { AGENT_TOOL } from "../../feature/tool-layers.ts";
import { ChildLink } from "./child-link.ts";
import { takesRuns } from "./child-methods.ts";
import { agentToolErrors } from "./errors.ts";
import { RunEvents } from "./events.ts";
import { LiveRun, type LiveRunOwner, type RunRequest } from "./live-run.ts";
import { CHILD_BACKOFF, CLEARED, NO_CONVERSATION, type RunConversation } from "./ports.ts";
import {
  isHardTerminal,
  isOpenRun,
  previewOf,
  originalRunId,
  runIdOfCall,
  type AgentToolRunInfo,
  type BackgroundRun,
  type RunAgentToolOptions,
  type RunAgentToolResult,
  type ChildRunEnd
} from "./run.ts";
import {
  isOfOpenRun,
  LEFT,
  runInfo,
  runResult,
  RunTable,
  workKeyOf,
  type ClearAgentToolRunsOptions,
  type RunRow
} from "./run-table.ts";
import { RunRemoval } from "./run-removal.ts";
import { PassedSteers } from "./passed-steers.ts";
import type { AgentToolRunInspection } from "./run-progress.ts";
import { RunReports } from "./run-reports.ts";
import { Slots } from "./slots.ts";

/** How long a client that connects waits for what a child has said. */
const REPLAY_MS = 2_000;
/** Characters of an id that is not given. */
const RANDOM_ID_CHARS = 12;

const OWNER_ENDED = "The turn that started the run has ended.";

export class ChildRuns implements LiveRunOwner {
  /** Set by an agent that has one, before its start is over. */
  conversation: RunConversation = NO_CONVERSATION;
  readonly runtime: AgentRuntime;
  readonly agent: AgentToolsMembers;
  readonly table: RunTable;
  readonly link: ChildLink;
  readonly slots = new Slots(this);
  /** Messages that children are given. */
  readonly steers = new PassedSteers(this, () => this.#live.values());
  readonly #events = new RunEvents(this);
  readonly #live = new Map<string, LiveRun>();
  readonly #removal: RunRemoval;
  readonly #reports: RunReports;
  /** Runs that are open, or not reported, and that no call of this process works on. */
  readonly #left: Work<null>;
  readonly #works: readonly [Work<null>, Work<boolean>];
  #activeAt = 0;

  constructor(agent: AgentToolsMembers) {
    this.agent = agent;
    this.runtime = runtimeOf(agent);
    this.table = new RunTable(this.runtime.sql);
    this.link = new ChildLink(this.runtime);
    this.#removal = new RunRemoval(this, (runId) => this.#live.get(runId)?.stop({ kind: "cleared" }));
    this.#reports = new RunReports(this);
    this.#left = new Work(this.runtime, {
      name: LEFT,
      codec: { encode: () => null, decode: () => ok(null) },
      // The end of a process says nothing about the child that it followed.
      retry: { backoff: CHILD_BACKOFF, quickRestarts: Infinity },
      interrupted: (item) => (isOfOpenRun(item) ? "again" : this.#reports.afterDeath(item.starts)),
      // A call may come first, and has the input of a run that has not begun.
      byWake: true,
      // As many as the class lets begin.
      concurrency: Infinity,
      retentionMs: 0,
      run: async (item) => {
        await this.#takeUp(item);
        return SETTLED;
      }
    });
    this.#works = [this.#left, this.#removal.work];
  }

  // ── Runs ──

  async run(childClass: SubAgentClass, options: RunAgentToolOptions): Promise<RunAgentToolResult> {
    const { input, signal, noProgressMs, steer } = options;
    const runId = options.runId ?? this.#newId();
    const known = this.table.get(runId);
    const request = { input: { value: input }, isNew: !known, signal, noProgressMs, steer };
    if (known) return this.#again(known, request);
    const row = this.#add(childClass, options, runId);
    if (!row) return this.#currentResult(runId);
    const refusal = this.#refusal(childClass, row, signal);
    if (refusal) return this.#end(runId, refusal, 0).finally(() => this.#leave(runId));
    return this.#resultFor(this.#watch(row, request));
  }

  /** What the model reads of a call. */
  async callTool(
    definition: AgentToolDefinition,
    call: { input: unknown; toolCallId: string; signal: AbortSignal | undefined }
  ): Promise<unknown> {
    const { input, toolCallId, signal } = call;
    const { childClass, options } = definition;
    const messageId = this.conversation.currentTurn()?.messageId ?? sha256(stringifyJson(input) ?? "");
    const { detached, noProgressMs, steer } = options;
    const result = await this.run(childClass, {
      input,
      runId: runIdOfCall(messageId, toolCallId),
      parentToolCallId: toolCallId,
      display: displayOfTool(definition),
      signal,
      detached,
      noProgressMs,
      steer
    });
    return toolOutput(result, definition);
  }

  /** Whether a call whose attempt is over has a child that knows more, or may still get one. */
  keepsCall(messageId: string, call: { readonly toolCallId: string; readonly toolName: string }): boolean {
    return this.#definition(call.toolName) !== undefined || this.#rowOfCall(messageId, call.toolCallId) !== undefined;
  }

  /** What came of such a call: waits for its child. Undefined: there is none, and there can be none. */
  async lateOutcome(
    turn: { readonly messageId: string; readonly turnId: string; readonly signal: AbortSignal },
    call: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  ): Promise<CallOutcome | undefined> {
    const { signal } = turn;
    const row = this.#rowOfCall(turn.messageId, call.toolCallId);
    const definition = this.#definition(call.toolName);
    if (!definition && !row) return undefined;
    const input = { value: call.input };
    // The call is recorded, and the process died before its run was.
    const known = row ?? (definition && this.#writeCall(definition, turn, call));
    if (!known) return undefined;
    const { steer } = definition?.options ?? {};
    const result = await this.#again(known, { input, isNew: false, signal, steer });
    if (signal.aborted) return undefined;
    const output = await toolOutput(result, definition);
    return { kind: "output", output: JSON.parse(stringifyJson(output) ?? "null") as Json };
  }

  has(className: string, runId: string): boolean {
    return this.table.get(runId)?.class_name === className;
  }

  inspect(runId: string): (AgentToolRunInfo & RunAgentToolResult) | undefined {
    const row = this.table.get(runId);
    return row && { ...runInfo(row), ...runResult(row), status: runInfo(row).status as RunAgentToolResult["status"] };
  }

  list(limit: number): AgentToolRunInfo[] {
    return this.table.list(limit).map(runInfo);
  }

  /** Durable when it returns; resolves when the child was stopped. Nothing for a run that is over. */
  async cancel(runId: string, reason: string): Promise<void> {
    const row = this.table.get(runId);
    if (!row || !isOpenRun(row.status)) return;
    this.table.requestCancel(runId, reason);
    const live = this.#live.get(runId);
    live?.stop({ kind: "cancel", reason });
    await (live ?? this.#watch({ ...row, cancel: reason }, { isNew: false })).result;
  }

  /** Deletes runs with their children; those that are open are stopped first. */
  async clear(options: ClearAgentToolRunsOptions = {}): Promise<void> {
    this.#removal.add(() => this.table.takeCleared(options), true);
    // Also what waits after failures.
    this.#removal.work.retryBy(this.runtime.clock.now());
    await this.#removal.work.drained();
  }

  // ── Life of the agent ──

  /** Nothing runs in this process yet: what is open, or unreported, an earlier one has left. */
  start(): void {
    if (!this.table.exists) return;
    for (const row of this.table.unfinished()) if (!this.#isAwaited(row)) this.#owe(row, 0);
    for (const work of this.#works) work.start();
  }

  ready(): void {
    for (const work of this.#works) work.ready();
  }

  connected(connection: Connection): void {
    if (this.table.exists) this.#events.connected(connection);
  }

  /** Children go on after a turn that was answered; those of any other are stopped. */
  settled(turnId: string, { status }: Pick<TurnOutcome, "status">): void {
    if (!this.table.exists) return;
    // Its runs were kept until now.
    this.#expire();
    for (const row of this.table.openOfTurn(turnId)) {
      const { run_id: runId } = row;
      if (status !== "completed")
        this.runtime.background(this.cancel(runId, OWNER_ENDED).finally(() => this.#leave(runId)));
      else if (!this.#live.has(runId)) this.#owe(row, 0);
    }
  }

  /** Part of the transaction that empties the conversation. */
  cleared(): void {
    if (this.table.exists) this.#removal.add(() => this.table.takeCleared(), true);
  }

  nextWake(): number | null {
    if (!this.table.exists) return null;
    const { maxAgeMs } = this.agent.agentToolRetention;
    const firstEndedAt = maxAgeMs === undefined ? null : this.table.firstEndedAt(this.conversation.openTurns());
    const expiresAt = maxAgeMs === undefined || firstEndedAt === null ? null : firstEndedAt + maxAgeMs + 1;
    const times = [expiresAt, ...this.#works.map((work) => work.nextWake())].filter((at) => at !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  async runDue(): Promise<void> {
    if (!this.table.exists) return;
    this.#expire();
    const now = this.runtime.clock.now();
    const waiting = [...this.#left.items({ states: ["waiting"] })];
    const runCount = waiting.filter((item) => isOfOpenRun(item) && Number(item.dueAt) <= now).length;
    if (runCount > 0) this.runtime.background(this.#recover(runCount));
    await Promise.all(this.#works.map((work) => work.runDue()));
  }

  /** Follows a run that was left, stops it, or reports its end. A throw: it is tried again. */
  async #takeUp({ key, starts }: WorkItem<null>): Promise<void> {
    const row = this.table.unfinished().find((left) => workKeyOf(left) === key);
    if (!row) return;
    if (!isOpenRun(row.status)) return this.#reports.again(row, starts);
    await (this.#live.get(row.run_id) ?? this.#watch(row, { isNew: false })).result;
    if (this.table.open().some(({ run_id }) => run_id === row.run_id)) throw new Error("The run was left again.");
  }

  /** Resolves when all of them are over. */
  async #recover(runCount: number): Promise<void> {
    const { clock } = this.runtime;
    const beganAt = clock.now();
    this.runtime.emit("agent_tool:recovery:begin", { runCount });
    await this.#left.drained();
    this.runtime.emit("agent_tool:recovery:complete", { runCount, elapsedMs: clock.now() - beganAt });
  }

  stop(): void {
    for (const work of this.#works) work.stop();
    for (const live of this.#live.values()) live.stop({ kind: "detach" });
  }

  /** Used by the children of a turn so far. */
  tokensOf(turnId: string): number {
    if (!this.table.exists) return 0;
    const live = [...this.#live.values()].filter((run) => run.row.turn_id === turnId);
    // A run that is taken up again has in its row what it had used before.
    const more = live.map(({ tokens, row }) => Math.max(0, tokens - row.tokens));
    return more.reduce((sum, tokens) => sum + tokens, this.table.tokensOf(turnId));
  }

  /** When a child last said something. */
  get activeAt(): number {
    return this.#activeAt;
  }

  // ── One run ──

  #add(childClass: SubAgentClass, options: RunAgentToolOptions, runId: string): RunRow | undefined {
    const { detached } = options;
    const isDetached = detached !== undefined && detached !== false;
    return this.#write(childClass, {
      ...options,
      runId,
      turnId: isDetached ? null : (this.conversation.currentTurn()?.turnId ?? null),
      background: isDetached ? (detached === true ? {} : detached) : undefined
    });
  }

  #writeCall(
    definition: AgentToolDefinition,
    { messageId, turnId }: { readonly messageId: string; readonly turnId: string },
    { toolCallId, input }: { readonly toolCallId: string; readonly input: unknown }
  ): RunRow | undefined {
    const display = displayOfTool(definition);
    const runId = runIdOfCall(messageId, toolCallId);
    return this.#write(definition.childClass, { input, runId, turnId, parentToolCallId: toolCallId, display });
  }

  /** Undefined: an earlier child of this name is still being deleted. */
  #write(
    childClass: SubAgentClass,
    run: Omit<RunAgentToolOptions, "runId" | "detached"> & {
      readonly runId: string;
      readonly turnId: string | null;
      readonly background?: BackgroundRun | undefined;
    }
  ): RunRow | undefined {
    const { input, inputPreview, display } = run;
    if (this.#removal.isOwed({ class_name: childClass.name, run_id: run.runId })) return undefined;
    const row = this.table.add(
      {
        run_id: run.runId,
        class_name: childClass.name,
        call_id: run.parentToolCallId ?? null,
        turn_id: run.turnId,
        preview: inputPreview ?? previewOf(input) ?? null,
        display_order: run.displayOrder ?? 0,
        display: isObject(display) && Object.keys(display).length > 0 ? display : undefined,
        detached: run.background
      },
      this.runtime.clock.now()
    );
    this.#events.started(row);
    return row;
  }

  /** Why a run must not begin. Its child never hears of it. */
  #refusal(childClass: SubAgentClass, row: RunRow, signal: AbortSignal | undefined): ChildRunEnd | undefined {
    if (signal?.aborted && row.detached === null) return { status: "aborted", error: "cancelled" };
    if (!takesRuns(childClass)) {
      return { status: "error", error: agentToolErrors.AgentToolClassError(childClass.name).message };
    }
    // In the same tick as the answer: another run may be asked for in the next one.
    if (this.slots.reserve(row.run_id)) return undefined;
    return { status: "error", error: `maxConcurrentAgentTools (${this.agent.maxConcurrentAgentTools}) exceeded` };
  }

  /** A run that is known: its result, or the wait for it. It never starts a second time. */
  async #again(row: RunRow, request: RunRequest): Promise<RunAgentToolResult> {
    if (isHardTerminal(row.status)) return runResult(row);
    const live = this.#live.get(row.run_id) ?? this.#watch(row, request);
    live.join(request.signal);
    return this.#resultFor(live);
  }

  /** A background run is not waited for. */
  async #resultFor(live: LiveRun): Promise<RunAgentToolResult> {
    if (live.row.detached === null) return live.result;
    await live.begun;
    return this.#currentResult(live.row.run_id);
  }

  #currentResult(runId: string): RunAgentToolResult {
    const row = this.table.get(runId);
    if (!row) return { runId, agentType: "", status: "aborted", error: CLEARED };
    return isOpenRun(row.status) ? { runId, agentType: row.class_name, status: "running" } : runResult(row);
  }

  #watch(row: RunRow, request: RunRequest): LiveRun {
    const live = new LiveRun(this, row, request);
    this.#live.set(row.run_id, live);
    live.begin((end) => this.#finish(live, end));
    return live;
  }

  onChunks(row: RunRow, chunks: readonly AgentToolChunk[]): void {
    this.#activeAt = this.runtime.clock.now();
    this.#events.chunks(row, chunks);
  }

  /** Stops the turn's runs, except one that ends by itself now. */
  onOverspent(turnId: string): void {
    for (const live of this.#live.values()) {
      if (live.row.turn_id === turnId && !live.isOver) live.stop({ kind: "tokens" });
    }
  }

  async #finish(live: LiveRun, end: ChildRunEnd | undefined): Promise<RunAgentToolResult> {
    const { run_id: runId, class_name: agentType } = live.row;
    this.onLeft(live);
    // Its caller is gone, and the run is not over. Or its child could not be stopped: that is tried again.
    if (!end) {
      this.#leave(runId);
      const cancel = this.table.get(runId)?.cancel ?? null;
      if (cancel !== null) return { runId, agentType, status: "aborted", error: cancel };
      return { runId, agentType, status: "interrupted", error: OWNER_ENDED, childStillRunning: true };
    }
    await this.steers.ended(live, end);
    return this.#end(runId, { ...end, tokens: Math.max(end.tokens ?? 0, live.tokens) }, live.lastEvent);
  }

  onReachable(live: LiveRun, run?: AgentToolRunInspection): void {
    this.steers.reached(live, run);
  }

  onFailed(live: LiveRun): void {
    this.onLeft(live);
    this.#leave(live.row.run_id);
  }

  /** Unless it is over, or a turn takes it up, it is taken up after a pause. */
  #leave(runId: string): void {
    this.slots.leave(runId);
    const row = this.table.unfinished().find(({ run_id }) => run_id === runId);
    if (row && !this.#isAwaited(row)) this.#owe(row, CHILD_BACKOFF.baseMs);
  }

  /** Nothing for one that is owed already. */
  #owe(row: RunRow, afterMs: number): void {
    this.#left.addOrHold({ key: workKeyOf(row), payload: null, dueAt: this.runtime.clock.now() + afterMs });
  }

  onLeft(live: LiveRun): void {
    if (this.#live.get(live.row.run_id) === live) this.#live.delete(live.row.run_id);
  }

  /** Writes the end down, then notifies clients, then user code. */
  async #end(runId: string, end: ChildRunEnd, chunks: number): Promise<RunAgentToolResult> {
    const { clock } = this.runtime;
    const before = this.table.get(runId);
    const reports = (before && before.detached !== null) || isOverridden(this.agent, "onAgentToolFinish");
    const row = this.table.end(runId, end, { at: clock.now(), chunks, reports });
    this.slots.free(runId);
    if (!row || !before) return { runId, agentType: before?.class_name ?? "", status: "aborted", error: CLEARED };
    if (before.status === row.status) return runResult(row);
    this.runtime.emit("agent_tool:run:ended", { runId, agentType: row.class_name, status: end.status });
    this.#events.ended(row);
    if (reports) await this.#reports.report(row);
    this.#expire();
    return runResult(row);
  }

  // ── Deleting ──

  #expire(): void {
    const { maxRuns, maxAgeMs } = this.agent.agentToolRetention;
    if (maxRuns === undefined && maxAgeMs === undefined) return;
    const endedBefore = maxAgeMs === undefined ? undefined : this.runtime.clock.now() - maxAgeMs;
    // A turn that is open asks for its runs again after a crash, and counts what they have used.
    const expired = { maxRuns, endedBefore, openTurns: this.conversation.openTurns() };
    this.#removal.add(() => this.table.takeExpired(expired), false);
  }

  // ── Small parts ──

  isFollowed(runId: string): boolean {
    return this.#live.has(runId);
  }

  /** A turn takes it up itself. */
  #isAwaited({ status, turn_id: turnId, cancel }: RunRow): boolean {
    return isOpenRun(status) && turnId !== null && cancel === null && this.conversation.isOpen(turnId);
  }

  /** In work that is run again after a crash, the same call has the same run. */
  #newId(): string {
    const key = currentDurable()?.work.nextKey();
    return key === undefined ? this.runtime.ids.next().slice(0, RANDOM_ID_CHARS) : runIdOfCall("durable", key);
  }

  #rowOfCall(messageId: string, toolCallId: string): RunRow | undefined {
    return this.table.get(runIdOfCall(messageId, toolCallId)) ?? this.table.get(originalRunId(toolCallId));
  }

  #definition(toolName: string): AgentToolDefinition | undefined {
    const tool = this.conversation.toolNamed(toolName);
    // Only tools of `agentTool()` have a member of this name.
    return isObject(tool) && AGENT_TOOL in tool ? (tool[AGENT_TOOL] as AgentToolDefinition) : undefined;
  }

  /** Reads what a child has said, for a client, which is not kept waiting for the child. */
  async replayed(row: RunRow): Promise<readonly AgentToolChunk[]> {
    const reading = this.link.read(row, { afterSequence: -1, waitMs: 0 });
    try {
      const isInTime = await happensWithin(REPLAY_MS, reading, this.runtime.clock);
      return isInTime ? (await reading).chunks : [];
    } catch (error) {
      console.warn("What a sub-agent said could not be read for a client:", error);
      return [];
    }
  }
}
