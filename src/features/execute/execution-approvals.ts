// From a human's decision about code that waits to the pass that goes on. The decision is durable before anything runs, and
// of two decisions one wins.
import { currentContext } from "../../agent/context.ts";
import type { ApprovalDecision, Decision, PendingApproval } from "../../feature/approval-contract.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { ApprovalMembers } from "../approvals/capability.ts";
import { approvalRefusal } from "../approvals/approval-check.ts";
import { DecisionLog, describeDecision, isSameDecision } from "../approvals/decision-log.ts";
import { errorMessage } from "../../util/errors.ts";
import type { Result } from "../../util/result.ts";
import { openConnectors } from "./connector.ts";
import type { Execution, LogEntry } from "./execution-store.ts";
import {
  callPath,
  failedRun,
  missingConnector,
  noRuntime,
  REJECTED,
  shownInput,
  type Executions
} from "./executions.ts";
import type { ExecutionOutcome, PendingCall } from "./outcome.ts";
import { decidedCall, pendingCall, questionOf, questionProblem } from "./question.ts";
import { encodeValue } from "./value-codec.ts";

/** What a handle of a runtime is given, without the agent's own methods. */
export type ExecutionDecision = ApprovalDecision & { readonly reason?: string };

const NOT_WAITING = "Nothing was done: that call is no longer pending.";

export class ExecutionApprovals {
  readonly #executions: Executions;
  readonly #host: ChatServices;
  readonly #decisions: DecisionLog;

  constructor(executions: Executions, host: ChatServices) {
    this.#executions = executions;
    this.#host = host;
    this.#decisions = new DecisionLog(host);
  }

  pendingExecutions(id?: string): PendingCall[] {
    return this.#paused(id).flatMap((one) => (this.#executions.isExpired(one) ? [] : this.#questions(one.id)));
  }

  pendingApprovals(id?: string): PendingApproval[] {
    const paused = this.#paused(id);
    const stateOf = this.#host.conversation.outputStates(paused);
    return paused.flatMap((execution) => {
      const [entry] = this.#executions.isExpired(execution) ? [] : this.#waiting(execution.id);
      const isGone = execution.turnId !== "" && stateOf(execution) === "resolved";
      return entry && !isGone ? [this.#approvalOf(execution, entry)] : [];
    });
  }

  /** The first of several equal decisions counts. The others get its answer, also those that were sent at the same moment. */
  async decide(id: string, decision: Decision): Promise<ExecutionOutcome> {
    const earlier = await this.#decidedBefore(id, decision);
    if (earlier) return earlier;
    const decided = await (decision.isApproved ? this.#approve(id, decision) : this.#reject(id, decision));
    if (decided.ok) return decided.value;
    return (await this.#decidedBefore(id, decision)) ?? decided.error;
  }

  async #approve(id: string, decision: Decision): Promise<Result<ExecutionOutcome, ExecutionOutcome>> {
    const ready = await this.#decidable(id, "not paused");
    if (!ready.ok) return refused(id, ready.error);
    const execution = ready.value;
    const unopened = await this.#openProblem(execution);
    if (unopened !== undefined) return refused(id, unopened);
    const asked = await this.#asked(execution, decision);
    if (!asked.ok) return asked;
    const entry = asked.value;
    const edited = await this.#editedArgs(execution, entry, decision);
    if (!edited.ok) return refused(id, edited.error);
    const refusal = await this.#unauthorized(execution, entry, decision);
    if (refusal !== undefined) return refused(id, refusal);
    const by = decision.by ?? null;
    const { store } = this.#executions;
    await this.#passesEnded(id);
    const won = store.atomically(() => {
      if (!this.#isWaiting(id, entry.seq)) return false;
      if (!store.approve(id, entry.seq, { by, editedArgs: edited.value })) return false;
      this.#decisions.add(decidedCall(execution, entry), decision);
      return store.leavePause(id, "running");
    });
    if (!won) return refused(id, "Nothing was done: the run is not paused any more.");
    this.#host.emit("action:pause:approved", { action: callPath(entry), executionId: id });
    const outcome = await this.#executions.passAfterDecision(id, decision.origin);
    return { ok: true, value: this.#executions.shown(execution, outcome) };
  }

  async #reject(id: string, decision: Decision): Promise<Result<ExecutionOutcome, ExecutionOutcome>> {
    const ready = await this.#decidable(id, "no longer pending");
    if (!ready.ok) return refused(id, ready.error);
    const asked = await this.#asked(ready.value, decision);
    if (!asked.ok) return asked;
    const entry = asked.value;
    const refusal = await this.#unauthorized(ready.value, entry, decision);
    if (refusal !== undefined) return refused(id, refusal);
    const { origin, reason = REJECTED } = decision;
    await this.#passesEnded(id);
    const won = this.#host.conversation.atomically(() => {
      if (!this.#isWaiting(id, entry.seq)) return false;
      if (!this.#executions.store.leavePause(id, "rejected", reason)) return false;
      this.#executions.store.reject(id, entry.seq, decision.by ?? null);
      this.#decisions.add(decidedCall(ready.value, entry), decision);
      this.#executions.placeLate(id, origin, decision.by);
      return true;
    });
    if (!won) return refused(id, "Nothing was done: the run is no longer pending.");
    this.#host.emit("action:pause:rejected", { action: callPath(entry), executionId: id });
    this.#host.rearm();
    await this.#executions.disposed(ready.value, "rejected");
    return { ok: true, value: { status: "rejected", executionId: id, reason } };
  }

  /** What a decision that names its question is answered when that question was decided before; undefined: it was not. */
  async #decidedBefore(id: string, again: Decision): Promise<ExecutionOutcome | undefined> {
    if (again.inputHash === undefined) return undefined;
    // A repetition of a decision that is at work waits for what comes of it.
    await this.#passesEnded(id);
    const { store } = this.#executions;
    const first = this.#decisions.find(id, again.inputHash);
    const entry = first?.seq === undefined ? undefined : store.entry(id, first.seq);
    const execution = store.find(id);
    if (!first || !entry || !execution) return undefined;
    const refusal = await this.#unauthorized(execution, entry, again);
    if (refusal !== undefined) return failedRun(id, refusal);
    if (!isSameDecision(first, again)) {
      return failedRun(id, `Nothing was done: this question is not pending any more: ${describeDecision(first)}.`);
    }
    if (execution.status === "running") return failedRun(id, "Nothing was done: it was approved before, and goes on.");
    return this.#executions.shown(execution, this.#executions.outcomeOf(execution));
  }

  /** The call that is decided about. Else a refusal, which names what waits to a caller that may decide over it. */
  async #asked(execution: Execution, decision: Decision): Promise<Result<LogEntry, ExecutionOutcome>> {
    const { id } = execution;
    const log = this.#executions.store.log(id);
    const waiting = log.filter(isPending);
    const { inputHash, seq } = decision;
    const entry = entryOf(waiting, decision);
    const problem = entry ? questionProblem(log, entry, { inputHash, seq, isFromClient: isFromClient() }) : NOT_WAITING;
    if (entry && problem === undefined) return { ok: true, value: entry };
    const error = problem ?? NOT_WAITING;
    const [first] = waiting;
    if (!first) return refused(id, error);
    const refusal = await this.#unauthorized(execution, first, decision);
    if (refusal !== undefined) return refused(id, refusal);
    return { ok: false, error: { status: "error", executionId: id, error, pending: this.#questions(id) } };
  }

  /** The run, if a decision about it can be taken now. */
  async #decidable(id: string, otherwise: string): Promise<Result<Execution, string>> {
    // The pass that paused it may still be ending.
    await this.#passesEnded(id);
    const execution = this.#executions.store.find(id);
    if (execution?.status !== "paused")
      return { ok: false, error: `Nothing was done: this execution is ${otherwise}.` };
    if (this.#executions.isExpired(execution)) {
      this.#executions.expire(execution);
      return { ok: false, error: "Nothing was done: it waited too long and has expired." };
    }
    const definition = this.#executions.runtimes.get(execution.runtime);
    if (!definition) return { ok: false, error: noRuntime(execution) };
    const missing = missingConnector(
      execution.connectors,
      definition.connectors.map((one) => ({ name: one.name() }))
    );
    return missing === undefined ? { ok: true, value: execution } : { ok: false, error: missing };
  }

  /** A connector may not be there just now, such as a server that is down: the run waits on, and can be approved later. */
  async #openProblem({ runtime }: Execution): Promise<string | undefined> {
    try {
      await this.#host.inAgent(() => openConnectors(this.#executions.runtimes.get(runtime)?.connectors ?? []));
      return undefined;
    } catch (error) {
      return `Nothing was done: ${errorMessage(error)}`;
    }
  }

  /** While the class was asked, a decision about another call may have begun a pass: two at once would repeat its calls. */
  async #passesEnded(id: string): Promise<void> {
    const { active } = this.#executions;
    for (let pass = active.get(id); pass; pass = active.get(id)) await pass.catch(() => undefined);
  }

  /** Still: that pass may have made the call, or ended the run. */
  #isWaiting(id: string, seq: number): boolean {
    const { store } = this.#executions;
    return store.find(id)?.status === "paused" && store.entry(id, seq)?.state === "pending";
  }

  #waiting(id: string): LogEntry[] {
    return this.#executions.store.log(id).filter(isPending);
  }

  #questions(id: string): PendingCall[] {
    return this.#waiting(id).map((entry) => ({ ...pendingCall(id, entry), ...questionOf(entry) }));
  }

  /** Newest first. */
  #paused(id: string | undefined): Execution[] {
    const { store } = this.#executions;
    if (id === undefined) return store.inStatus("paused");
    const execution = store.find(id);
    return execution?.status === "paused" ? [execution] : [];
  }

  async #editedArgs(
    execution: Execution,
    entry: LogEntry,
    { input }: Decision
  ): Promise<Result<string | null, string>> {
    if (input === undefined) return { ok: true, value: null };
    const definition = this.#executions.runtimes.get(execution.runtime);
    const connectors = await openConnectors(definition?.connectors ?? []);
    const tool = connectors.find(({ name }) => name === entry.connector)?.tools.get(entry.method);
    const checked =
      tool?.inputSchema === undefined ? undefined : await this.#executions.validate(tool.inputSchema, input);
    if (checked?.ok === false) return { ok: false, error: `Nothing was done: ${checked.error}` };
    const encoded = encodeValue(input);
    return encoded.ok ? encoded : { ok: false, error: `Nothing was done: of the arguments, ${encoded.error}.` };
  }

  /** Why the caller may not decide this; undefined when it may. */
  async #unauthorized(execution: Execution, entry: LogEntry, decision: Decision): Promise<string | undefined> {
    const approval = this.#approvalOf(execution, entry);
    const { descriptor } = approval;
    // Only agents with these members open it. The class decides over the call that would run, with what it would run with.
    const input = decision.input === undefined ? descriptor.input : shownInput(decision.input);
    return approvalRefusal(this.#host.agent as ApprovalMembers, {
      ...approval,
      descriptor: { ...descriptor, input },
      decision: decision.isApproved ? "approve" : "reject",
      by: decision.by ?? null,
      grant: { allowed: true }
    });
  }

  #approvalOf(execution: Execution, entry: LogEntry): PendingApproval {
    const descriptor = this.#executions.descriptorOf(execution, entry);
    const { id: executionId, dueAt } = execution;
    const expiry = dueAt === null ? {} : { expiresAt: dueAt };
    return { executionId, source: "codemode", descriptor, ...questionOf(entry), ...expiry };
  }
}

function refused(id: string, error: string): { readonly ok: false; readonly error: ExecutionOutcome } {
  return { ok: false, error: failedRun(id, error) };
}

function isPending({ state }: LogEntry): boolean {
  return state === "pending";
}

/** Of the calls that wait: the one that the decision names, else the first. */
function entryOf(waiting: readonly LogEntry[], { seq, inputHash }: Decision): LogEntry | undefined {
  const named = waiting.find((one) => questionOf(one).inputHash === inputHash);
  return (seq === undefined && named) || waiting.find((one) => seq === undefined || one.seq === seq);
}

/** A client repeats a request that it has no answer to. Code of the server decides once for each call. */
function isFromClient(): boolean {
  const { connection, request } = currentContext();
  return connection !== undefined || request !== undefined;
}
