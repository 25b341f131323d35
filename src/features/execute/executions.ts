// Runs of code, from their first pass to their outcome in the transcript. A decision is durable before anything runs; an
// outcome that comes after its turn, its place in the transcript and the turn that goes on are one transaction. A process
// that dies in between finds the run in the state it had reached and goes on by the rules of the log.
import type { CallOutcome } from "../../journal/records.ts";
import { schemaProblem } from "../../sandbox/json-schema.ts";
import type { ActionApprovalDescriptor, ApprovalQuestion, Question } from "../../feature/approval-contract.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { CutOffCall } from "../../turn/hooks.ts";
import type { TurnView } from "../../turn/turn.ts";
import { byteLength } from "../../util/bytes.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject, type Json } from "../../util/json.ts";
import type { Result } from "../../util/result.ts";
import { truncateText } from "../../util/truncate-value.ts";
import { DecisionLog } from "../approvals/decision-log.ts";
import type { ExecutionMembers } from "./capability.ts";
import { ConnectorCatalog } from "./catalog.ts";
import { openConnectors, type Connector, type OpenConnector } from "./connector.ts";
import { ExecutionStore, type Execution, type ExecutionPlace, type LogEntry } from "./execution-store.ts";
import { runnableCode, type RunnableCode } from "./normalize.ts";
import { noteText, showOutcome, type ExecutionOutcome, type PendingCall } from "./outcome.ts";
import { pendingCall, questionOf } from "./question.ts";
import { ExecutionPass, type PassEnd } from "./pass.ts";
import { endUnreadableRuns, UNREADABLE } from "./repair.ts";
import type { PendingExecution } from "./restore-executions.ts";
import { rollBack } from "./rollback.ts";
import type { CodeRunner } from "./runner.ts";
import { isJsonSchema } from "./schema-types.ts";
import { decodeValue, encodeValue, MAX_DURABLE_VALUE_BYTES, shownValue } from "./value-codec.ts";

/** How long a run waits for a human. */
export const DEFAULT_PAUSED_TTL_MS = 86_400_000;
/** Passes in a row whose process died before they added anything to the log: the code itself may be why. */
const MAX_IDLE_PASSES = 3;
export const REJECTED = "Rejected by user";

/** What a runtime runs code with. */
export interface RuntimeDefinition {
  readonly name: string;
  readonly runner: CodeRunner;
  readonly connectors: readonly Connector[];
  readonly timeoutMs: number;
  readonly pausedTtlMs: number | false;
  /** Ended runs that are kept. */
  readonly maxExecutions: number;
  /** What the model is shown of a result. */
  readonly transformResult: ((result: unknown) => unknown) | undefined;
}

/** Set by `everthink serve`: when a process that crashed, or did not answer any more, was gone. */
const FROZEN_VARIABLE = "EVERTHINK_FROZEN_UNTIL";

export class Executions {
  readonly store: ExecutionStore;
  readonly #host: ChatServices;
  readonly runtimes = new Map<string, RuntimeDefinition>();
  readonly active = new Map<string, Promise<ExecutionOutcome>>();
  readonly #decisions: DecisionLog;
  #isStopped = false;

  constructor(host: ChatServices) {
    this.#host = host;
    this.store = new ExecutionStore(host);
    this.#decisions = new DecisionLog(host);
  }

  register(definition: RuntimeDefinition): void {
    this.runtimes.set(definition.name, definition);
  }

  /** The agent is destroyed. */
  stop(): void {
    this.#isStopped = true;
  }

  // ── Running ──

  /** Never rejects for what the code does. */
  async execute(
    runtime: string,
    code: string,
    call: { toolCallId: string; signal: AbortSignal }
  ): Promise<ExecutionOutcome> {
    const size = byteLength(code);
    if (size > MAX_DURABLE_VALUE_BYTES)
      return failedRun("", `The code has ${size} bytes; at most ${MAX_DURABLE_VALUE_BYTES} are run.`);
    const definition = this.runtimes.get(runtime);
    if (!definition) return failedRun("", `There is no runtime "${runtime}".`);
    const parsed = await runnableCode(code);
    if (!parsed.ok) return failedRun("", parsed.error);
    const connectors = definition.connectors.map((one) => one.name());
    const place = { ...this.#place(call.toolCallId), runtime, code, connectors };
    const id = this.store.create(place, definition.maxExecutions);
    return this.pass(id, call.signal);
  }

  #place(toolCallId: string): ExecutionPlace {
    const { turnId = "", requestId = "", messageId = "" } = this.#host.turns.current() ?? {};
    return { toolCallId, turnId, requestId, messageId };
  }

  /** One pass at a time per run. */
  pass(id: string, signal: AbortSignal, origin?: unknown): Promise<ExecutionOutcome> {
    return this.#track(id, this.#runPass(id, signal, origin));
  }

  /** A pass after a decision, apart from the caller. It is active at once: an equal decision waits for it. */
  passAfterDecision(id: string, origin: unknown): Promise<ExecutionOutcome> {
    const { signal } = new AbortController();
    return this.#track(
      id,
      this.#host.inAgent(() => this.#runPass(id, signal, origin))
    );
  }

  #track(id: string, pass: Promise<ExecutionOutcome>): Promise<ExecutionOutcome> {
    const running = pass.finally(() => {
      this.active.delete(id);
      if (!this.#isStopped) this.#host.rearm();
    });
    this.active.set(id, running);
    return running;
  }

  async #runPass(id: string, signal: AbortSignal, origin: unknown): Promise<ExecutionOutcome> {
    const execution = this.store.find(id);
    if (!execution) return failedRun(id, "This execution does not exist.");
    const definition = this.runtimes.get(execution.runtime);
    if (!definition) return this.#finish(execution, { kind: "error", error: noRuntime(execution), logs: [] }, origin);
    let connectors: OpenConnector[] = [];
    let end: PassEnd;
    try {
      connectors = await openConnectors(definition.connectors);
      end = await this.#passOf(execution, { definition, connectors, signal });
    } catch (error) {
      end = { kind: "error", error: errorMessage(error), logs: [] };
    }
    const outcome = this.#finish(execution, end, origin);
    await this.#passEnded(id, connectors, outcome.status);
    return outcome;
  }

  async #passOf(
    execution: Execution,
    {
      definition,
      connectors,
      signal
    }: { definition: RuntimeDefinition; connectors: OpenConnector[]; signal: AbortSignal }
  ): Promise<PassEnd> {
    const { clock } = this.#host;
    const missing = missingConnector(execution.connectors, connectors);
    if (missing !== undefined) return { kind: "error", error: missing, logs: [] };
    const code = await runnableCode(execution.code);
    if (!code.ok) return this.#unreadableCode(execution, code.error);
    const snippets = await this.#snippets(connectors);
    const names = connectors.map(({ name }) => name);
    this.store.beginPass(execution.id);
    const pass = new ExecutionPass({
      execution,
      store: this.store,
      connectors,
      catalog: new ConnectorCatalog(connectors, this.store.snippets()),
      validate: (schema, value) => this.validate(schema, value),
      clock,
      runner: definition.runner,
      timeoutMs: definition.timeoutMs,
      signal,
      expiresAt: () => (definition.pausedTtlMs === false ? null : clock.now() + definition.pausedTtlMs)
    });
    const methods = connectors.map(({ name, tools }) => ({ name, methods: [...tools.keys()] }));
    const payload = { connectors: methods, missing: snippets.missing };
    return pass.run({ code: code.value, connectors: names, snippets: snippets.runnable, payload });
  }

  /** It could be read when the run began. */
  #unreadableCode({ id, code }: Execution, error: string): PassEnd {
    this.#host.quarantine({ table: "cm_executions", key: id, body: code, error: `its code: ${error}` });
    return { kind: "error", error: UNREADABLE, logs: [] };
  }

  /** Those that can be read; of those whose connectors are not there, why they cannot run. */
  async #snippets(
    connectors: readonly OpenConnector[]
  ): Promise<{ runnable: Map<string, RunnableCode>; missing: Record<string, string> }> {
    const runnable = new Map<string, RunnableCode>();
    const missing: Record<string, string> = {};
    for (const snippet of this.store.snippets()) {
      const code = await runnableCode(snippet.code);
      if (!code.ok) continue;
      runnable.set(snippet.name, code.value);
      const problem = missingConnector(snippet.connectors, connectors);
      if (problem !== undefined) missing[snippet.name] = problem;
    }
    return { runnable, missing };
  }

  async validate(schema: unknown, value: unknown): Promise<Result<unknown, string>> {
    if (isJsonSchema(schema)) {
      const problem = schemaProblem(schema, value, { path: "args", depth: 0 });
      return problem === undefined ? { ok: true, value } : { ok: false, error: problem };
    }
    const checked = await this.#host.validate(schema, value);
    return checked.ok ? checked : { ok: false, error: truncateText(errorMessage(checked.error), 1_000) };
  }

  /** The outcome is written with its status; after its turn also with its place in the transcript. */
  #finish(execution: Execution, end: PassEnd, origin: unknown): ExecutionOutcome {
    const { id } = execution;
    this.#host.conversation.atomically(() => {
      this.#write(id, end);
      this.placeLate(id, origin);
    });
    const stored = this.store.find(id);
    if (!stored) return failedRun(id, "The conversation was cleared.");
    const outcome = this.outcomeOf(stored);
    // A result that is too large for the record is still the answer.
    return end.kind === "value" && outcome.status === "completed" ? { ...outcome, result: end.value } : outcome;
  }

  #write(id: string, end: PassEnd): void {
    const { logs } = end;
    switch (end.kind) {
      case "value": {
        const encoded = encodeValue(end.value);
        const result = encoded.ok ? encoded.value : JSON.stringify(`[not recorded: ${encoded.error}]`);
        this.store.end(id, { status: "completed", result, logs });
        return;
      }
      case "error":
        // A run that was paused meanwhile failed all the same: nothing of it may wait any more.
        if (!this.store.end(id, { status: "error", error: end.error, logs }))
          this.store.leavePause(id, "error", end.error);
        return;
      case "aborted":
        if (!this.store.end(id, { status: "aborted", error: "The run was stopped.", logs }))
          this.store.leavePause(id, "error", "The run was stopped.");
        return;
      case "paused":
        this.store.noteLogs(id, logs);
    }
  }

  async #passEnded(id: string, connectors: readonly OpenConnector[], status: string): Promise<void> {
    for (const { source } of connectors) {
      try {
        await source.onPassEnd?.(id, status);
        if (status !== "paused") await source.disposeExecution?.(id, status);
      } catch (error) {
        console.warn("A connector failed at the end of a run:", error);
      }
    }
  }

  // ── Outcomes ──

  outcomeOf(execution: Execution): ExecutionOutcome {
    const { id, status, error, logs } = execution;
    const printed = logs.length === 0 ? {} : { logs: [...logs] };
    switch (status) {
      case "completed":
      case "rolled_back": {
        const edited = this.store
          .log(id)
          .flatMap(({ seq, editedArgs }) => (editedArgs === null ? [] : [{ seq, args: decodeValue(editedArgs) }]));
        const result = execution.result === null ? undefined : decodeValue(execution.result);
        return { status: "completed", executionId: id, result, ...printed, ...(edited.length > 0 && { edited }) };
      }
      case "paused":
        return { status, executionId: id, pending: this.pendingCalls(id), ...printed };
      case "rejected":
        return { status, executionId: id, reason: error ?? REJECTED };
      default:
        return { status: "error", executionId: id, error: error ?? "The run did not end.", ...printed };
    }
  }

  /** As the model and the transcript are given it. */
  shown({ runtime }: Pick<Execution, "runtime">, outcome: ExecutionOutcome): ExecutionOutcome {
    return showOutcome(outcome, this.runtimes.get(runtime)?.transformResult);
  }

  pendingCalls(id: string): PendingCall[] {
    return this.store.log(id).flatMap((entry) => (entry.state === "pending" ? [pendingCall(id, entry)] : []));
  }

  /** Puts an outcome into the transcript that its turn did not wait for. Part of the caller's transaction. `by`: who rejected. */
  placeLate(id: string, origin?: unknown, by?: string): void {
    const { conversation } = this.#host;
    const execution = this.store.find(id);
    if (!execution || execution.isPlaced || execution.status === "running") return;
    if (execution.turnId === "") return this.store.placed(id);
    const outcome = this.outcomeOf(execution);
    // Encoded and read again: what the transcript holds is JSON.
    const output = JSON.parse(JSON.stringify(this.shown(execution, outcome))) as Json;
    const isPaused = outcome.status === "paused";
    const descriptor = isPaused ? this.askedOf(execution) : undefined;
    const decidedBy = by ?? this.store.log(id).findLast((entry) => entry.decidedBy !== null)?.decidedBy ?? null;
    const place = { ...execution, decidedBy };
    const placed = conversation.replaceOutput(place, output, descriptor && { approvalDescriptor: descriptor });
    if (placed === "not-yet") return;
    if (placed === "gone" && !isPaused) conversation.note(noteText(this.shown(execution, outcome)));
    if (placed !== "already-resolved" && !isPaused) conversation.continueTurn(execution, origin);
    this.store.placed(id);
  }

  /** The answer is stored: outcomes that came before it find their place now. */
  turnSettled(turnId: string): void {
    for (const { id, isPlaced } of this.store.ofTurn(turnId)) {
      if (!isPlaced) this.#host.conversation.atomically(() => this.placeLate(id));
    }
  }

  // ── Restarts ──

  /** Runs that went on after their turn go on; those of a turn that is over without them end. */
  resume(): void {
    const { conversation, background, inAgent } = this.#host;
    endUnreadableRuns(this.#host, this.store, (id) => this.placeLate(id));
    for (const execution of this.store.inStatus("running")) {
      if (this.active.has(execution.id)) continue;
      const isOwn = execution.isLate || conversation.outputState(execution) !== "open";
      if (!isOwn) continue;
      if (!execution.isLate)
        this.#finish(execution, { kind: "error", error: "The run was interrupted.", logs: [] }, undefined);
      else background(inAgent(() => this.#goOn(execution)));
    }
    for (const { id, status } of this.store.unplaced()) {
      if (status !== "running") conversation.atomically(() => this.placeLate(id));
    }
  }

  keepsCall(turn: Pick<TurnView, "messageId">, toolCallId: string): boolean {
    return this.store.ofCall(turn.messageId, toolCallId) !== undefined;
  }

  /** What came of a call whose attempt died: the run goes on from its log. */
  async lateOutcome(turn: TurnView, call: CutOffCall): Promise<CallOutcome | undefined> {
    const execution = this.store.ofCall(turn.messageId, call.toolCallId);
    if (!execution) return undefined;
    const outcome =
      execution.status === "running"
        ? await (this.active.get(execution.id) ?? this.#goOn(execution, turn.signal))
        : this.outcomeOf(execution);
    return { kind: "output", output: JSON.parse(JSON.stringify(this.shown(execution, outcome))) as Json };
  }

  async #goOn(execution: Execution, signal = new AbortController().signal): Promise<ExecutionOutcome> {
    const idlePasses = this.store.idlePassesNow(execution.id);
    const wasFrozen = execution.updatedAt < frozenUntil(this.#host.env);
    if (wasFrozen || idlePasses >= MAX_IDLE_PASSES) {
      const error = wasFrozen
        ? "The process crashed, or did not answer any more, while this code ran. The code is not run again."
        : "The process ended several times while this code ran. The code is not run again.";
      return this.#finish(execution, { kind: "error", error, logs: [] }, undefined);
    }
    return this.pass(execution.id, signal);
  }

  /** What the part of a run that waits carries: the first question, as it is given back with the decision. */
  askedOf(execution: Execution): (ActionApprovalDescriptor & ApprovalQuestion) | undefined {
    const entry = this.store.log(execution.id).find(({ state }) => state === "pending");
    return entry && { ...this.descriptorOf(execution, entry), ...questionOf(entry) };
  }

  questionAbout(execution: Execution, entry: LogEntry): Question {
    const { id: executionId, messageId, dueAt } = execution;
    const descriptor = this.descriptorOf(execution, entry);
    const expiry = dueAt !== null && { expiresAt: dueAt };
    const grant = { allowed: true };
    return { executionId, source: "codemode", descriptor, ...questionOf(entry), ...expiry, messageId, grant };
  }

  descriptorOf(execution: Execution, entry: LogEntry): ActionApprovalDescriptor {
    const pending = pendingCall(execution.id, entry);
    const { requestId, toolCallId } = execution;
    const action = callPath(entry);
    const input = shownInput(pending.args);
    const own = { action, summary: action, input, permissions: [], kind: "durable-pause" as const };
    const described = { ...own, ...this.#described(pending, { requestId, toolCallId }), requestId, toolCallId };
    // In front of the class's own words too: some surfaces show the summary only, and cut it.
    return entry.mayHaveRun ? { ...described, summary: `It may have run already: ${described.summary}` } : described;
  }

  #described(pending: PendingCall, call: { requestId: string; toolCallId: string }): Partial<ActionApprovalDescriptor> {
    try {
      // Only agents with these members open it, and what arguments decode to can be sent.
      return (this.#host.agent as ExecutionMembers).describePausedExecution(pending as PendingExecution, call) ?? {};
    } catch (error) {
      console.error("describePausedExecution failed:", error);
      return {};
    }
  }

  // ── Expiry and cleaning up ──

  nextWake(): number | null {
    return this.store.nextDue();
  }

  runDue(): void {
    for (const execution of this.store.due(this.#host.clock.now())) this.expire(execution);
    this.#host.rearm();
  }

  isExpired({ dueAt }: Execution): boolean {
    return dueAt !== null && dueAt <= this.#host.clock.now();
  }

  /** Its place in the transcript says so, and no turn goes on. */
  expire(execution: Execution): void {
    const { conversation, background } = this.#host;
    conversation.atomically(() => {
      const asked = this.store.log(execution.id).find(({ state }) => state === "pending");
      if (!this.store.leavePause(execution.id, "rejected", EXPIRED)) return;
      if (asked) this.#decisions.addExpired(this.questionAbout(execution, asked));
      const output = { status: "rejected", executionId: execution.id, reason: EXPIRED };
      if (execution.turnId !== "" && conversation.replaceOutput(execution, output) === "not-yet") return;
      this.store.placed(execution.id);
    });
    background(this.disposed(execution, "rejected"));
  }

  /** Ids of the runs that were ended. */
  expirePaused(maxAgeMs: number): string[] {
    const before = this.#host.clock.now() - maxAgeMs;
    const old = (status: "paused" | "running") =>
      this.store.inStatus(status).filter(({ id, updatedAt }) => updatedAt <= before && !this.active.has(id));
    const [paused, running] = [old("paused"), old("running")];
    for (const one of paused) this.expire(one);
    for (const one of running)
      this.#finish(one, { kind: "error", error: "The run was interrupted.", logs: [] }, undefined);
    this.#host.rearm();
    return [...paused, ...running].map(({ id }) => id);
  }

  async disposed(execution: Execution, status: string): Promise<void> {
    const connectors = this.runtimes.get(execution.runtime)?.connectors ?? [];
    await this.#passEnded(execution.id, await openConnectors(connectors).catch(() => []), status);
  }

  rollback(id: string): Promise<string[]> {
    return rollBack(id, this, this.#host);
  }

  async delete(id: string): Promise<boolean> {
    const execution = this.store.find(id);
    const isDeleted = this.store.delete(id);
    if (execution?.status === "paused" || execution?.status === "running") await this.disposed(execution, "error");
    return isDeleted;
  }
}

/** Runs of before this time belong to a process that crashed or did not answer any more; 0: it did not. */
function frozenUntil(env: unknown): number {
  return isObject(env) ? Number(env[FROZEN_VARIABLE] ?? 0) || 0 : 0;
}

const EXPIRED = "It was not decided in time and has expired.";

export function failedRun(executionId: string, error: string): ExecutionOutcome {
  return { status: "error", executionId, error };
}

export function noRuntime({ runtime }: Execution): string {
  return `Nothing was done: there is no runtime "${runtime}" now; getTools() must create it.`;
}

export function missingConnector(
  needed: readonly string[],
  there: readonly { readonly name: string }[]
): string | undefined {
  const missing = needed.filter((name) => !there.some((one) => one.name === name));
  return missing.length === 0 ? undefined : `The connector ${missing.join(", ")} is not there any more.`;
}

/** Arguments as a descriptor shows them. */
export function shownInput(args: unknown): Record<string, unknown> {
  const shown = shownValue(args);
  return isObject(shown) ? shown : { value: shown };
}

export function callPath({ connector, method }: Pick<LogEntry, "connector" | "method">): string {
  return `${connector}.${method}`;
}
