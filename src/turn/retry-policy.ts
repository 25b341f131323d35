// How far recovery of one turn may go, which failures are worth another attempt, and after which pause. Pure: the same
// records give the same verdict, and it can be reached before anything of the user's, or anything large, is touched.
// Progress is what attempts wrote, never what was read again; waiting for a person suspends every bound.
import { isAwaited } from "../journal/folds/calls-fold.ts";
import type { AttemptView, TurnFold } from "../journal/folds/turn-fold.ts";
import { backoffMs } from "../util/backoff.ts";

export interface RecoveryLimits {
  /** Attempts in a row that brought the turn no further. */
  readonly maxAttempts: number;
  readonly noProgressTimeoutMs: number;
  /** Units of progress that recovery may make in all. */
  readonly maxRecoveryWork: number;
  /** Attempts whose process died, the first included. Progress does not take them back. */
  readonly maxInterruptedAttempts: number;
}

export type ExhaustionReason =
  | "max_attempts_exceeded"
  | "no_progress_timeout"
  | "work_budget_exceeded"
  | "recovery_aborted"
  | "recovery_error"
  | "interrupted_attempts_exceeded"
  | "provider_failures_exceeded"
  | "out_of_memory";

/** Interruptions closer together than this are one: a deploy restarts an object several times. */
export const DEBOUNCE_MS = 30_000;

/** Attempts in a row that ran out of memory, and processes in a row that died while reading a partial answer. */
export const OUT_OF_MEMORY_LIMIT = 3;

/**
 * Failures and silences of the provider after which a turn ends: in a row, and over all of the turn. Text does not end a
 * row: a provider that always breaks off after its first words would be asked for ever. A finished step does, so that a
 * long turn is not ended by failures hours apart; the second number bounds those.
 */
export const FAILURES_IN_A_ROW = 5;
export const FAILURES_IN_ALL = 20;
/** Long silences cost the user all of that time: a provider that hangs twice is not asked a third time. */
export const LONG_SILENCES_IN_A_ROW = 2;
/**
 * A silence of this length is a long one: two of them are five minutes. The default window is longer; a class that chose a
 * shorter one wants to ask again, and its user waits for less than 13 minutes in all.
 */
export const LONG_SILENCE_MS = 150_000;
/** What an attempt ended of when the silence was a long one. */
export const LONG_SILENCE = "long-silence";

/** What an attempt ended of when it was the user's hook that failed: the model was not asked. */
export const RECOVERY_HOOK_FAILED = "recovery-hook-failed";

/** How long the next attempt waits after so many quick deaths in a row, when the budget allows one more than that many. */
const PAUSES_MS = [0, 5_000, 15_000, 40_000] as const;

/** What an attempt failed of when the object was out of memory. */
export const OUT_OF_MEMORY = "out-of-memory";

export interface Budget {
  /** Counts from 1; back to 1 when there was progress. */
  readonly attempt: number;
  /** Times the turn was found interrupted. */
  readonly detections: number;
  readonly work: number;
  readonly interruptions: number;
  /** When the first interruption was noticed. */
  readonly openedAt: number;
  readonly progressAt: number;
  readonly exhausted: ExhaustionReason | undefined;
}

export interface BudgetInput {
  readonly attempts: readonly AttemptView[];
  readonly limits: RecoveryLimits;
  readonly nowMs: number;
  /** The user or a client is asked something: nothing can be expected of the turn. */
  readonly isAwaiting: boolean;
  /** As the fold's. */
  readonly lateOutcomeAt?: number;
}

/** The budget after the newest interruption; undefined when there was none. */
export function evaluateBudget({ attempts, limits, nowMs, ...known }: BudgetInput): Budget | undefined {
  const { isAwaiting, lateOutcomeAt = 0 } = known;
  const counted = countAttempts(attempts);
  if (!counted) return undefined;
  const spent = { ...counted, progressAt: isAwaiting ? nowMs : Math.max(counted.progressAt, lateOutcomeAt) };
  return { ...spent, exhausted: isAwaiting ? undefined : exhaustion({ attempts, limits, nowMs }, spent) };
}

/** An attempt that was stopped from outside, as opposed to one that handed over by itself. */
function isInterruption(attempt: AttemptView): boolean {
  const { end } = attempt;
  return end === "interrupted" || end === "stalled" || (end === "failed" && !isSwitch(attempt));
}

/** Its model failed, and another one goes on at once. */
export function isSwitch({ end, next, retryAt }: AttemptView): boolean {
  return end === "failed" && next !== undefined && retryAt === null;
}

type Counted = Omit<Budget, "exhausted"> & { readonly countedAt: number };

function countAttempts(attempts: readonly AttemptView[]): Counted | undefined {
  let counted: Counted | undefined;
  let produced = 0;
  for (const attempt of attempts) {
    if (counted) produced += attempt.produced;
    if (!isInterruption(attempt)) continue;
    counted = detect(counted, { at: attempt.endedAt ?? attempt.startedAt, produced });
    produced = 0;
  }
  const interruptions = attempts.filter(({ end }) => end === "interrupted").length;
  return counted && { ...counted, interruptions };
}

function detect(before: Counted | undefined, { at, produced }: { at: number; produced: number }): Counted {
  if (!before) {
    return { attempt: 1, detections: 1, work: 0, interruptions: 0, openedAt: at, progressAt: at, countedAt: at };
  }
  const seen = { ...before, detections: before.detections + 1, work: before.work + produced };
  if (produced > 0) return { ...seen, attempt: 1, countedAt: at, progressAt: at };
  if (at - before.countedAt < DEBOUNCE_MS) return seen;
  return { ...seen, attempt: before.attempt + 1, countedAt: at };
}

function exhaustion(
  { attempts, limits, nowMs }: Pick<BudgetInput, "attempts" | "limits" | "nowMs">,
  spent: Counted
): ExhaustionReason | undefined {
  if (lastOnes(attempts, ({ errorCode }) => errorCode === OUT_OF_MEMORY) >= OUT_OF_MEMORY_LIMIT) return "out_of_memory";
  if (spent.interruptions >= limits.maxInterruptedAttempts) return "interrupted_attempts_exceeded";
  if (spent.work > limits.maxRecoveryWork) return "work_budget_exceeded";
  const isSecond = spent.detections > 1;
  if (isSecond && nowMs - spent.progressAt > limits.noProgressTimeoutMs) return "no_progress_timeout";
  if (spent.attempt > limits.maxAttempts) return "max_attempts_exceeded";
  return areTooMany(countFailures(attempts)) ? "provider_failures_exceeded" : undefined;
}

export interface Death {
  readonly attempts: readonly AttemptView[];
  readonly nowMs: number;
  readonly maxInterruptedAttempts: number;
}

/**
 * When the attempt after a death may start. Deaths in quick succession (a deploy, a crash loop) are spaced out the more,
 * the fewer of them are left.
 */
export function pauseAfterDeath({ attempts, nowMs, maxInterruptedAttempts }: Death): number | null {
  const isDeath = ({ end }: AttemptView) => end === null || end === "interrupted";
  const isQuick = ({ startedAt, endedAt }: AttemptView) => (endedAt ?? nowMs) - startedAt < DEBOUNCE_MS;
  const quick = lastOnes(attempts, (attempt) => isDeath(attempt) && isQuick(attempt));
  const left = maxInterruptedAttempts - attempts.filter(isDeath).length;
  const place = Math.min(quick, PAUSES_MS.length, PAUSES_MS.length + 1 - left);
  const pauseMs = PAUSES_MS[Math.max(place, 1) - 1] ?? 0;
  return pauseMs === 0 ? null : nowMs + pauseMs;
}

/** How many at the end are like this. */
function lastOnes(attempts: readonly AttemptView[], isLike: (attempt: AttemptView) => boolean): number {
  return attempts.length - 1 - attempts.findLastIndex((attempt) => !isLike(attempt));
}

export interface FailureCount {
  readonly inARow: number;
  readonly inAll: number;
  /** The newest of the row that were long silences. */
  readonly longSilences: number;
}

/** Failures and silences of the provider. One after a finished step is the first of a new row. */
export function countFailures(attempts: readonly AttemptView[]): FailureCount {
  const rowStart = attempts.findLastIndex(({ finishedSteps }) => finishedSteps > 0);
  const row = attempts.slice(Math.max(rowStart, 0)).filter(isProviderFailure);
  return {
    inARow: row.length,
    inAll: attempts.filter(isProviderFailure).length,
    longSilences: lastOnes(row, ({ errorCode }) => errorCode === LONG_SILENCE)
  };
}

export function areTooMany({ inARow, inAll, longSilences }: FailureCount): boolean {
  return inARow >= FAILURES_IN_A_ROW || inAll >= FAILURES_IN_ALL || longSilences >= LONG_SILENCES_IN_A_ROW;
}

/** A pause before the model is asked again, as clients are shown it: nothing in it is the provider's word. */
export interface AwaitedRetry {
  readonly reason: "rate-limit" | "provider" | "silence" | "server";
  /** Which attempt comes, counted since the last finished step, and how many there may be. */
  readonly attempt: number;
  readonly of: number;
  /** In epoch milliseconds. */
  readonly at: number;
}

/** Undefined: no attempt waits because of a failure or a silence of the provider. */
export function awaitedRetry({ attempts }: Pick<TurnFold, "attempts">): AwaitedRetry | undefined {
  const last = attempts.at(-1);
  if (!last || last.retryAt === null || !isProviderFailure(last)) return undefined;
  const { inARow, inAll, longSilences } = countFailures(attempts);
  const left = Math.min(
    FAILURES_IN_A_ROW - inARow,
    FAILURES_IN_ALL - inAll,
    longSilences > 0 ? LONG_SILENCES_IN_A_ROW - longSilences : Infinity
  );
  return { reason: reasonOf(last), attempt: inARow + 1, of: inARow + left, at: last.retryAt };
}

function reasonOf({ end, errorCode }: AttemptView): AwaitedRetry["reason"] {
  if (end === "stalled") return "silence";
  if (errorCode === "rate_limit") return "rate-limit";
  return errorCode === "platform" || errorCode === OUT_OF_MEMORY ? "server" : "provider";
}

/** A switch is none: what is counted is how often all models of a turn have failed. */
function isProviderFailure(attempt: AttemptView): boolean {
  const { end, errorCode } = attempt;
  return end === "stalled" || (end === "failed" && errorCode !== RECOVERY_HOOK_FAILED && !isSwitch(attempt));
}

/** How often in a row the user's hook has failed. */
export function hookFailuresInARow(attempts: readonly AttemptView[]): number {
  return lastOnes(attempts, ({ errorCode }) => errorCode === RECOVERY_HOOK_FAILED);
}

/** The pause after the first failure; it doubles. A provider that names its own is obeyed, up to the longest. */
export const FAILURE_PAUSE_MS = 1_000;
export const MAX_FAILURE_PAUSE_MS = 60_000;

/** One more failure of the provider. */
export interface NewFailure {
  readonly isLongSilence?: boolean;
  /** The pause that the provider asked for. */
  readonly askedForMs?: number | undefined;
}

/** How long the provider is left alone after one more failure; undefined: this one is one too many. */
export function failurePauseMs(
  attempts: readonly AttemptView[],
  { isLongSilence = false, askedForMs }: NewFailure = {}
): number | undefined {
  const before = countFailures(attempts);
  const longSilences = isLongSilence ? before.longSilences + 1 : 0;
  if (areTooMany({ inARow: before.inARow + 1, inAll: before.inAll + 1, longSilences })) return undefined;
  const policy = { baseMs: FAILURE_PAUSE_MS, maxMs: MAX_FAILURE_PAUSE_MS };
  return Math.min(askedForMs ?? backoffMs(before.inARow, policy), MAX_FAILURE_PAUSE_MS);
}

const HOOK_PAUSE_MS = 30_000;
const MAX_HOOK_PAUSE_MS = 300_000;

/** How long recovery waits after its hook failed so many times in a row before. */
export function hookPauseMs(failures: number): number {
  return backoffMs(failures, { baseMs: HOOK_PAUSE_MS, maxMs: MAX_HOOK_PAUSE_MS });
}

export interface BudgetOf {
  readonly limits: RecoveryLimits;
  readonly nowMs: number;
  /** The outcome of a cut-off call is still to come: what works on it has bounds of its own. */
  readonly awaitsOutcome?: boolean;
}

/** The budget of a turn; undefined when it was never interrupted. */
export function budgetOf(fold: TurnFold, { limits, nowMs, awaitsOutcome = false }: BudgetOf): Budget | undefined {
  const { attempts, calls, lateOutcomeAt } = fold;
  const isAwaiting = awaitsOutcome || [...calls.values()].some(isAwaited);
  return evaluateBudget({ attempts, limits, nowMs, isAwaiting, lateOutcomeAt });
}

/** Why the turn must not be tried again. */
export function exhaustionOf(
  fold: TurnFold,
  { epoch, ...budget }: BudgetOf & { readonly epoch: string }
): ExhaustionReason | undefined {
  // A process that reads it now is alive.
  const readingDeaths = fold.readBy.filter((reader) => reader !== epoch).length;
  // Also while the user is waited for: every start of the object would be its end.
  return readingDeaths >= OUT_OF_MEMORY_LIMIT ? "out_of_memory" : budgetOf(fold, budget)?.exhausted;
}

/** The newest attempt handed over by itself: the user's hooks are not asked again. */
export function isHandover({ attempts }: TurnFold): boolean {
  const last = attempts.at(-1);
  return last !== undefined && (last.end === "restarted" || last.end === "overflow" || isSwitch(last));
}

/** The next attempt begins a step that is not finished anew: its text must not be continued. */
export function keepsWholeSteps(fold: TurnFold): boolean {
  const next = fold.attempts.at(-1)?.next;
  return next ? !next.keepsText : isHandover(fold);
}

/** When the next attempt is due; null: at once. */
export function retryAtOf({ attempts }: TurnFold): number | null {
  return attempts.at(-1)?.retryAt ?? null;
}

/** When the turn was first interrupted, as clients are shown; undefined: never. */
export function recoveringSince({ attempts }: TurnFold): number | undefined {
  const first = attempts.find(isInterruption);
  return first && (first.endedAt ?? first.startedAt);
}
