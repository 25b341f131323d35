// The life of a turn as a state machine over the pure functions of production: what may be appended (open-turns), the fold
// of a turn, and what the runner decides. The machine adds what they leave to others: a process that dies between any two
// records, a model that writes text and calls a tool, a person who cancels, and an attempt that was overtaken and still writes.
import { advance, type OpenTurnFields } from "../../src/journal/open-turns.ts";
import { openCall } from "../../src/journal/folds/calls-fold.ts";
import { emptyTurn, foldTurnEntry, type TurnFold } from "../../src/journal/folds/turn-fold.ts";
import {
  admitted,
  call,
  delta,
  segment,
  settled,
  settledCall,
  started,
  T1
} from "../../src/journal/record-samples.test-support.ts";
import type { JournalRecord } from "../../src/journal/records.ts";
import { decideRead, decideUnread, type Circumstances, type Progress } from "../../src/turn/decide.ts";
import { ThinkError } from "../../src/util/errors.ts";
import type { Machine, Step } from "./explore.ts";

/** What production brings, and what a test may break. */
export interface TurnRules {
  readonly advance: typeof advance;
  readonly fold: typeof foldTurnEntry;
  readonly decideUnread: typeof decideUnread;
  readonly decideRead: typeof decideRead;
  /** Calls that were cut off are settled before the turn goes on. */
  readonly closesCalls: boolean;
  /** The record of a call is written before it runs. */
  readonly recordsFirst: boolean;
}

export const TURN_RULES: TurnRules = {
  advance,
  fold: foldTurnEntry,
  decideUnread,
  decideRead,
  closesCalls: true,
  recordsFirst: true
};

interface TurnState {
  readonly fields: OpenTurnFields;
  readonly fold: TurnFold;
  readonly sequence: number;
  readonly isAdmitted: boolean;
  /** 0: no process. Another number for each. */
  readonly process: number;
  readonly starts: number;
  /** The attempt this process runs, if any, and whether it has begun to. */
  readonly runs: number;
  readonly isUntried: boolean;
  /** The model has said all of it. */
  readonly isFinished: boolean;
  /** Times the tool had its effect, by call. */
  readonly effects: Readonly<Record<string, number>>;
}

const CALLS = ["c1", "c2"] as const;
const STARTS = 4;
const POLICY = {
  enabled: true,
  maxAttempts: 3,
  noProgressTimeoutMs: 1e9,
  maxRecoveryWork: 1e9,
  maxInterruptedAttempts: 3
};

export function turnMachine(rules: TurnRules = TURN_RULES): Machine<TurnState> {
  const append = (state: TurnState, record: JournalRecord): TurnState | undefined => {
    const sequence = state.sequence + 1;
    const place = { sequence, foldOf: () => state.fold, isRecorded: () => state.isAdmitted };
    try {
      const fields = { ...state.fields, ...rules.advance(state.fields, record, place) };
      return { ...state, fields, sequence, fold: rules.fold(state.fold, { sequence, record }) };
    } catch (error) {
      if (error instanceof ThinkError) return undefined;
      throw error;
    }
  };
  const settle = (state: TurnState, attempt: number | null, outcome: "completed" | "aborted" | "failed") => {
    const ended = append(closed(state), settled({ attempt, outcome, messageStored: outcome === "completed" }));
    return ended && { ...ended, runs: 0 };
  };
  const closed = (state: TurnState): TurnState => {
    if (!rules.closesCalls) return state;
    const cutOff = [...state.fold.calls.values()].filter((one) => openCall(one) === "cut-off");
    return cutOff.reduce<TurnState>(
      (before, { callId }) => append(before, settledCall(callId, { kind: "unknown", reason: "interrupted" })) ?? before,
      state
    );
  };
  const begin = (state: TurnState) => {
    const attempt = state.fold.attempt + 1;
    const before = closed(state);
    const begun = append(before, started(attempt, before.fold.nextChunk));
    return begun && { ...begun, runs: attempt, isUntried: true };
  };
  /** One look of the runner at a turn that no attempt of its process runs. */
  const advanced = (state: TurnState): TurnState | undefined => {
    const { fold, fields } = state;
    const isCleared = fields.generation > (fold.admission?.generation ?? 0);
    const known: Circumstances = {
      refused: isCleared ? "cleared" : fold.cancel ? "cancelled" : undefined,
      isUntried: false,
      nowMs: 2_000,
      policy: POLICY,
      epoch: `process ${state.process}`,
      awaitsOutcome: false,
      isSteered: false
    };
    const unread = rules.decideUnread(fold, known);
    if (unread.do === "start") return begin(state);
    if (unread.do === "note-death") return append(state, interrupted(fold.attempt));
    if (unread.do === "settle") return settle(state, null, "aborted");
    if (unread.do === "give-up") return settle(state, null, "failed");
    const progress: Progress = state.isFinished ? "finished" : fold.nextChunk > 0 ? "partial" : "nothing";
    const read = rules.decideRead(fold, progress, known);
    if (read.do === "complete") return settle(state, null, "completed");
    if (read.do === "settle") return settle(state, null, "aborted");
    return read.do === "give-up" ? settle(state, null, "failed") : begin(state);
  };
  /** What an attempt may do next. An overtaken one tries the same. */
  function* attempted(state: TurnState, attempt: number): Generator<Step<TurnState> | undefined> {
    const isOwn = attempt === state.runs;
    const who = isOwn ? "" : `overtaken attempt ${attempt} `;
    const step = (name: string, to: TurnState | undefined) =>
      to && { name: `${who}${name}`, to: { ...to, isUntried: false }, ...(!isOwn && { isDisturbance: true }) };
    const { calls, nextChunk } = state.fold;
    if (nextChunk === 0) yield step("text", append(state, segment(attempt, nextChunk, [delta("a")])));
    for (const name of CALLS) {
      const known = [...calls.values()].find(({ callId }) => callId === name);
      const begun = rules.recordsFirst ? append(state, call(name, { attempt })) : state;
      if (!known && begun) yield step(`${name} starts`, ranOnce(begun, name));
      const isRunning = known && openCall(known) === "cut-off" && isOwn;
      if (isRunning)
        yield step(`${name} ends`, append(state, settledCall(name, { kind: "output", output: 1 }, { attempt })));
    }
    const isBusy = [...calls.values()].some((one) => openCall(one) !== undefined);
    if (isOwn && !isBusy && nextChunk > 0) yield step("finishes", { ...state, isFinished: true });
    if (isOwn && state.isFinished) yield step("settles", settle(state, attempt, "completed"));
    if (isOwn && state.fold.cancel) yield step("is aborted", settle(state, attempt, "aborted"));
    if (!isOwn) yield step("settles", append(state, settled({ attempt })));
  }
  return {
    initial: {
      fields: { generation: 0, openTurns: [], respondingTurns: [], clearedSequence: 0 },
      fold: emptyTurn(T1),
      sequence: 0,
      isAdmitted: false,
      process: 1,
      starts: 1,
      runs: 0,
      isUntried: false,
      isFinished: false,
      effects: {}
    },
    *steps(state) {
      const { process, runs, fold, fields, starts, isAdmitted } = state;
      if (process === 0) {
        yield {
          name: "start of a process",
          to: { ...state, process: starts + 1, starts: starts + 1, runs: 0, isUntried: false }
        };
        return;
      }
      if (starts < STARTS) yield { name: "crash", isDisturbance: true, to: { ...state, process: 0, runs: 0 } };
      const asked = isAdmitted ? undefined : append(state, admitted());
      if (asked) yield { name: "question", to: { ...asked, isAdmitted: true } };
      if (!isAdmitted) return;
      const cancelled = fold.cancel
        ? undefined
        : append(state, { type: "turn-cancel-requested", turnId: T1, at: 1, reason: null });
      if (cancelled) yield { name: "cancel", isDisturbance: true, to: cancelled };
      const cleared =
        fields.generation > 0
          ? undefined
          : append(state, { type: "conversation-cleared", turnId: null, at: 1, generation: 1 });
      if (cleared) yield { name: "clear", isDisturbance: true, to: cleared };
      if (runs === 0 && fields.openTurns.length > 0) {
        const next = advanced(state);
        if (next) yield { name: "runner", to: next };
      }
      for (const attempt of [runs, ...(runs > 1 ? [runs - 1] : [])].filter((one) => one > 0)) {
        for (const step of attempted(state, attempt)) if (step) yield step;
      }
    },
    check(after, before, name) {
      const again = Object.entries(after.effects).find(([, count]) => count > 1);
      if (again) return `"${again[0]}" ran ${again[1]} times`;
      if (before.fold.outcome && after.fold.outcome !== before.fold.outcome) return "an outcome changed";
      if (before.fold.outcome && after.sequence > before.sequence && !name.includes("clear"))
        return "a settled turn was written to";
      if (name.startsWith("overtaken") && after.sequence > before.sequence) return "an overtaken attempt has written";
      if (before.fold.cancel && after.fold.attempt > before.fold.attempt) return "a cancelled turn was tried again";
      if (after.fold.attempt > POLICY.maxInterruptedAttempts) return "more attempts than allowed";
      const isLeft = after.fold.outcome && [...after.fold.calls.values()].some((one) => openCall(one) !== undefined);
      if (isLeft) return "a call is left open by a turn that is over";
      for (const [id, { outcome }] of before.fold.calls) {
        if (outcome && after.fold.calls.get(id)?.outcome !== outcome) return "the outcome of a call changed";
      }
      return undefined;
    },
    isAtRest: ({ fields, isAdmitted, process }) => isAdmitted && process > 0 && fields.openTurns.length === 0
  };
}

function ranOnce(state: TurnState, name: string): TurnState {
  return { ...state, effects: { ...state.effects, [name]: (state.effects[name] ?? 0) + 1 } };
}

function interrupted(attempt: number): JournalRecord {
  return { type: "attempt-ended", turnId: T1, at: 1_500, attempt, reason: "interrupted", error: null, retryAt: null };
}
