// The state of one turn, from its records. Pure: no clock, no storage; whether the process that ran an attempt is still
// alive is for the caller to know (it compares epochs). Records come in order; one already seen changes nothing, so a
// fold can stop anywhere and go on later.
import type { EpochId, TurnId } from "../../util/ids.ts";
import type { Json } from "../../util/json.ts";
import type {
  AttemptEnded,
  AttemptStarted,
  CancelledUse,
  ChunkRange,
  SequencedRecord,
  ModelCalled,
  NextModel,
  ReadableRecord,
  SteerApplied,
  StepFinished,
  StepUsage,
  TurnAdmitted,
  TurnCancelRequested,
  TurnGranted,
  TurnSettled
} from "../records.ts";
import { rangeOf } from "../codec.ts";
import { foldCalls, NO_CALLS, type CallsFold } from "./calls-fold.ts";

export interface AttemptView {
  readonly attempt: number;
  readonly kind: AttemptStarted["kind"];
  readonly startedAt: number;
  /** Records it added that took the turn forward. An interrupted attempt with none is a charged one. */
  readonly produced: number;
  /** Model calls that it brought to their end. */
  readonly finishedSteps: number;
  /** Chunks below this only settle what earlier attempts left open. */
  readonly repairedTo: number;
  /** How it ended; null while open. `interrupted` also: the next one began without a word from it. */
  readonly end: AttemptEnded["reason"] | "settled" | null;
  /** When that was noticed. */
  readonly endedAt: number | null;
  /** What it failed of, as a code. */
  readonly errorCode: string | null;
  readonly retryAt: number | null;
  /** Of a turn with several models: which one it asked. */
  readonly model?: string;
  /** And which one is asked next. */
  readonly next?: NextModel;
}

export interface TurnFold {
  readonly turnId: TurnId;
  readonly admission: TurnAdmitted | null;
  /** Of its admission: its records start there. */
  readonly firstSequence: number;
  readonly attempts: readonly AttemptView[];
  /** The fence: number of the newest attempt, 0 before the first. */
  readonly attempt: number;
  readonly calls: CallsFold;
  readonly cancel: Pick<TurnCancelRequested, "at" | "reason"> | null;
  /** It ends before its next model call. */
  readonly stops: boolean;
  /** The turn that it took over from. */
  readonly steered: SteeredFrom | null;
  /** The run of a sub-agent that was given its messages, and has not given them back. */
  readonly passedTo: string | null;
  /** Sequence of the newest content, 0 for none. Only grows. */
  readonly contentSequence: number;
  /** Number the next chunk will get. */
  readonly nextChunk: number;
  /** The chunks that belong to the answer: what each attempt wrote, as far as the later ones kept it. */
  readonly kept: readonly KeptRange[];
  readonly steps: StepsView;
  /** What was asked of which model, oldest first; as often as it changed. */
  readonly models: readonly ModelUse[];
  /** Of a turn with several models: the one that was chosen last. */
  readonly chosenModel?: string;
  /** Processes that began to read a large partial answer since the newest attempt began. */
  readonly readBy: readonly EpochId[];
  /** What it may do, once `authorizeTurn` was asked. */
  readonly grants: Pick<TurnGranted, "allowed" | "reason" | "permissions"> | null;
  readonly stash: Json;
  /** When the outcome of a call last took the turn forward between two attempts; 0: never. */
  readonly lateOutcomeAt: number;
  readonly outcome: TurnSettled | null;
  readonly lastSequence: number;
}

export type SteeredFrom = Omit<SteerApplied, "type" | "turnId" | "at">;

/** Chunks `from` up to, not including, `to`; the last range is open. */
export interface KeptRange {
  readonly from: number;
  readonly to: number;
}

export type ModelUse = Pick<ModelCalled, "modelId" | "tools" | "prompt">;

export interface StepsView {
  readonly finished: number;
  /** Sum of what was reported; null where nothing was. */
  readonly usage: StepUsage;
  /** Of the newest finished step alone. */
  readonly lastUsage: StepUsage;
}

/** No provider has reported anything. */
export const NO_STEP_USAGE: StepUsage = {
  inputTokens: null,
  outputTokens: null,
  totalTokens: null,
  reasoningTokens: null,
  cachedInputTokens: null
};

export function emptyTurn(turnId: TurnId): TurnFold {
  return {
    turnId,
    admission: null,
    firstSequence: 0,
    attempts: [],
    attempt: 0,
    calls: NO_CALLS,
    cancel: null,
    stops: false,
    steered: null,
    passedTo: null,
    contentSequence: 0,
    nextChunk: 0,
    kept: [],
    steps: { finished: 0, usage: NO_STEP_USAGE, lastUsage: NO_STEP_USAGE },
    models: [],
    readBy: [],
    grants: null,
    stash: null,
    lateOutcomeAt: 0,
    outcome: null,
    lastSequence: 0
  };
}

export function foldTurn(turn: TurnFold, entries: Iterable<SequencedRecord>): TurnFold {
  let state = turn;
  for (const entry of entries) state = foldTurnEntry(state, entry);
  return state;
}

/** Records of other turns, and records already seen, change nothing. */
export function foldTurnEntry(turn: TurnFold, entry: SequencedRecord): TurnFold {
  const { sequence, record } = entry;
  if (record.turnId !== turn.turnId || sequence <= turn.lastSequence) return turn;
  const next = { ...applyRecord(turn, record, sequence), lastSequence: sequence };
  return takesForward(record, next.attempts.at(-1)) ? countProgress(next, record.at) : next;
}

function applyRecord(turn: TurnFold, record: ReadableRecord, sequence: number): TurnFold {
  switch (record.type) {
    case "turn-admitted":
      return { ...turn, admission: record, firstSequence: sequence };
    case "attempt-started":
      return startAttempt(turn, record);
    case "attempt-ended":
      return endAttempt(turn, record.reason, record);
    case "content-segment":
      return addContent(turn, { firstChunk: record.firstChunk, chunkCount: record.chunks.length }, sequence);
    case "content-outline":
      return addContent(turn, record, sequence);
    case "call-started":
    case "call-settled":
    case "approval-asked":
    case "approval-answered":
      return { ...turn, calls: foldCalls(turn.calls, record) };
    case "step-finished":
      return { ...turn, steps: finishStep(turn.steps, record), attempts: countStep(turn.attempts, record) };
    default:
      return applyRest(turn, record);
  }
}

function applyRest(turn: TurnFold, record: ReadableRecord): TurnFold {
  switch (record.type) {
    case "model-called":
      return { ...turn, models: addModel(turn.models, record), ...(record.chosen && choose(turn, record.chosen)) };
    case "recovery-started":
      return { ...turn, readBy: [...new Set([...turn.readBy, record.epoch])] };
    case "turn-granted": {
      const { allowed, reason, permissions } = record;
      return { ...turn, grants: turn.grants ?? { allowed, reason, permissions } };
    }
    case "turn-stashed":
      return { ...turn, stash: record.data };
    case "turn-cancel-requested":
      return { ...turn, cancel: turn.cancel ?? { at: record.at, reason: record.reason } };
    case "turn-stop-requested":
      return { ...turn, stops: true };
    case "input-edited":
      return turn.admission ? { ...turn, admission: { ...turn.admission, input: record.input } } : turn;
    case "steer-applied": {
      const { type: _type, turnId: _turnId, at: _at, ...steered } = record;
      return { ...turn, steered: turn.steered ?? steered };
    }
    case "steer-passed":
      return { ...turn, passedTo: record.runId };
    case "turn-settled":
      return settle(turn, record);
    case "record-quarantined":
    case "unknown":
      return { ...turn, nextChunk: Math.max(turn.nextChunk, endOf(rangeOf(record))) };
    default:
      return turn;
  }
}

function startAttempt(turn: TurnFold, record: AttemptStarted): TurnFold {
  const { attempt, kind, at: startedAt } = record;
  const repairedTo = record.firstChunk + record.repairs;
  const open = { produced: 0, finishedSteps: 0, repairedTo, end: null, endedAt: null, errorCode: null, retryAt: null };
  return {
    ...turn,
    attempts: [...endAttempt(turn, "interrupted", record).attempts, { attempt, kind, startedAt, ...open }],
    attempt,
    readBy: [],
    kept: keptRanges(turn.kept, record)
  };
}

/** The ranges after an attempt that keeps only chunks below `keeps` of those before it. */
export function keptRanges(
  kept: readonly KeptRange[],
  { keeps, firstChunk }: Pick<AttemptStarted, "keeps" | "firstChunk">
): KeptRange[] {
  const end = Math.min(keeps, firstChunk);
  const earlier = kept.map(({ from, to }) => ({ from, to: Math.min(to, end) })).filter(({ from, to }) => from < to);
  return [...earlier, { from: firstChunk, to: Infinity }];
}

/** The first word about an attempt's end stays. */
function endAttempt(
  turn: TurnFold,
  end: NonNullable<AttemptView["end"]>,
  word: Pick<AttemptEnded, "at" | "next"> & Partial<Pick<AttemptEnded, "retryAt" | "error">>
): TurnFold {
  const last = turn.attempts.at(-1);
  if (!last || last.end !== null) return turn;
  const { at: endedAt, error, retryAt = null, next } = word;
  const ended = { ...last, end, endedAt, errorCode: error?.code ?? null, retryAt, ...(next && { next }) };
  return { ...turn, attempts: [...turn.attempts.slice(0, -1), ended], ...(next && { chosenModel: next.model }) };
}

function choose({ attempts }: TurnFold, model: string): Pick<TurnFold, "attempts" | "chosenModel"> {
  const last = attempts.at(-1);
  return { chosenModel: model, attempts: last ? [...attempts.slice(0, -1), { ...last, model }] : attempts };
}

function addContent(turn: TurnFold, range: ChunkRange, sequence: number): TurnFold {
  return { ...turn, contentSequence: sequence, nextChunk: Math.max(turn.nextChunk, endOf(range)) };
}

function settle(turn: TurnFold, record: TurnSettled): TurnFold {
  if (turn.outcome) return turn;
  return { ...endAttempt(turn, "settled", record), outcome: record };
}

function addModel(models: readonly ModelUse[], { modelId, tools, prompt }: ModelCalled): readonly ModelUse[] {
  const last = models.at(-1);
  return last?.modelId === modelId && last.prompt === prompt ? models : [...models, { modelId, tools, prompt }];
}

function finishStep(steps: StepsView, { usage, cancelled = [] }: StepFinished): StepsView {
  return {
    finished: steps.finished + 1,
    lastUsage: usage,
    usage: addStepUsage(steps.usage, allUsage(usage, cancelled))
  };
}

/** Of a step, with that of the calls that were cancelled for it. */
export function allUsage(usage: StepUsage, cancelled: readonly CancelledUse[]): StepUsage {
  return cancelled.reduce((sum, one) => addStepUsage(sum, one.usage), usage);
}

/** A count that neither of them has stays unknown. */
export function addStepUsage(first: StepUsage, second: StepUsage): StepUsage {
  const sum = (a: number | null, b: number | null) => (a === null && b === null ? null : (a ?? 0) + (b ?? 0));
  return {
    inputTokens: sum(first.inputTokens, second.inputTokens),
    outputTokens: sum(first.outputTokens, second.outputTokens),
    totalTokens: sum(first.totalTokens, second.totalTokens),
    reasoningTokens: sum(first.reasoningTokens, second.reasoningTokens),
    cachedInputTokens: sum(first.cachedInputTokens, second.cachedInputTokens)
  };
}

/** Ends of a step that the provider meant. Others are how an SDK reports a stream that broke off. */
const FINISHED: ReadonlySet<string> = new Set(["stop", "tool-calls", "length", "content-filter"]);

function countStep(attempts: readonly AttemptView[], { finishReason }: StepFinished): readonly AttemptView[] {
  const last = attempts.at(-1);
  if (!last || !FINISHED.has(finishReason)) return attempts;
  return [...attempts.slice(0, -1), { ...last, finishedSteps: last.finishedSteps + 1 }];
}

function takesForward(record: ReadableRecord, last: AttemptView | undefined): boolean {
  switch (record.type) {
    case "content-segment":
      return record.firstChunk + record.chunks.length > (last?.repairedTo ?? 0);
    case "content-outline":
      return endOf(record) > (last?.repairedTo ?? 0);
    case "call-settled":
      return record.outcome.kind !== "unknown";
    case "call-started":
    case "step-finished":
      return true;
    default:
      return false;
  }
}

function countProgress(turn: TurnFold, at: number): TurnFold {
  const last = turn.attempts.at(-1);
  if (!last) return turn;
  if (last.end !== null) return { ...turn, lateOutcomeAt: at };
  return { ...turn, attempts: [...turn.attempts.slice(0, -1), { ...last, produced: last.produced + 1 }] };
}

function endOf(range: ChunkRange | null): number {
  return range ? range.firstChunk + range.chunkCount : 0;
}
