// One effect under the ledger: claimed, executed with a deadline and a renewed lease, its result prepared and settled
// together with its attachments. A call whose key another call of this process is executing waits for that one. What
// comes out is always an output for the model; how it came about is returned beside it.
import { errorMessage } from "../../util/errors.ts";
import type { Json } from "../../util/json.ts";
import type { ActionContext } from "./descriptor.ts";
import { AttachmentDraft, type Attachments } from "./attachments.ts";
import { withDeadline } from "./deadline.ts";
import { errorEnvelope, actionErrors } from "./errors.ts";
import type { Claim, Ledger, LedgerCall } from "./ledger.ts";
import { execute, type AskedCall } from "./policies.ts";
import { prepareOutput, type PreparedOutput, type Results } from "./results.ts";
import type { ActionsHost } from "./runtime.ts";

/** What an effect writes to. */
interface EffectStores {
  readonly ledger: Ledger;
  readonly results: Results;
  readonly attachments: Attachments;
}

/** A call that was allowed to run. */
export interface AllowedCall extends AskedCall {
  /** Undefined: it is not recorded. */
  readonly record: LedgerCall | undefined;
  /** The turn its attachments belong to; undefined: it may attach nothing. */
  readonly attachTo: { readonly turnId: string; readonly requestId: string } | undefined;
  /** The turn's signal; undefined when no turn waits. */
  readonly turnSignal: AbortSignal | undefined;
}

/** An unsettled earlier attempt, and when it may be tried again by itself. */
export interface UnknownEffect {
  readonly retryAt: number | null;
}

export interface EffectOutcome {
  readonly output: Json | undefined;
  /** Set when the call did not run because it is not known whether it ran before. */
  readonly unknown?: UnknownEffect;
}

/** What is left of the lease when it is renewed: two renewals may fail before it runs out. */
const RENEWALS_PER_LEASE = 3;
/** A decided action whose execution was overtaken asks after this for what the later attempt made of it. */
const OVERTAKEN_RETRY_MS = 60_000;

export class Effects {
  readonly #host: ActionsHost;
  readonly #stores: EffectStores;
  readonly #running = new Map<string, Promise<EffectOutcome>>();

  constructor(host: ActionsHost, stores: EffectStores) {
    this.#host = host;
    this.#stores = stores;
  }

  /** Never throws for what the action does. */
  async run(call: AllowedCall): Promise<EffectOutcome> {
    if (call.record === undefined) return this.#execute(call, undefined);
    call.turnSignal?.throwIfAborted();
    const { emit } = this.#host;
    const { key, action, inputHash } = call.record;
    const named = { action, key, inputHash };
    const answer = this.#stores.ledger.claim(call.record);
    switch (answer.do) {
      case "run":
        return this.#owned(call, answer.claim);
      case "rerun":
        emit("action:ledger:reclaimed", { ...named, ageMs: answer.ageMs });
        return this.#owned(call, answer.claim);
      case "replay":
        emit("action:ledger:replayed", named);
        return { output: answer.output };
      case "join":
        return this.#join(key, call.turnSignal);
      case "conflict":
        emit("action:ledger:conflict", named);
        return failed(actionErrors.ActionKeyConflict(action, key));
      case "pending":
        emit("action:ledger:pending", named);
        return {
          ...failed(actionErrors.ActionPendingError(action, answer.startedAt)),
          unknown: { retryAt: answer.retryAt }
        };
    }
  }

  isRunning(key: string): boolean {
    return this.#running.has(key);
  }

  /** The same value as the execution that is under way; cancelling this turn ends only the waiting. */
  #join(key: string, signal: AbortSignal | undefined): Promise<EffectOutcome> {
    // The ledger asked `isRunning` in this very step.
    const running = this.#running.get(key) ?? Promise.reject(new Error(`Nothing executes under "${key}".`));
    return withDeadline({ clock: this.#host.clock, signal, timeoutMs: 0 }, () => running);
  }

  async #owned(call: AllowedCall, claim: Claim): Promise<EffectOutcome> {
    // Known as running before any of the action's code runs.
    const running = Promise.resolve().then(() => this.#execute(call, claim));
    this.#running.set(claim.key, running);
    try {
      return await running;
    } finally {
      this.#running.delete(claim.key);
    }
  }

  async #execute(call: AllowedCall, claim: Claim | undefined): Promise<EffectOutcome> {
    const draft = new AttachmentDraft();
    let result: unknown;
    try {
      result = await withDeadline(this.#deadline(call, claim), (signal) =>
        execute({ ...call, ctx: contextFor(call, signal, draft) })
      );
    } catch (error) {
      draft.close();
      if (claim) this.#stores.ledger.release(claim);
      // A call that was stopped has not failed.
      if (!call.turnSignal?.aborted) this.#report(error, call);
      return failed(error);
    }
    draft.close();
    return this.#settle({ call, claim, draft, ...(await this.#checked(call, result)) });
  }

  #deadline(call: AllowedCall, claim: Claim | undefined): Parameters<typeof withDeadline>[0] {
    const { ledger } = this.#stores;
    const lease = ledger.leaseMs;
    const base = { clock: this.#host.clock, signal: call.turnSignal, timeoutMs: call.action.timeoutMs };
    if (!claim || lease === false) return base;
    const everyMs = Math.max(1, Math.floor(lease / RENEWALS_PER_LEASE));
    return { ...base, heartbeat: { everyMs, beat: () => void ledger.renew(claim) } };
  }

  /** The effect happened, so a result that breaks the promise of `outputSchema` is settled as the error it is. */
  async #checked(call: AllowedCall, result: unknown): Promise<{ result: unknown; isError: boolean }> {
    const { outputSchema } = call.action.config;
    if (outputSchema === undefined) return { result, isError: false };
    let problem: unknown;
    try {
      const checked = await this.#host.validate(outputSchema, result);
      if (checked.ok) return { result: checked.value, isError: false };
      problem = checked.error;
    } catch (error) {
      problem = error;
    }
    const error = actionErrors.ActionOutputError(call.name, errorMessage(problem));
    this.#report(error, call);
    return { result: errorEnvelope(error), isError: true };
  }

  #report(error: unknown, { name, ctx }: AllowedCall): void {
    this.#host.actionFailed(error, { action: name, requestId: ctx.requestId });
  }

  /** Result, kept value and attachments are one state change: none exists without the others. */
  #settle(end: SettledExecution): EffectOutcome {
    const { sql, emit } = this.#host;
    const { ledger, results, attachments } = this.#stores;
    const { call, claim } = end;
    const { prepared, resultId } = this.#prepare(end.result);
    const attached = sql.transaction(() => {
      if (claim && !ledger.settle(claim, prepared.output)) return undefined;
      if (resultId !== undefined && prepared.whole !== undefined) results.keep(resultId, prepared.whole);
      return call.attachTo && !end.isError ? attachments.record(call.attachTo, end.draft.items) : [];
    });
    if (claim && !attached) return this.#overtaken(call.name, claim, prepared);
    if (call.record && claim) this.#emitSettled(call.record, prepared);
    for (const { type } of attached ?? []) emit("action:reply-attached", { action: call.name, attachmentType: type });
    return { output: prepared.output };
  }

  /** A later attempt owns the key: its result counts, for every caller. */
  #overtaken(action: string, claim: Claim, prepared: PreparedOutput): EffectOutcome {
    const successor = this.#stores.ledger.successorOf(claim);
    if (!successor) return { output: prepared.output };
    if ("settled" in successor) return { output: successor.settled[0] };
    const retryAt = this.#host.clock.now() + OVERTAKEN_RETRY_MS;
    return { ...failed(actionErrors.ActionPendingError(action, successor.startedAt)), unknown: { retryAt } };
  }

  #prepare(result: unknown): { prepared: PreparedOutput; resultId: string | undefined } {
    const { results } = this.#stores;
    let resultId: string | undefined;
    const prepared = prepareOutput(result, (whole) => {
      resultId = results.fits(whole) ? results.newId() : undefined;
      return resultId;
    });
    return { prepared, resultId };
  }

  #emitSettled({ action, key, inputHash }: LedgerCall, { problem }: PreparedOutput): void {
    const { emit } = this.#host;
    if (problem !== undefined) emit("action:ledger:serialize_failed", { action, key });
    emit("action:ledger:settled", { action, key, inputHash });
  }
}

interface SettledExecution {
  readonly call: AllowedCall;
  readonly claim: Claim | undefined;
  readonly draft: AttachmentDraft;
  readonly result: unknown;
  readonly isError: boolean;
}

function failed(error: unknown): EffectOutcome {
  return { output: { ...errorEnvelope(error) } };
}

function contextFor(call: AllowedCall, signal: AbortSignal, draft: AttachmentDraft): ActionContext {
  const attachReply: ActionContext["attachReply"] =
    call.attachTo === undefined ? () => undefined : (attachment) => draft.add(attachment);
  return { ...call.ctx, signal, attachReply };
}
