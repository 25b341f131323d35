import { expect, test } from "vitest";
import { compareRuns } from "./checks.ts";
import type { Disturbance } from "./disturbance.ts";
import { ConversationError } from "./errors.ts";
import type { PlayedRun } from "./run.ts";

const message = (text: string) => ({ role: "assistant", parts: [{ kind: "text", text }] }) as const;
const called = {
  role: "assistant",
  parts: [{ kind: "tool", name: "pay", state: "output-available", input: {} }]
} as const;

const GOOD: PlayedRun = {
  steps: [
    { name: "ask", messages: [message("one")], ids: ["a"] },
    { name: "pay", messages: [message("one"), called], ids: ["a", "b"] }
  ],
  turns: [["completed"], ["completed"]],
  effects: { pay: 1, mail: 2 },
  interrupted: [],
  viewProblems: [],
  streamProblems: [],
  repeatedEnds: [],
  historyProblems: [],
  openTurns: 0,
  hasAlarm: false,
  deaths: 1,
  error: undefined,
  counts: { writes: 1, awaits: 1, frames: 1, boundaries: 1 }
};
const KILLED: Disturbance = { mode: "after-write", point: "write 1", mustStrike: true };
const FAILED = { turns: [["completed"], ["failed"]] };
const CUT_OFF = { interrupted: [{ callId: "c", tool: "pay" }] };

const found = (change: Partial<PlayedRun>, disturbance = KILLED) =>
  compareRuns(GOOD, { ...GOOD, ...change }, disturbance).map(({ check }) => check);

test("equal runs have no differences", () => {
  expect(found({})).toEqual([]);
});

test.each<[string, Partial<PlayedRun>, string[]]>([
  ["an end that never came", { error: new Error("stuck") }, ["finished"]],
  ["a point that was not reached", { deaths: 0 }, ["struck"]],
  ["other messages", { steps: [{ name: "ask", messages: [message("two")], ids: [] }] }, ["messages"]],
  ["a message too many", { steps: [{ name: "ask", messages: [message("one"), message("x")], ids: [] }] }, ["messages"]],
  ["a tab that shows something else", { viewProblems: ["tab 1"] }, ["clients"]],
  ["a stream that said something else", { streamProblems: ["stream"] }, ["streams"]],
  ["a turn with two outcomes", { turns: [["completed", "failed"], ["completed"]] }, ["one outcome"]],
  ["a turn without its history", { historyProblems: ["turn t has no history"] }, ["history"]],
  ["a turn with another outcome", FAILED, ["outcomes"]],
  ["a turn that is missing", { turns: [["completed"]] }, ["outcomes"]],
  ["an end told twice", { repeatedEnds: ["r"] }, ["ends"]],
  ["an effect too often", { effects: { pay: 2, mail: 2 } }, ["effects"]],
  ["an effect that did not happen", { effects: { mail: 2 } }, ["effects"]],
  ["a new effect", { effects: { pay: 1, mail: 2, shred: 1 } }, ["effects"]],
  ["an open turn", { openTurns: 1 }, ["rests"]],
  ["an alarm", { hasAlarm: true }, ["rests"]]
])("%s is reported", (_name, change, checks) => {
  expect(found(change)).toEqual(checks);
});

test("a call that was cut off may have happened or not, and no other effect is excused by it", () => {
  expect(found({ ...CUT_OFF, effects: { pay: 0, mail: 2 } })).toEqual([]);
  expect(found({ ...CUT_OFF, effects: { pay: 1, mail: 2 } })).toEqual([]);
  expect(found({ ...CUT_OFF, effects: { pay: 2, mail: 2 } })).toEqual(["effects"]);
  // Not named after a tool: the call that was cut off may have caused it.
  expect(found({ ...CUT_OFF, effects: { pay: 1, mail: 1 } })).toEqual([]);
  expect(found({ ...CUT_OFF, effects: { pay: 1, mail: 0 } })).toEqual(["effects"]);
});

test("a call that was cut off before it asked for approval leaves one turn out, which no other outcome takes the place of", () => {
  expect(found({ ...CUT_OFF, turns: [["completed"]] })).toEqual([]);
  expect(found({ ...CUT_OFF, turns: [["failed"]] })).toEqual(["outcomes"]);
  expect(found({ ...CUT_OFF, turns: [] })).toEqual(["outcomes"]);
  expect(found({ ...CUT_OFF, turns: [["completed"], ["completed"], ["completed"]] })).toEqual(["outcomes"]);
});

test("where the agent may give up, a failed turn excuses what it did not do, and nothing done twice", () => {
  const storm: Disturbance = { mode: "restart-storm", point: "x", mayGiveUp: true };
  const gaveUp = { ...FAILED, steps: [], effects: { mail: 1 }, error: new ConversationError("nothing to answer") };
  expect(found(gaveUp, storm)).toEqual([]);
  expect(found({ ...gaveUp, effects: { mail: 3 } }, storm)).toEqual(["effects"]);
  expect(found({ ...gaveUp, turns: [["failed", "failed"]] }, storm)).toEqual(["one outcome"]);
  expect(found({ steps: [{ name: "ask", messages: [], ids: [] }] }, storm)).toEqual(["messages"]);
});

test("an answer that always kills the process must be given up", () => {
  const deadly: Disturbance = { mode: "deadly-answer", point: "x", mayGiveUp: true };
  expect(found({ ...FAILED, deaths: 5 }, deadly)).toEqual([]);
  expect(found({ ...FAILED, deaths: 50 }, deadly)).toEqual(["gave up"]);
});
