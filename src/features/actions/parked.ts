// Actions that wait for a human: items of durable work. One goes parked -> approved or rejected -> done, and is settled when
// its outcome is in the transcript: it is kept for a day, to answer a decision that is sent again. Each arrow is one
// statement that only one caller can win. The input is stored with its hash: what is run is what was shown. Deciding and
// running are approvals.ts.
import { sha256 } from "../../host/blobs.ts";
import { grantOf } from "../../feature/approval-contract.ts";
import type { ActionApprovalDescriptor, ActionGrant, PausedOutput } from "../../feature/approval-contract.ts";
import type { ParkedCall } from "../../turn/late-outcomes.ts";
import { byteLength } from "../../util/bytes.ts";
import { canonicalJson, isObject, type Json } from "../../util/json.ts";
import { err, ok, type Result } from "../../util/result.ts";
import { SETTLED, type RunEnd, type WorkView } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import { PAUSED_ACTION, PAUSES } from "./action-tables.ts";
import type { ActionMembers } from "./capability.ts";
import { actionErrors } from "./errors.ts";
import { hashedInput, jsonCopy } from "./json-copy.ts";
import type { ActionsHost, ActionTurn } from "./runtime.ts";

/** Actions waiting at once; a further one is refused, and the model reads why. */
export const MAX_PARKED = 1_000;
/** Of an input's JSON: it shares a row with the outcome, which must stay below the platform's 2 MB. */
export const MAX_PARKED_INPUT_BYTES = 500_000;
/** How long a decision that is sent again gets its first answer. */
const SETTLED_KEPT_MS = 24 * 3_600_000;
/** What could not be carried out for a reason of ours is tried again after this. */
export const RETRY_MS = 60_000;
const EXECUTION_PREFIX = "actpause_";

const PARKED_STATES = ["parked", "approved", "rejected", "done"] as const;
const CALL_FIELDS = ["action", "toolCallId", "turnId", "requestId", "messageId"];

/** As it is stored. */
export interface StoredPause extends Omit<ParkedCall, "executionId"> {
  readonly state: (typeof PARKED_STATES)[number];
  readonly inputHash: string;
  readonly descriptor: ActionApprovalDescriptor;
  readonly grant: ActionGrant;
  readonly decidedBy: string | null;
  readonly reason: string | null;
  /** What it runs with in place of the input that was asked about. */
  readonly changed?: { readonly input: Json; readonly hash: string } | undefined;
  /** When other people may decide it, and whether that was said by now. Its expiry is with it: it is due at either. */
  readonly escalation?:
    { readonly at: number; readonly isSaid: boolean; readonly expiresAt: number | null } | undefined;
  /** Of one that is done; undefined also when the action returned nothing. */
  readonly outcome?: Json | undefined;
}

export interface ParkedAction extends StoredPause {
  readonly executionId: string;
  readonly input: Json;
  /** Of one that is parked; null: it waits for ever. */
  readonly expiresAt: number | null;
}

interface ParkedWork {
  /** Carries out what is decided, and expires what is not. */
  run(row: ParkedAction): Promise<RunEnd<StoredPause>>;
  /** Called for one that could not be read and is gone, in the transaction that removed it. */
  lost(call: ParkedCall): void;
}

export class Parked {
  readonly work: Work<StoredPause>;
  readonly #host: ActionsHost;

  constructor(host: ActionsHost, { run, lost }: ParkedWork) {
    this.#host = host;
    this.work = new Work(host, {
      name: PAUSED_ACTION,
      replaces: [PAUSES],
      codec: { encode: (pause) => pause, decode },
      retry: { backoff: { baseMs: RETRY_MS, maxMs: RETRY_MS } },
      concurrency: MAX_PARKED,
      retentionMs: SETTLED_KEPT_MS,
      keepsPayload: true,
      run: (item) => run(parkedOf({ ...item, dueAt: null })),
      unreadable({ key, stored }) {
        if (isCall(stored)) lost({ ...stored, executionId: key });
      }
    });
  }

  /** What the model reads instead of a result. A call that is parked already is parked once. */
  park(init: ParkedDraft): PausedOutput {
    const { descriptor, turn } = init;
    const { action, toolCallId } = descriptor;
    const { text, hash } = hashedInput(action, descriptor.input);
    if (byteLength(text) > MAX_PARKED_INPUT_BYTES) {
      throw actionErrors.ActionParkingError(action, `its input is larger than ${MAX_PARKED_INPUT_BYTES} bytes`);
    }
    const isKnown = (row: ParkedAction) => row.toolCallId === toolCallId && row.inputHash === hash;
    const executionId = this.ofTurn(turn.turnId).find(isKnown)?.executionId ?? this.#add({ ...init, text, hash });
    return {
      status: "paused",
      executionId,
      action,
      message: `"${action}" waits for a human's approval and has not run. Stop here and tell the user; the conversation goes on once it is decided.`
    };
  }

  #add({ turn, descriptor, grant, text, hash, escalateAfterMs }: HashedDraft): string {
    const { clock, ids, agent, emit } = this.#host;
    const { action, toolCallId } = descriptor;
    if (this.work.holdsAtLeast(MAX_PARKED))
      throw actionErrors.ActionParkingError(action, `${MAX_PARKED} others are waiting already`);
    const described = jsonCopy(descriptor);
    if (!described.ok || !isObject(described.value))
      throw actionErrors.ActionParkingError(action, "its input has no JSON");
    const executionId = `${EXECUTION_PREFIX}${ids.next()}`;
    const { turnId, requestId, messageId } = turn;
    // Only agents with these members have actions.
    const ttl = (agent as ActionMembers).actionPendingApprovalTtlMs;
    const now = clock.now();
    const expiresAt = ttl === false ? null : now + ttl;
    const at = escalateAfterMs === undefined ? undefined : now + escalateAfterMs;
    this.work.add({
      key: executionId,
      lane: turnId,
      dueAt: at === undefined ? expiresAt : Math.min(at, expiresAt ?? at),
      payload: {
        ...{ state: "parked", action, toolCallId, turnId, requestId, messageId, inputHash: hash, grant },
        descriptor: { ...descriptor, ...described.value, input: JSON.parse(text) as never },
        decidedBy: null,
        reason: null,
        ...(at !== undefined && { escalation: { at, isSaid: false, expiresAt } })
      }
    });
    emit("action:pause:created", { action, executionId, toolCallId });
    return executionId;
  }

  /** One caller wins: true only for the one that took it from "parked". It is due then. `changed`: what the action runs with. */
  decide(
    executionId: string,
    decision: { state: "approved" | "rejected"; by: string | null; reason: string | null },
    changed?: StoredPause["changed"]
  ): boolean {
    const { state, by: decidedBy, reason } = decision;
    const known = this.work.find(executionId);
    if (known?.payload.state !== "parked") return false;
    const decided = { ...known.payload, state, decidedBy, reason, changed };
    // A run that only says that it is escalated does not keep a decision waiting.
    if (known.state === "claimed") this.work.conclude(executionId, known.payload, "parked");
    return this.work.schedule(executionId, this.#host.clock.now(), decided);
  }

  /** The end of a run that has said that one is escalated: it waits until it expires. */
  said(executionId: string, also: () => void): RunEnd<StoredPause> {
    const { payload } = this.work.find(executionId) ?? {};
    if (!payload?.escalation) return SETTLED;
    const escalation = { ...payload.escalation, isSaid: true };
    return { end: "postponed", until: escalation.expiresAt, payload: { ...payload, escalation }, also };
  }

  /** Its outcome is known: it is settled with the transaction that puts it in its place, and parked until it has one. */
  finish(executionId: string, outcome: Json | undefined, as: "settled" | "parked"): void {
    const known = this.work.find(executionId);
    if (known) this.work.conclude(executionId, { ...known.payload, state: "done", outcome }, as);
  }

  find(executionId: string): ParkedAction | undefined {
    const known = this.work.find(executionId);
    return known && known.settledAt === null ? parkedOf(known) : undefined;
  }

  /** One whose outcome is in its place, for a day. */
  settled(executionId: string): ParkedAction | undefined {
    const known = this.work.find(executionId);
    const after = this.#host.clock.now() - SETTLED_KEPT_MS;
    return known && (known.settledAt ?? -Infinity) > after ? parkedOf(known) : undefined;
  }

  /** Waiting for a human, oldest first; all of them, or one. */
  waiting(executionId?: string): ParkedAction[] {
    const rows = executionId === undefined ? this.#open() : [this.find(executionId) ?? []].flat();
    return rows.filter(({ state }) => state === "parked");
  }

  /** Decided, and not yet in the transcript. */
  decided(): ParkedAction[] {
    return this.#open().filter(({ state }) => state !== "parked");
  }

  /** Every open one of one turn. */
  ofTurn(turnId: string): ParkedAction[] {
    return this.#open(turnId);
  }

  delete(executionId: string): void {
    this.work.cancel(executionId);
  }

  /** The conversation is gone, and with it every question about it. */
  deleteAll(): void {
    for (const { key } of this.work.items()) this.work.cancel(key);
  }

  #open(lane?: string): ParkedAction[] {
    return [...this.work.items({ states: ["waiting", "claimed", "parked"], ...(lane !== undefined && { lane }) })].map(
      parkedOf
    );
  }
}

interface ParkedDraft {
  readonly turn: ActionTurn;
  readonly descriptor: ActionApprovalDescriptor;
  readonly grant: ActionGrant;
  /** After this it is escalated. */
  readonly escalateAfterMs: number | undefined;
}

interface HashedDraft extends ParkedDraft {
  readonly text: string;
  readonly hash: string;
}

export function isPauseId(executionId: string): boolean {
  return executionId.startsWith(EXECUTION_PREFIX);
}

export function isPausedOutput(output: unknown): output is PausedOutput {
  return (
    isObject(output) &&
    output["status"] === "paused" &&
    typeof output["executionId"] === "string" &&
    isPauseId(output["executionId"])
  );
}

function parkedOf({ key, payload, dueAt }: Pick<WorkView<StoredPause>, "key" | "payload" | "dueAt">): ParkedAction {
  const { changed, descriptor, inputHash, state, escalation } = payload;
  const expiresAt = state === "parked" ? (escalation ? escalation.expiresAt : dueAt) : null;
  // It is the input of a call, which was JSON.
  const { input, hash } = changed ?? { input: descriptor.input as Json, hash: inputHash };
  return { ...payload, executionId: key, input, inputHash: hash, expiresAt };
}

function isCall(stored: unknown): stored is Omit<ParkedCall, "executionId"> {
  return isObject(stored) && CALL_FIELDS.every((name) => typeof stored[name] === "string");
}

/** An error when anything is not what `park` stored: what a human would agree to is not known. */
function decode(stored: unknown): Result<StoredPause, string> {
  // Only what `isCall` and the next lines find is trusted.
  const pause = isCall(stored) ? (stored as Partial<StoredPause> & typeof stored) : undefined;
  if (!pause || !PARKED_STATES.some((known) => known === pause.state))
    return err("its call or state is not what was stored");
  const { descriptor, inputHash } = pause;
  if (!isObject(descriptor) || sha256(canonicalJson(descriptor["input"] ?? null)) !== inputHash)
    return err("its descriptor or input is not what was stored");
  const { changed, escalation } = pause;
  if (escalation !== undefined && (!isObject(escalation) || typeof escalation.at !== "number"))
    return err("its escalation is not what was stored");
  if (changed !== undefined && (!isObject(changed) || sha256(canonicalJson(changed.input ?? null)) !== changed.hash))
    return err("its changed input is not what was stored");
  return ok({ ...(pause as StoredPause), grant: grantOf(pause.grant) });
}
