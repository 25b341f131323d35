// From a human's decision about code that waits to the pass that goes on. The decision is durable before anything runs, and
// of two decisions one wins.
import { currentContext } from "../../agent/context.ts";
import type {
  ActionOutput,
  ApprovalDecision,
  ApprovalSource,
  Decision,
  FoundQuestion,
  Question
} from "../../feature/approval-contract.ts";
import type { ChatServices } from "../../feature/services.ts";
import { Deciding } from "../approvals/deciding.ts";
import { errorMessage } from "../../util/errors.ts";
import type { Result } from "../../util/result.ts";
import { openConnectors } from "./connector.ts";
import type { Execution, LogEntry } from "./execution-store.ts";
import { callPath, failedRun, missingConnector, noRuntime, REJECTED, type Executions } from "./executions.ts";
import { isExecutionId, type ExecutionOutcome, type PendingCall } from "./outcome.ts";
import { pendingCall, questionOf, questionProblem } from "./question.ts";
import { encodeValue } from "./value-codec.ts";

/** What a handle of a runtime is given, without the agent's own methods. */
export type ExecutionDecision = ApprovalDecision & { readonly reason?: string };

const NOT_WAITING = "Nothing was done: that call is no longer pending.";

export class ExecutionApprovals implements ApprovalSource {
  readonly isInUse = true;
  readonly owns = isExecutionId;
  readonly #executions: Executions;
  readonly #host: ChatServices;
  readonly #deciding: Deciding;

  constructor(executions: Executions, host: ChatServices) {
    this.#executions = executions;
    this.#host = host;
    this.#deciding = new Deciding(host);
  }

  pendingExecutions(id?: string): PendingCall[] {
    return this.#paused(id).flatMap((one) => (this.#executions.isExpired(one) ? [] : this.#questions(one.id)));
  }

  questions(id?: string): Question[] {
    const paused = this.#paused(id);
    const stateOf = this.#host.conversation.outputStates(paused);
    return paused.flatMap((execution) => {
      const [entry] = this.#executions.isExpired(execution) ? [] : this.#waiting(execution.id);
      const isGone = execution.turnId !== "" && stateOf(execution) === "resolved";
      return entry && !isGone ? [this.#executions.questionAbout(execution, entry)] : [];
    });
  }

  /** For the handle of a runtime. */
  async decide(id: string, decision: Decision): Promise<ExecutionOutcome> {
    // This source answers outcomes of runs, and refusals in the same shape.
    return (await this.#deciding.decide(this, id, decision)) as ExecutionOutcome;
  }

  async find(id: string, decision: Decision): Promise<FoundQuestion> {
    // The pass that paused it may still be ending, and a repetition of a decision that is at work waits for what comes of it.
    await this.idle(id);
    const decided = this.#decidedBefore(id, decision);
    if (decided) return { is: "decided", question: decided };
    const ready = this.#decidable(id, decision.isApproved ? "not paused" : "no longer pending");
    if (!ready.ok) return { is: "refused", error: ready.error };
    const execution = ready.value;
    const unopened = decision.isApproved ? await this.#openProblem(execution) : undefined;
    return unopened === undefined ? this.#asked(execution, decision) : { is: "refused", error: unopened };
  }

  take(question: Question, decision: Decision, record: () => void): boolean {
    const { executionId: id, seq = 0 } = question;
    const { store } = this.#executions;
    const { isApproved, by = null, input, origin, reason = REJECTED } = decision;
    return this.#host.conversation.atomically(() => {
      if (!this.#isWaiting(id, seq)) return false;
      if (isApproved) {
        if (!store.approve(id, seq, { by, editedArgs: editedArgs(input) })) return false;
        record();
        return store.leavePause(id, "running");
      }
      if (!store.leavePause(id, "rejected", reason)) return false;
      store.reject(id, seq, by);
      record();
      this.#executions.placeLate(id, origin, decision.by);
      return true;
    });
  }

  async carryOut(question: Question, { isApproved, origin, reason = REJECTED }: Decision): Promise<ActionOutput> {
    const { executionId: id, seq = 0 } = question;
    const { store } = this.#executions;
    const execution = store.find(id);
    const entry = store.entry(id, seq);
    if (!execution || !entry) return failedRun(id, "The conversation was cleared.");
    this.#host.emit(`action:pause:${isApproved ? "approved" : "rejected"}`, {
      action: callPath(entry),
      executionId: id
    });
    if (isApproved) {
      const outcome = await this.#executions.passAfterDecision(id, origin);
      return this.#executions.shown(execution, outcome);
    }
    this.#host.rearm();
    await this.#executions.disposed(execution, "rejected");
    return { status: "rejected", executionId: id, reason };
  }

  async outcomeOf({ executionId: id }: Question): Promise<ActionOutput> {
    await this.idle(id);
    const execution = this.#executions.store.find(id);
    if (!execution) return failedRun(id, "The conversation was cleared.");
    if (execution.status === "running") return failedRun(id, "Nothing was done: it was approved before, and goes on.");
    return this.#executions.shown(execution, this.#executions.outcomeOf(execution));
  }

  /** The question that the decision names, if it was decided before. */
  #decidedBefore(id: string, { inputHash }: Decision): Question | undefined {
    if (inputHash === undefined) return undefined;
    const { store } = this.#executions;
    const first = this.#deciding.log.find(id, inputHash);
    const entry = first?.seq === undefined ? undefined : store.entry(id, first.seq);
    const execution = store.find(id);
    return entry && execution && { ...this.#executions.questionAbout(execution, entry), inputHash };
  }

  /** The call that is decided about. Else a refusal, which names what waits to a caller that may decide over it. */
  #asked(execution: Execution, decision: Decision): FoundQuestion {
    const { id } = execution;
    const log = this.#executions.store.log(id);
    const waiting = log.filter(isPending);
    const { inputHash, seq } = decision;
    const entry = entryOf(waiting, decision);
    const problem = entry ? questionProblem(log, entry, { inputHash, seq, isFromClient: isFromClient() }) : NOT_WAITING;
    if (entry && problem === undefined)
      return { is: "waiting", question: this.#executions.questionAbout(execution, entry) };
    const error = problem ?? NOT_WAITING;
    const [first] = waiting;
    if (!first) return { is: "refused", error };
    const question = this.#executions.questionAbout(execution, first);
    return { is: "refused", error, question, more: { pending: this.#questions(id) } };
  }

  /** The run, if a decision about it can be taken now. */
  #decidable(id: string, otherwise: string): Result<Execution, string> {
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
  async idle(id: string): Promise<void> {
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

  async checkInput({ executionId: id, seq = 0 }: Question, input: unknown): Promise<Result<unknown, string>> {
    const { store, runtimes } = this.#executions;
    const entry = store.entry(id, seq);
    const definition = runtimes.get(store.find(id)?.runtime ?? "");
    const connectors = await openConnectors(definition?.connectors ?? []);
    const tool = connectors.find(({ name }) => name === entry?.connector)?.tools.get(entry?.method ?? "");
    const { inputSchema } = tool ?? {};
    const checked = inputSchema === undefined ? undefined : await this.#executions.validate(inputSchema, input);
    if (checked?.ok === false) return checked;
    const encoded = encodeValue(input);
    return encoded.ok ? { ok: true, value: input } : { ok: false, error: `of the arguments, ${encoded.error}.` };
  }
}

/** Checked before. */
function editedArgs(input: unknown): string | null {
  const encoded = input === undefined ? undefined : encodeValue(input);
  return encoded?.ok ? encoded.value : null;
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
