// Which model of a list is asked: at the start of a turn, and after one has failed. Pure: the same list, failures, memory
// and time give the same model. The order of the list is the order of asking; a model that has just failed waits behind
// the others, and what a turn may switch is bounded.
import type { AttemptView } from "../../journal/folds/turn-fold.ts";

/** Models a list may have. */
export const MAX_MODELS = 8;
/** Switches of one turn, whatever it does. After that a failure is handled as if there were one model. */
export const MAX_SWITCHES = 20;

export interface Candidate {
  /** Unique in the list. */
  readonly name: string;
  readonly provider: string;
}

/** What is remembered of a provider that failed. */
export interface RememberedProvider {
  readonly provider: string;
  /** Its models are passed over until then, in epoch milliseconds. */
  readonly until: number;
  /** How often in a row it failed, which decides for how long. */
  readonly failures: number;
  /** Models of it that failed. */
  readonly failed: readonly string[];
  /** Models of it that have answered since: they are not passed over. */
  readonly answered: readonly string[];
}

/** What is known beside the records. */
export interface Known<One extends Candidate = Candidate> {
  readonly candidates: readonly One[];
  readonly memory: readonly RememberedProvider[];
  readonly nowMs: number;
}

/** Failures that every further call of the same model would meet in this turn. */
export const LASTING_FAILURES = ["model-refused", "context_overflow", "content-filtered", "model-failed"] as const;
/** Failures that pass. */
export const PASSING_FAILURES = ["transient", "rate_limit", "silence"] as const;

export type FailureCode = (typeof LASTING_FAILURES)[number] | (typeof PASSING_FAILURES)[number];

/** The time until which a model is passed over; 0: it is not. */
export function passedOverUntil({ name, provider }: Candidate, memory: readonly RememberedProvider[]): number {
  const known = memory.find((one) => one.provider === provider);
  return known && !known.answered.includes(name) ? known.until : 0;
}

/**
 * The model of an attempt. One that was chosen for the turn stays, whatever is remembered of it; otherwise it is the first
 * that is not passed over, or, if all are, the one whose time ends first.
 */
export function chooseModel<One extends Candidate>(
  { candidates, memory, nowMs }: Known<One>,
  chosen?: string
): One | undefined {
  return candidates.find(({ name }) => name === chosen) ?? soonest(candidates, { memory, nowMs });
}

function soonest<One extends Candidate>(
  candidates: readonly One[],
  { memory, nowMs }: Pick<Known, "memory" | "nowMs">
): One | undefined {
  const ready = (one: Candidate) => Math.max(passedOverUntil(one, memory), nowMs);
  // Sorting keeps the order of the list among equals.
  return candidates.toSorted((first, second) => ready(first) - ready(second))[0];
}

export interface FailedModelCall extends Known {
  /** Of the turn, in order; the last one is the one that has just failed. */
  readonly attempts: readonly AttemptView[];
  readonly failing: string;
  readonly code: FailureCode;
}

export type NextModelDecision =
  | { readonly do: "switch"; readonly model: string }
  /** All of them have failed: this one is asked after a pause. */
  | { readonly do: "again"; readonly model: string };

/** Who is asked after a failure; undefined: there is no other, and the failure is that of the turn. */
export function decideNextModel({ attempts, failing, code, ...known }: FailedModelCall): NextModelDecision | undefined {
  const before = attempts.slice(0, -1);
  const lasting = new Set(before.flatMap(lastingFailureOf));
  if (isLasting(code)) lasting.add(failing);
  const usable = known.candidates.filter(({ name }) => !lasting.has(name));
  const tried = new Set([failing, ...triedSince(attempts)]);
  const next = soonest(
    usable.filter(({ name }) => !tried.has(name)),
    known
  );
  if (next && before.filter(isSwitched).length < MAX_SWITCHES) return { do: "switch", model: next.name };
  const again = soonest(usable, known);
  return again && { do: "again", model: again.name };
}

function isLasting(code: string | null): boolean {
  return LASTING_FAILURES.some((one) => one === code);
}

function lastingFailureOf({ model, end, errorCode }: AttemptView): string[] {
  return model !== undefined && end === "failed" && isLasting(errorCode) ? [model] : [];
}

function isSwitched({ end, next, retryAt }: AttemptView): boolean {
  return end === "failed" && next !== undefined && retryAt === null;
}

/** Models that have failed since the last pause, or since a model last finished a step. */
function triedSince(attempts: readonly AttemptView[]): string[] {
  const paused = attempts.findLastIndex(
    ({ end, retryAt }) => (end === "failed" || end === "stalled") && retryAt !== null
  );
  const progressed = attempts.findLastIndex(({ finishedSteps }) => finishedSteps > 0);
  return attempts
    .slice(Math.max(paused + 1, progressed))
    .flatMap(({ model, end }) => (model !== undefined && end === "failed" ? [model] : []));
}
