// From a human's decision about code that waits to the pass that goes on. The decision is durable before anything runs, and
// of two decisions one wins.
import { getCurrentAgent } from "../../agent/context.ts";
import type { ApprovalDecision, PendingApproval } from "../../feature/approval-contract.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { ApprovalMembers } from "../approvals/capability.ts";
import { approvalRefusal } from "../approvals/approval-check.ts";
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
import { askedWith, pendingCall, questionOf } from "./question.ts";
import { encodeValue } from "./value-codec.ts";

export interface ExecutionDecision extends ApprovalDecision {
  /** Which of several calls that wait; the first by default. */
  readonly seq?: number;
  /** Arguments in place of those the code gave. Recorded, and shown to the model. */
  readonly args?: unknown;
  readonly reason?: string;
}

export class ExecutionApprovals {
  readonly #executions: Executions;
  readonly #host: ChatServices;

  constructor(executions: Executions, host: ChatServices) {
    this.#executions = executions;
    this.#host = host;
  }

  pendingExecutions(id?: string): PendingCall[] {
    const paused = this.#executions.store.inStatus("paused").filter((one) => id === undefined || one.id === id);
    return paused.flatMap((one) =>
      this.#executions.isExpired(one)
        ? []
        : this.#waiting(one.id).map((entry) => ({ ...pendingCall(one.id, entry), ...questionOf(entry) }))
    );
  }

  pendingApprovals(id?: string): PendingApproval[] {
    const paused = this.#executions.store.inStatus("paused").filter((one) => id === undefined || one.id === id);
    const stateOf = this.#host.conversation.outputStates(paused);
    return paused.flatMap((execution) => {
      const [entry] = this.#executions.isExpired(execution) ? [] : this.#waiting(execution.id);
      const isGone = execution.turnId !== "" && stateOf(execution) === "resolved";
      return entry && !isGone ? [this.#approvalOf(execution, entry)] : [];
    });
  }

  async approve(id: string, decision: ExecutionDecision): Promise<ExecutionOutcome> {
    const earlier = await this.#decidedBefore(id, { decision, isApproved: true });
    if (earlier) return earlier;
    const ready = await this.#decidable(id, "not paused");
    if (!ready.ok) return failedRun(id, ready.error);
    const execution = ready.value;
    const unopened = await this.#openProblem(execution);
    if (unopened !== undefined) return failedRun(id, unopened);
    const entry = this.#entryOf(id, decision);
    if (!entry) return failedRun(id, "Nothing was done: that call is no longer pending.");
    const edited = await this.#editedArgs(execution, entry, decision);
    if (!edited.ok) return failedRun(id, edited.error);
    const refusal = await this.#refusal(execution, { entry, decision, isApproved: true });
    if (refusal !== undefined) return failedRun(id, refusal);
    const by = decision.by ?? null;
    const { store } = this.#executions;
    await this.#passesEnded(id);
    const won = store.atomically(
      () =>
        this.#isWaiting(id, entry.seq) &&
        store.approve(id, entry.seq, { by, editedArgs: edited.value }) &&
        store.leavePause(id, "running")
    );
    if (!won) return failedRun(id, "Nothing was done: the run is not paused any more.");
    this.#host.emit("action:pause:approved", { action: callPath(entry), executionId: id });
    const { origin = getCurrentAgent().connection } = decision;
    const outcome = await this.#host.inAgent(() => this.#executions.pass(id, new AbortController().signal, origin));
    return this.#executions.shown(execution, outcome);
  }

  async reject(id: string, decision: ExecutionDecision): Promise<ExecutionOutcome> {
    const earlier = await this.#decidedBefore(id, { decision, isApproved: false });
    if (earlier) return earlier;
    const ready = await this.#decidable(id, "no longer pending");
    if (!ready.ok) return failedRun(id, ready.error);
    const entry = this.#entryOf(id, decision);
    if (!entry) return failedRun(id, "Nothing was done: that call is no longer pending.");
    const refusal = await this.#refusal(ready.value, { entry, decision, isApproved: false });
    if (refusal !== undefined) return failedRun(id, refusal);
    const { origin = getCurrentAgent().connection, reason = REJECTED } = decision;
    await this.#passesEnded(id);
    const won = this.#host.conversation.atomically(() => {
      if (!this.#isWaiting(id, entry.seq)) return false;
      if (!this.#executions.store.leavePause(id, "rejected", reason)) return false;
      this.#executions.store.reject(id, entry.seq, decision.by ?? null);
      this.#executions.placeLate(id, origin, decision.by);
      return true;
    });
    if (!won) return failedRun(id, "Nothing was done: the run is no longer pending.");
    this.#host.emit("action:pause:rejected", { action: callPath(entry), executionId: id });
    this.#host.rearm();
    await this.#executions.disposed(ready.value, "rejected");
    return { status: "rejected", executionId: id, reason };
  }

  /** What a decision that names its question is answered when that question was decided before; undefined: it was not. */
  async #decidedBefore(
    id: string,
    { decision, isApproved }: { decision: ExecutionDecision; isApproved: boolean }
  ): Promise<ExecutionOutcome | undefined> {
    if (decision.inputHash === undefined) return undefined;
    // A repetition of a decision that is at work waits for what comes of it.
    await this.#passesEnded(id);
    const { store } = this.#executions;
    const found = askedWith(store.log(id), decision.inputHash);
    const execution = store.find(id);
    if (!found || found.state === "waits" || !execution) return undefined;
    const { entry, state } = found;
    const refusal = await this.#unauthorized(execution, { entry, decision, isApproved });
    if (refusal !== undefined) return failedRun(id, refusal);
    const isRepeated = (state === "approved") === isApproved && isSamePerson(entry, decision);
    if (!isRepeated) return failedRun(id, `Nothing was done: this question was ${state} before.`);
    if (execution.status === "running") return failedRun(id, "Nothing was done: it was approved before, and goes on.");
    return this.#executions.shown(execution, this.#executions.outcomeOf(execution));
  }

  /** The call that is decided about: the one that the decision names, else the first that waits. */
  #entryOf(id: string, { seq, inputHash }: ExecutionDecision): LogEntry | undefined {
    const waiting = this.#waiting(id);
    const named = inputHash === undefined ? undefined : askedWith(waiting, inputHash)?.entry;
    return (seq === undefined && named) || waiting.find((one) => seq === undefined || one.seq === seq);
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
    return this.#executions.store.log(id).filter(({ state }) => state === "pending");
  }

  async #editedArgs(
    execution: Execution,
    entry: LogEntry,
    { args }: ExecutionDecision
  ): Promise<Result<string | null, string>> {
    if (args === undefined) return { ok: true, value: null };
    const definition = this.#executions.runtimes.get(execution.runtime);
    const connectors = await openConnectors(definition?.connectors ?? []);
    const tool = connectors.find(({ name }) => name === entry.connector)?.tools.get(entry.method);
    const checked =
      tool?.inputSchema === undefined ? undefined : await this.#executions.validate(tool.inputSchema, args);
    if (checked?.ok === false) return { ok: false, error: `Nothing was done: ${checked.error}` };
    const encoded = encodeValue(args);
    return encoded.ok ? encoded : { ok: false, error: `Nothing was done: of the arguments, ${encoded.error}.` };
  }

  /** Why the caller may not decide this; undefined when it may. */
  async #refusal(
    execution: Execution,
    { entry, decision, isApproved }: { entry: LogEntry; decision: ExecutionDecision; isApproved: boolean }
  ): Promise<string | undefined> {
    const asked = questionOf(entry);
    if (decision.inputHash !== undefined && decision.inputHash !== asked.inputHash)
      return "Nothing was done: what waits for approval has another input than the one that was decided about.";
    if (decision.inputHash === undefined && asked.mayHaveRun)
      return "Nothing was done: this call may have run, because the process died in it. Look whether it did, then decide with the inputHash of this question.";
    return this.#unauthorized(execution, { entry, decision, isApproved });
  }

  async #unauthorized(
    execution: Execution,
    { entry, decision, isApproved }: { entry: LogEntry; decision: ExecutionDecision; isApproved: boolean }
  ): Promise<string | undefined> {
    const approval = this.#approvalOf(execution, entry);
    const { descriptor } = approval;
    // Only agents with these members open it. The class decides over the call that would run, with what it would run with.
    const input = decision.args === undefined ? descriptor.input : shownInput(decision.args);
    return approvalRefusal(this.#host.agent as ApprovalMembers, {
      ...approval,
      descriptor: { ...descriptor, input },
      decision: isApproved ? "approve" : "reject",
      by: decision.by ?? null,
      grant: { allowed: true }
    });
  }

  #approvalOf(execution: Execution, entry: LogEntry): PendingApproval {
    const descriptor = this.#executions.descriptorOf(execution, entry);
    return { executionId: execution.id, source: "codemode", descriptor, ...questionOf(entry) };
  }
}

/** Asked again, a call does not know any more who approved it first. */
function isSamePerson({ decidedBy, state }: LogEntry, { by }: ExecutionDecision): boolean {
  return state === "pending" || decidedBy === (by ?? null);
}
