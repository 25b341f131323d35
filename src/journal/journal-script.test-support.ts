// Random histories for property tests: a list of moves, each tried through the writer. Most moves bring what they need
// (an admission, an attempt); some do not and are refused, which is part of the game. So what ends up stored is always a
// history that could really happen, and `journal-script.test.ts` sees to it that it is not an empty one.
import fc from "fast-check";
import { ThinkError } from "../util/errors.ts";
import { approvalId, callId, turnId, type TurnId } from "../util/ids.ts";
import { Crash, openTurn, type TestJournal } from "./memory-sql.test-support.ts";
import {
  admitted,
  call,
  delta,
  SAMPLES,
  segment,
  settled,
  settledCall,
  started
} from "./record-samples.test-support.ts";
import type { CallOutcome, JournalRecord, SequencedRecord } from "./records.ts";

export interface Move {
  kind: (typeof KINDS)[number];
  turn: number;
  call: number;
  size: number;
  flag: boolean;
}

const KINDS = [
  ...["admit", "start", "content", "content", "content", "call", "call", "settle-call", "ask", "answer"],
  ...["step", "cancel", "end", "recover", "stash", "settle", "respond", "clear"]
] as const;

/** Moves only a running attempt can make. */
const OF_AN_ATTEMPT: readonly Move["kind"][] = ["content", "call", "ask", "step", "end", "stash"];
/** Moves that open something themselves, and need nothing. */
const OPENING: readonly Move["kind"][] = ["admit", "clear"];
/** Moves of this size come unprepared; clears of any other size do not happen, or nothing would last. */
const UNPREPARED = 4;

export const moves = fc.array(
  fc.record<Move>({
    kind: fc.constantFrom(...KINDS),
    turn: fc.nat(2),
    call: fc.nat(2),
    size: fc.integer({ min: 1, max: 4 }),
    flag: fc.boolean()
  }),
  { minLength: 5, maxLength: 50, size: "max" }
);

/** What each move writes, given where its turn is. Several records in one append are one transaction. */
export function recordsOf(journal: TestJournal, move: Move, at: number): JournalRecord[] {
  const { generation } = journal.conversation.row;
  const turn = turnId(`turn-${move.turn}-${generation}`);
  const open = openTurn(journal, turn);
  const isKnown = turnsIn(allEntries(journal, true)).includes(turn);
  // Ids are minted once: a settled turn's never comes back.
  if (move.kind === "admit" && isKnown && !open) return [];
  const fold = open && journal.folds.get(turn);
  const firstChunk = fold?.nextChunk ?? 0;
  const situation = { move, turn, attempt: fold?.attempt ?? 0, firstChunk, generation, at };
  if (move.size === UNPREPARED || OPENING.includes(move.kind)) return moveRecords(situation);
  const prelude: JournalRecord[] = isKnown ? [] : moveRecords({ ...situation, move: { ...move, kind: "admit" } });
  if (OF_AN_ATTEMPT.includes(move.kind) && fold?.attempts.at(-1)?.end !== null) {
    prelude.push(...moveRecords({ ...situation, move: { ...move, kind: "start" } }));
    situation.attempt += 1;
  }
  return [...prelude, ...moveRecords(situation)];
}

function moveRecords(situation: Situation): JournalRecord[] {
  const { move, turn, attempt, firstChunk, generation, at } = situation;
  const of = <R extends JournalRecord>(record: R) => ({ ...record, turnId: turn, at });
  const name = `call-${move.call}`;
  switch (move.kind) {
    case "admit":
      return [{ ...admitted(turn, { generation }), at }];
    case "start":
      return [of(started(attempt + 1, firstChunk, { keeps: move.flag ? firstChunk : 0 }))];
    case "content":
      return [
        of(
          segment(
            attempt,
            firstChunk,
            Array.from({ length: move.size }, (_, i) => delta(`${firstChunk + i}`))
          )
        )
      ];
    case "call":
      return [of(call(name, { attempt, executor: move.flag ? "client" : "server" }))];
    case "settle-call":
      return [of(settledCall(name, OUTCOMES[move.size - 1] ?? OUTCOMES[0]))];
    case "ask":
      return [of({ ...SAMPLES["approval-asked"], attempt, callId: callId(name), approvalId: approvalId(name) })];
    case "answer":
      return [
        of({ ...SAMPLES["approval-answered"], callId: callId(name), approvalId: approvalId(name), approved: move.flag })
      ];
    case "step":
      return [of({ ...SAMPLES["step-finished"], attempt })];
    default:
      return otherRecords(situation);
  }
}

interface Situation {
  move: Move;
  turn: TurnId;
  attempt: number;
  firstChunk: number;
  generation: number;
  at: number;
}

function otherRecords({ move, turn, attempt, generation, at }: Situation): JournalRecord[] {
  const of = <R extends JournalRecord>(record: R) => ({ ...record, turnId: turn, at });
  switch (move.kind) {
    case "cancel":
      return [of(SAMPLES["turn-cancel-requested"])];
    case "end":
      return [of({ ...SAMPLES["attempt-ended"], attempt })];
    case "stash":
      return [of({ ...SAMPLES["turn-stashed"], attempt, data: move.size })];
    case "recover":
      return [of(SAMPLES["recovery-started"])];
    case "settle":
      return [of(settled({ responds: move.flag, attempt: null }))];
    case "respond":
      return [of(SAMPLES["turn-responded"])];
    default:
      return move.size === UNPREPARED ? [{ ...SAMPLES["conversation-cleared"], at, generation: generation + 1 }] : [];
  }
}

const OUTCOMES: readonly [CallOutcome, ...CallOutcome[]] = [
  { kind: "output", output: "done" },
  { kind: "error", errorText: "failed" },
  { kind: "denied", reason: null },
  { kind: "unknown", reason: "restart" }
];

/** Plays the moves; what is refused changes nothing. */
export function play(journal: TestJournal, script: readonly Move[]): void {
  script.forEach((move, index) => {
    try {
      journal.writer.append(recordsOf(journal, move, 1000 + index));
    } catch (error) {
      if (error instanceof Crash || !(error instanceof ThinkError)) throw error;
    }
  });
}

export function allEntries(journal: TestJournal, outline = false): SequencedRecord[] {
  return [...journal.reader.pages({ outline })].flatMap((page) => {
    if (page.corrupt.length > 0) throw new Error(`unreadable: ${page.corrupt[0]?.reason}`);
    return [...page.entries];
  });
}

export function turnsIn(entries: readonly SequencedRecord[]): TurnId[] {
  return [...new Set(entries.map(({ record }) => record.turnId))].filter((turn) => turn !== null);
}

/** The turns without an outcome, in the order of their admission. */
export function openIn(entries: readonly SequencedRecord[]): TurnId[] {
  const settledTurns = new Set(
    entries.flatMap(({ record }) => (record.type === "turn-settled" ? [record.turnId] : []))
  );
  return entries.flatMap(({ record }) =>
    record.type === "turn-admitted" && !settledTurns.has(record.turnId) ? [record.turnId] : []
  );
}
