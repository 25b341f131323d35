// From a human's decision to its outcome in the transcript. The decision is durable before anything runs; the outcome,
// its place in the transcript and the turn that goes on are one transaction, which also ends the row. So a process that
// dies anywhere in between finds the row in the state it had reached and goes on from there, under the ledger's rules.
import type { ActionMembers } from "./capability.ts";
import { withEscalation } from "../approvals/escalation.ts";
import { DecisionLog } from "../approvals/decision-log.ts";
import type {
  ActionOutput,
  ApprovalSource,
  ApproversRule,
  Decision,
  FoundQuestion,
  Question
} from "../../feature/approval-contract.ts";
import type { ParkedCall } from "../../turn/late-outcomes.ts";
import { beforeDeadline } from "../../host/deadline.ts";
import type { Json } from "../../util/json.ts";
import { truncateText } from "../../util/truncate-value.ts";
import { SETTLED, type RunEnd } from "../../work/kind.ts";
import { namedActions, type AnyAction } from "./descriptor.ts";
import { hashedInput } from "./json-copy.ts";
import { byteLength } from "../../util/bytes.ts";
import { err, type Result } from "../../util/result.ts";
import type { EffectOutcome, Effects } from "./effect.ts";
import { errorEnvelope } from "./errors.ts";
import type { Ledger, LedgerCall } from "./ledger.ts";
import {
  isPauseId,
  MAX_PARKED_INPUT_BYTES,
  RETRY_MS,
  type Parked,
  type ParkedAction,
  type StoredPause
} from "./parked.ts";
import { ledgerKey } from "./policies.ts";
import { contextOf } from "./run.ts";
import type { ActionsHost } from "./runtime.ts";

/** How long a chat is waited for that is to say that a question is escalated. */
const ESCALATION_LIMIT_MS = 30_000;

/** A decided action, from its decision in this process, or from its run, until its outcome is known. */
interface Running extends PromiseWithResolvers<ActionOutput> {
  /** The connection of the client that decided, if any. */
  readonly origin: unknown;
}

export class ActionApprovals implements ApprovalSource {
  readonly isInUse = true;
  readonly owns = isPauseId;
  readonly #init: { readonly host: ActionsHost; readonly parked: Parked; ledger: Ledger; effects: Effects };
  readonly #decisions: DecisionLog;
  readonly #running = new Map<string, Running>();

  constructor(host: ActionsHost, stores: { parked: Parked; ledger: Ledger; effects: Effects }) {
    this.#init = { host, ...stores };
    this.#decisions = new DecisionLog(host);
  }

  /** Lists the actions that wait, oldest first, without rows whose call was cut off before it was recorded as parked. */
  questions(executionId?: string): Question[] {
    const { parked, host } = this.#init;
    const waiting = parked.waiting(executionId).filter((row) => !this.#isExpired(row));
    const stateOf = host.conversation.outputStates(waiting);
    return waiting.filter((row) => stateOf(row) !== "resolved").map(questionOf);
  }

  /** At a start: everything that is decided goes on, everything that is overdue expires. */
  resume(): void {
    const { work } = this.#init.parked;
    for (const row of this.#init.parked.decided()) if (row.state === "done") this.#place(row, row.outcome);
    work.start();
    work.ready();
  }

  /** Carries out what was decided, and expires what was not. Who decided is answered when its end is stored. */
  async run(row: ParkedAction): Promise<RunEnd<StoredPause>> {
    if (row.state === "parked")
      return row.escalation && !this.#isExpired(row) ? this.#escalate(row) : this.#expire(row);
    const running = this.#runningOf(row.executionId);
    const { output, retryAt } = await this.#carryOut(row, running.origin).catch((error: unknown) => {
      console.error(`A decided action "${row.action}" could not be carried out; it is tried again.`, error);
      const failed = failedOutcome(row, "The outcome could not be stored yet; it will be.");
      return { output: failed, retryAt: this.#init.host.clock.now() + RETRY_MS };
    });
    const afterwards = () => {
      this.#running.delete(row.executionId);
      running.resolve(output);
    };
    return retryAt === null ? { ...SETTLED, afterwards } : { end: "postponed", until: retryAt, afterwards };
  }

  /** The answer is stored: outcomes that came before it find their place now. */
  turnSettled(turnId: string): void {
    const { parked, host } = this.#init;
    const rows = parked.ofTurn(turnId);
    const stateOf = host.conversation.outputStates(rows);
    for (const row of rows) {
      if (row.state === "done") this.#place(row, row.outcome);
      else if (row.state === "parked" && stateOf(row) === "resolved") parked.delete(row.executionId);
    }
  }

  /** The operator settled what approved actions were waiting for. */
  retry(): void {
    const { parked, host } = this.#init;
    for (const { executionId, state } of parked.decided())
      if (state === "approved") parked.work.schedule(executionId, host.clock.now());
  }

  /** The conversation is gone, and with it every question about it. A decision whose run has not begun is answered now. */
  cleared(): void {
    const { parked } = this.#init;
    for (const [executionId, { resolve }] of this.#running) {
      if (parked.work.state(executionId) !== "waiting") continue;
      this.#running.delete(executionId);
      resolve(notPending(executionId));
    }
    parked.deleteAll();
  }

  /** The agent is destroyed: who decided is answered, and nothing is written any more. */
  stop(): void {
    this.#init.parked.work.stop();
    for (const [executionId, { resolve }] of this.#running) resolve(notPending(executionId, "the agent is destroyed"));
  }

  /** A row that cannot be read: its place in the transcript says so. Part of the transaction that removed it. */
  lost(call: ParkedCall): void {
    this.#init.host.conversation.replaceOutput(
      call,
      failedOutcome(call, "What was to be approved can no longer be read.")
    );
  }

  find(executionId: string): FoundQuestion {
    const { parked, host } = this.#init;
    const row = parked.find(executionId);
    if (row?.state !== "parked") {
      const decided = row ?? parked.settled(executionId);
      return decided ? { is: "decided", question: questionOf(decided) } : { is: "unknown" };
    }
    if (this.#isExpired(row)) {
      parked.work.ready();
      host.background(parked.work.runDue());
      return { is: "refused", error: "Nothing was done: it waited too long and has expired." };
    }
    if (host.conversation.outputState(row) !== "resolved") return { is: "waiting", question: questionOf(row) };
    parked.delete(executionId);
    return { is: "unknown" };
  }

  async checkInput({ descriptor }: Question, input: unknown): Promise<Result<unknown, unknown>> {
    const action = this.#actions().get(descriptor.action);
    if (!action) return err(`The action "${descriptor.action}" does not exist any more.`);
    const checked = await this.#init.host.validate(action.config.inputSchema, input);
    if (!checked.ok) return checked;
    const { text } = hashedInput(descriptor.action, checked.value);
    if (byteLength(text) > MAX_PARKED_INPUT_BYTES) return err(`It is larger than ${MAX_PARKED_INPUT_BYTES} bytes.`);
    return checked;
  }

  ruleOf({ descriptor }: Question): ApproversRule | undefined {
    return this.#actions().get(descriptor.action)?.config.approvals;
  }

  isWaiting({ executionId }: Question): boolean {
    return this.#init.parked.find(executionId)?.state === "parked";
  }

  take({ executionId, descriptor }: Question, decision: Decision, record: () => void): boolean {
    const { parked, host } = this.#init;
    const { isApproved, by, reason, input, origin } = decision;
    const changed = input === undefined ? undefined : changedInput(descriptor.action, input);
    const state = isApproved ? "approved" : "rejected";
    const won = host.conversation.atomically(() => {
      const isFirst = parked.decide(executionId, { state, by: by ?? null, reason: reason ?? null }, changed);
      if (isFirst) record();
      return isFirst;
    });
    // Before it runs: the continuation answers to who decided.
    if (won) this.#runningOf(executionId, origin);
    return won;
  }

  async carryOut(question: Question, { isApproved }: Decision): Promise<ActionOutput> {
    const { parked, host } = this.#init;
    const { executionId, descriptor } = question;
    const { action } = descriptor;
    host.emit(`action:pause:${isApproved ? "approved" : "rejected"}`, { action, executionId });
    // Also before the start is over: what decides there may wait for the outcome.
    parked.work.ready();
    return this.outcomeOf(question);
  }

  async outcomeOf({ executionId }: Question): Promise<ActionOutput> {
    const { parked } = this.#init;
    const running = this.#running.get(executionId);
    if (running) return running.promise;
    const row = parked.find(executionId) ?? parked.settled(executionId);
    if (row?.state === "done") return row.outcome;
    return notPending(executionId, "it is decided, and its outcome is not known yet");
  }

  #runningOf(executionId: string, origin?: unknown): Running {
    const running = this.#running.get(executionId) ?? { ...Promise.withResolvers<ActionOutput>(), origin };
    this.#running.set(executionId, running);
    return running;
  }

  /** `retryAt`: when it is tried again; null: it is over. */
  async #carryOut(row: ParkedAction, origin: unknown): Promise<{ output: ActionOutput; retryAt: number | null }> {
    const { output, unknown } = row.state === "approved" ? await this.#runApproved(row) : { output: endOf(row) };
    const retryAt = unknown?.retryAt ?? null;
    if (retryAt === null) this.#place(row, output, { origin, isRefused: row.state === "rejected" });
    return { output, retryAt };
  }

  async #runApproved(row: ParkedAction): Promise<EffectOutcome> {
    const { host, effects } = this.#init;
    const { toolCallId, requestId, input } = row;
    try {
      const action = this.#actions().get(row.action);
      if (!action) return { output: failedOutcome(row, `The action "${row.action}" does not exist any more.`) };
      const signal = new AbortController().signal;
      const ctx = contextOf(host, { requestId, toolCallId, messages: [], signal });
      const call = { name: row.action, action, input, ctx };
      const key = (await ledgerKey(call)) ?? { key: pauseKey(row), isExplicit: false };
      const record: LedgerCall = { ...recordOf(row), key: key.key, keyIsExplicit: key.isExplicit };
      return await effects.run({ ...call, record, attachTo: undefined, turnSignal: undefined });
    } catch (error) {
      host.actionFailed(error, { action: row.action, requestId });
      return { output: { ...errorEnvelope(error) } };
    }
  }

  #actions(): Map<string, AnyAction> {
    return namedActions((this.#init.host.agent as ActionMembers).getActions());
  }

  /** Outcome, transcript, continuation and the end of the row: one state change. */
  #place(row: ParkedAction, outcome: Json | undefined, how: { origin?: unknown; isRefused?: boolean } = {}): void {
    const { host, parked, ledger } = this.#init;
    const { conversation } = host;
    conversation.atomically(() => {
      // A conversation that was cleared meanwhile took its rows along.
      if (!parked.find(row.executionId)) return;
      if (how.isRefused === true) ledger.refuse({ ...recordOf(row), key: pauseKey(row) }, outcome ?? null);
      // The transcript shows what the action ran with; what was asked about is beside it.
      const replaced = conversation.replaceOutput(
        row,
        outcome,
        row.changed ? { input: row.input, askedInput: row.descriptor.input } : undefined
      );
      if (replaced === "not-yet") return parked.finish(row.executionId, outcome, "parked");
      if (replaced === "gone") conversation.note(noteText(row, outcome));
      if (replaced !== "already-resolved") conversation.continueTurn(row, how.origin);
      parked.finish(row.executionId, outcome, "settled");
    });
  }

  #isExpired({ expiresAt }: ParkedAction): boolean {
    return expiresAt !== null && expiresAt <= this.#init.host.clock.now();
  }

  /** Says that other people may decide from now on. By the clock they may, also where this could not be said. */
  async #escalate(row: ParkedAction): Promise<RunEnd<StoredPause>> {
    const { host, parked } = this.#init;
    const { executionId, action } = row;
    const question = questionOf(row);
    const { escalation } = withEscalation(question, this.ruleOf(question), host.clock.now());
    // The class may have no such rule any more.
    if (escalation && row.escalation?.isSaid === false) {
      const late = () => new Error(`Nothing has answered for ${ESCALATION_LIMIT_MS} ms.`);
      const said = host.features.role("escalated")?.({ ...question, escalation }) ?? Promise.resolve();
      await beforeDeadline(said, { clock: host.clock, timeoutMs: ESCALATION_LIMIT_MS, late });
    }
    const { to } = escalation ?? {};
    return parked.said(executionId, () => {
      if (escalation) host.emit("action:pause:escalated", { action, executionId, ...(to && { to }) });
    });
  }

  /** Not decided in time: the transcript says so, and no turn goes on. Later, while its message is being written. */
  #expire(row: ParkedAction): RunEnd<never> {
    const { host, parked, ledger } = this.#init;
    return host.conversation.atomically(() => {
      const outcome = expiredOutcome(row);
      if (host.conversation.replaceOutput(row, outcome) === "not-yet")
        return { end: "postponed", until: host.clock.now() + RETRY_MS };
      ledger.refuse({ ...recordOf(row), key: pauseKey(row) }, outcome);
      this.#decisions.addExpired(questionOf(row));
      parked.delete(row.executionId);
      return { ...SETTLED, afterwards: () => host.emit("action:pause:swept", { swept: 1 }) };
    });
  }
}

function questionOf(row: ParkedAction): Question {
  const { executionId, messageId, descriptor, inputHash, grant, expiresAt, escalation } = row;
  return {
    ...{ executionId, source: "action", descriptor, inputHash, messageId, grant },
    ...(expiresAt !== null && { expiresAt }),
    ...(escalation && row.state === "parked" && { escalatesAt: escalation.at })
  };
}

/** Under which a refusal is recorded: the effect's own key stays free for a later call. */
function pauseKey({ executionId }: ParkedCall): string {
  return `pause:${executionId}`;
}

function recordOf(row: ParkedAction): Omit<LedgerCall, "key"> {
  const { action, inputHash, requestId, toolCallId, decidedBy } = row;
  return { action, inputHash, requestId, toolCallId, approver: decidedBy, keyIsExplicit: false };
}

// ── Outcomes other than the action's own result, and the note for a place that is gone. Pure. ──

const DEFAULT_REJECTION = "Rejected by user";
/** Characters of a note. */
const MAX_NOTE_CHARS = 4_000;

function failedOutcome({ executionId, action }: ParkedCall, error: string): { [key: string]: Json } {
  return { status: "error", executionId, action, error };
}

function rejectedOutcome({ executionId, action }: ParkedCall, reason: string | null): { [key: string]: Json } {
  return { status: "rejected", executionId, action, reason: reason ?? DEFAULT_REJECTION };
}

function expiredOutcome({ executionId, action }: ParkedCall): { [key: string]: Json } {
  return { status: "expired", executionId, action };
}

/** Of one that is not run. */
function endOf(row: ParkedAction): Json | undefined {
  return row.state === "rejected" ? rejectedOutcome(row, row.reason) : row.outcome;
}

function noteText({ action, executionId }: ParkedCall, outcome: Json | undefined): string {
  const text = outcome === undefined ? "It returned nothing." : JSON.stringify(outcome);
  return truncateText(
    `The action "${action}" (${executionId}), which waited for approval, has an outcome: ${text}`,
    MAX_NOTE_CHARS
  );
}

function notPending(executionId: string, why = "it is no longer pending"): ActionOutput {
  return { status: "error", executionId, error: `Nothing was done: ${why}.` };
}

/** As it is stored: JSON, whatever the schema made of it. */
function changedInput(action: string, input: unknown): ParkedAction["changed"] {
  const { text, hash } = hashedInput(action, input);
  return { input: JSON.parse(text) as Json, hash };
}
