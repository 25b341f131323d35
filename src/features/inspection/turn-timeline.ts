// One turn on a time scale, from its records. Pure: the same records give the same timeline, and records of other turns
// change nothing. Where records are gone, `timelineOfHistory` shows what is kept longer.
import type { DecidedApproval } from "../approvals/decided-approvals.ts";
import { addStepUsage, allUsage, NO_STEP_USAGE } from "../../journal/folds/turn-fold.ts";
import type { TurnHistory } from "../../journal/history.ts";
import type {
  AttemptEnded,
  AttemptStarted,
  CallOutcome,
  CallStarted,
  JournalRecord,
  ReadableRecord,
  SequencedRecord
} from "../../journal/records.ts";
import { steeringNote } from "./steering-notes.ts";
import { shownText } from "./shown-text.ts";
import type {
  ApprovalTimeline,
  AttemptTimeline,
  CallTimeline,
  StepTimeline,
  InspectedTurnStatus,
  TurnTimeline
} from "./views.ts";

/** What only the stored conversation and other tables know. */
export type RecordedTimeline = Omit<TurnTimeline, "cost" | "written" | "source" | "messages" | "childRuns" | "changes">;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type StepDraft = Omit<Mutable<StepTimeline>, "calls"> & { calls: Mutable<CallTimeline>[] };
type AttemptDraft = Omit<Mutable<AttemptTimeline>, "steps"> & { steps: StepDraft[] };

interface Draft extends Omit<Mutable<RecordedTimeline>, "attempts"> {
  attempts: AttemptDraft[];
  /** Calls by id, wherever they began. */
  readonly calls: Map<string, Mutable<CallTimeline>>;
}

/** The timeline of the turn with this id; records come in order. */
export function foldTimeline(turnId: string, entries: Iterable<SequencedRecord>): RecordedTimeline {
  const draft: Draft = {
    turnId,
    requestId: null,
    trigger: null,
    channel: null,
    isContinuation: false,
    status: "queued",
    reason: null,
    error: null,
    admittedAt: null,
    startedAt: null,
    settledAt: null,
    inputMessageIds: [],
    messageId: null,
    queueMs: null,
    attempts: [],
    usage: NO_STEP_USAGE,
    grant: null,
    cancel: null,
    steering: [],
    calls: new Map()
  };
  for (const { record } of entries) if (record.turnId === turnId) apply(draft, record);
  const { calls, ...timeline } = draft;
  const isWaiting = [...calls.values()].some(({ status }) => status === "waiting");
  return draft.status === "running" && isWaiting ? { ...timeline, status: "waiting" } : timeline;
}

function apply(draft: Draft, record: ReadableRecord): void {
  const note = steeringNote(record);
  if (note) draft.steering = [...draft.steering, note];
  switch (record.type) {
    case "turn-admitted":
      draft.requestId = record.requestId;
      draft.trigger = record.trigger;
      draft.channel = record.channel;
      draft.isContinuation = record.continuation;
      draft.admittedAt = record.at;
      draft.inputMessageIds = record.inputMessageIds;
      draft.messageId = record.messageId;
      return;
    case "attempt-started":
      return startAttempt(draft, record);
    case "attempt-ended":
      return endAttempt(draft.attempts.at(-1), record);
    case "turn-settled":
      return settle(draft, record);
    case "turn-granted": {
      const { allowed, reason, permissions } = record;
      draft.grant ??= { allowed, reason, permissions };
      return;
    }
    case "turn-cancel-requested":
      draft.cancel ??= { at: record.at, reason: record.reason };
      return;
    default:
      return applyToStep(draft, record);
  }
}

function startAttempt(draft: Draft, record: AttemptStarted): void {
  const { attempt, kind, at } = record;
  const previous = draft.attempts.at(-1);
  if (previous && previous.end === null) endAttempt(previous, { at, reason: "interrupted" });
  draft.status = "running";
  draft.startedAt ??= at;
  draft.queueMs ??= draft.admittedAt === null ? null : Math.max(0, at - draft.admittedAt);
  draft.attempts.push({
    attempt,
    kind,
    startedAt: at,
    endedAt: null,
    end: null,
    errorCode: null,
    retryAt: null,
    decision: previous ? decisionOf(previous, record) : null,
    modelId: null,
    model: null,
    nextModel: null,
    prompt: null,
    steps: []
  });
}

/** Why there was another attempt, and what of the one before it stayed. */
function decisionOf(
  { end, errorCode, model, nextModel }: Pick<AttemptTimeline, "end" | "errorCode" | "model" | "nextModel">,
  started: AttemptStarted
): string {
  const cause = end === null ? "The attempt before it ended" : CAUSES[end];
  const kept = started.keeps > 0 ? `${started.keeps} chunks of the answer were kept` : "nothing of the answer was kept";
  const action = nextModel === null ? ACTIONS[started.kind] : `${nextModel} was asked in place of ${model ?? "it"}`;
  return `${cause}${errorCode === null ? "" : ` (${errorCode})`}: ${action}; ${kept}.`;
}

const CAUSES: Readonly<Record<AttemptEnded["reason"] | "settled", string>> = {
  failed: "The attempt before it failed",
  stalled: "The model went silent",
  overflow: "The prompt outgrew the model's context window",
  interrupted: "The process died",
  restarted: "The attempt was asked to begin anew",
  settled: "The attempt before it ended"
};

const ACTIONS: Readonly<Record<AttemptStarted["kind"], string>> = {
  first: "the turn was started",
  retry: "the model was asked again",
  continue: "the model was asked to go on where its answer stopped",
  resume: "the turn went on with the outcomes of its calls",
  "overflow-retry": "the history was compacted and the model was asked again"
};

function endAttempt(
  attempt: AttemptDraft | undefined,
  { at, reason, error, retryAt, next }: Pick<AttemptEnded, "at" | "reason"> & Partial<AttemptEnded>
): void {
  if (!attempt || attempt.end !== null) return;
  attempt.end = reason;
  attempt.endedAt = at;
  attempt.errorCode = error?.code ?? null;
  attempt.retryAt = retryAt ?? null;
  attempt.nextModel = next?.model ?? null;
}

function settle(draft: Draft, { at, outcome, reason, error }: Extract<JournalRecord, { type: "turn-settled" }>): void {
  if (draft.settledAt !== null) return;
  draft.status = outcome;
  draft.reason = reason;
  draft.error = error;
  draft.settledAt = at;
  const last = draft.attempts.at(-1);
  if (last && last.end === null) {
    last.end = "settled";
    last.endedAt = at;
  }
}

function applyToStep(draft: Draft, record: ReadableRecord): void {
  const attempt = draft.attempts.at(-1);
  switch (record.type) {
    case "model-called":
      if (!attempt) return;
      // One that is asked beside it is not the one that was chosen.
      if (record.beside !== undefined) return;
      attempt.modelId = record.modelId;
      attempt.model = record.chosen ?? null;
      attempt.prompt = record.prompt;
      stepOf(attempt, record.at);
      return;
    case "content-segment":
      return attempt && addContent(attempt, record);
    case "call-started":
      return startCall(draft, attempt, record);
    case "step-finished":
      return attempt && finishStep(draft, attempt, record);
    default:
      return applyToCall(draft, record);
  }
}

/** The step that is open; a record after the end of one begins the next, when the last of its calls had settled. */
function stepOf(attempt: AttemptDraft, at: number): StepDraft {
  const last = attempt.steps.at(-1);
  if (last && last.finishedAt === null) return last;
  const settled = last?.calls.map(({ settledAt }) => settledAt ?? 0) ?? [];
  const startedAt = last ? Math.min(at, Math.max(last.finishedAt ?? 0, ...settled)) : at;
  const step: StepDraft = {
    step: (last?.step ?? -1) + 1,
    startedAt,
    firstContentAt: null,
    finishedAt: null,
    finishReason: null,
    model: null,
    usage: null,
    cancelled: [],
    cost: null,
    chunks: 0,
    calls: []
  };
  attempt.steps.push(step);
  return step;
}

/** What a model writes; other chunks open and close the stream. */
const CONTENT = /^\{\s*"type":\s*"(?:text-delta|reasoning-delta|tool-input|file|source)/;
/** What ends a step's calls: they belong to the step before. */
const OUTCOME = /^\{\s*"type":\s*"tool-output/;

function addContent(attempt: AttemptDraft, record: Extract<JournalRecord, { type: "content-segment" }>): void {
  const last = attempt.steps.at(-1);
  const isRest = last?.finishedAt !== null && !record.chunks.some((chunk) => CONTENT.test(chunk));
  // Chunks that close a finished step, or hold outcomes of its calls, begin no new one.
  if (last && isRest && record.chunks.some((chunk) => OUTCOME.test(chunk) || /"finish/.test(chunk))) return;
  const step = stepOf(attempt, record.at);
  step.chunks += record.chunks.length;
  if (record.chunks.some((chunk) => CONTENT.test(chunk))) step.firstContentAt ??= record.at;
}

function startCall(draft: Draft, attempt: AttemptDraft | undefined, record: CallStarted): void {
  if (!attempt || draft.calls.has(record.callId)) return;
  const { callId, toolName, executor, at, input } = record;
  const call: Mutable<CallTimeline> = {
    callId,
    toolName,
    executor,
    startedAt: at,
    settledAt: null,
    status: executor === "client" ? "waiting" : "running",
    input: shownText(input),
    output: null,
    approval: null
  };
  draft.calls.set(callId, call);
  stepOf(attempt, at).calls.push(call);
}

function finishStep(
  draft: Draft,
  attempt: AttemptDraft,
  { at, finishReason, usage, model, cancelled = [] }: Extract<JournalRecord, { type: "step-finished" }>
): void {
  const step = stepOf(attempt, at);
  step.finishedAt = at;
  step.finishReason = finishReason;
  step.model = model ?? null;
  step.usage = usage;
  step.cancelled = cancelled;
  draft.usage = addStepUsage(draft.usage, allUsage(usage, cancelled));
}

function applyToCall(draft: Draft, record: ReadableRecord): void {
  switch (record.type) {
    case "call-settled": {
      const call = draft.calls.get(record.callId);
      if (!call || call.settledAt !== null) return;
      call.settledAt = record.at;
      call.status = record.outcome.kind;
      call.output = outcomeText(record.outcome);
      return;
    }
    case "approval-asked": {
      const call = draft.calls.get(record.callId);
      if (!call || call.settledAt !== null) return;
      call.status = "waiting";
      call.approval = { approvalId: record.approvalId, askedAt: record.at, ...UNANSWERED };
      return;
    }
    case "approval-answered": {
      const call = draft.calls.get(record.callId);
      if (call?.approval?.approvalId !== record.approvalId) return;
      const { approved, reason, at, decidedBy } = record;
      call.approval = { ...call.approval, approved, reason, answeredAt: at, by: decidedBy ?? null };
      call.status = approved ? "running" : "denied";
      if (!approved) call.settledAt ??= at;
      return;
    }
    default:
      return;
  }
}

const UNANSWERED: Omit<ApprovalTimeline, "approvalId" | "askedAt"> = {
  answeredAt: null,
  approved: null,
  reason: null,
  by: null
};

function outcomeText(outcome: CallOutcome): ReturnType<typeof shownText> {
  switch (outcome.kind) {
    case "output":
      return shownText(outcome.output);
    case "error":
      return shownText(outcome.errorText);
    default:
      return shownText(outcome.reason ?? "");
  }
}

/** What a turn's history row keeps, with the calls of its stored answer in the last attempt. */
export function timelineOfHistory(history: TurnHistory, calls: readonly CallTimeline[]): RecordedTimeline {
  const last = history.attempts.length - 1;
  const attempts = history.attempts.map(({ kind, startedAt, endedAt, end, errorCode, retryAt }, index) => ({
    attempt: index + 1,
    kind,
    startedAt,
    endedAt,
    end,
    errorCode,
    retryAt,
    decision: index === 0 ? null : keptDecision(history.attempts[index - 1], kind),
    modelId: history.models.at(index === last ? -1 : 0) ?? null,
    model: null,
    nextModel: null,
    prompt: history.prompts.at(index === last ? -1 : 0) ?? null,
    steps: index === last ? stepsOfHistory(history, { startedAt, endedAt }, calls) : []
  }));
  const { turnId, requestId, trigger, outcome, reason, errorCode, admittedAt, startedAt, settledAt, usage } = history;
  return {
    turnId,
    requestId,
    trigger,
    channel: null,
    isContinuation: false,
    status: outcome satisfies InspectedTurnStatus,
    reason,
    error: errorCode === null ? null : { code: errorCode, message: null },
    admittedAt,
    startedAt,
    settledAt,
    inputMessageIds: history.inputMessageIds,
    messageId: history.messageId,
    queueMs: admittedAt === null || startedAt === null ? null : Math.max(0, startedAt - admittedAt),
    attempts,
    usage,
    grant: null,
    cancel: null,
    steering: []
  };
}

function keptDecision(previous: TurnHistory["attempts"][number] | undefined, kind: AttemptStarted["kind"]): string {
  const cause = previous?.end ? CAUSES[previous.end] : "The attempt before it ended";
  return `${cause}${previous?.errorCode ? ` (${previous.errorCode})` : ""}: ${ACTIONS[kind]}.`;
}

/** One for all of them: which step made which call is not kept. */
function stepsOfHistory(
  { steps, usage }: TurnHistory,
  { startedAt, endedAt }: { startedAt: number; endedAt: number | null },
  calls: readonly CallTimeline[]
): StepTimeline[] {
  if (steps === 0 && calls.length === 0) return [];
  return [
    {
      step: 0,
      startedAt,
      firstContentAt: null,
      finishedAt: endedAt,
      finishReason: steps > 1 ? `${steps} steps` : null,
      model: null,
      usage,
      cancelled: [],
      cost: null,
      chunks: 0,
      calls
    }
  ];
}

/** With decisions that came after the turn's records, and with names that its history keeps. */
export function withDecisions(
  timeline: RecordedTimeline,
  laterOf: (callId: string) => LaterDecision | undefined
): RecordedTimeline {
  const attempts = timeline.attempts.map((attempt) => ({
    ...attempt,
    steps: attempt.steps.map((step) => ({
      ...step,
      calls: step.calls.map((call) => decided(call, laterOf(call.callId)))
    }))
  }));
  return { ...timeline, attempts };
}

export interface LaterDecision {
  readonly decision?: DecidedApproval | undefined;
  /** The call as the stored answer has it now. */
  readonly stored?: CallTimeline | undefined;
  /** Who decided while the turn ran. */
  readonly decidedBy?: string | undefined;
  /** It was parked, and its decision is still open. */
  readonly isParked?: boolean;
}

function decided(call: CallTimeline, later: LaterDecision | undefined): CallTimeline {
  if (!later) return call;
  const { decision, stored, decidedBy, isParked } = later;
  // A parked action ends its call when it asks.
  const asked = call.approval ?? { approvalId: call.callId, askedAt: call.settledAt, ...UNANSWERED };
  if (isParked) return { ...call, status: "waiting", approval: asked };
  // The turn was over when it was decided: what became of the call is in the stored answer.
  const isLater = call.status === "waiting" && stored !== undefined && stored.status !== "waiting";
  const now = isLater ? { ...call, status: stored.status, output: stored.output } : call;
  if (!decision && (decidedBy === undefined || now.approval === null)) return now;
  return {
    ...now,
    approval: {
      ...asked,
      by: asked.by ?? decision?.by ?? decidedBy ?? null,
      approved: asked.approved ?? decision?.approved ?? null,
      reason: asked.reason ?? decision?.reason ?? null,
      answeredAt: asked.answeredAt ?? decision?.at ?? null
    }
  };
}
