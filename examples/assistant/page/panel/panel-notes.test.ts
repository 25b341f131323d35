// What the panel keeps of the agent's notes, and which records of the journal tell of a recovery.
import { expect, test } from "vitest";
import type { PanelNote } from "../../shared/demo.ts";
import { hasSeenTurn, NO_NOTES, readNote, withNote } from "./panel-notes.ts";
import { recoveryPositions } from "./recovery-records.ts";

let made = 0;
const note = (name: string, usage?: PanelNote["usage"]): PanelNote => ({
  type: "panel",
  id: `note ${(made += 1)}`,
  at: 1,
  kind: "hook",
  name,
  detail: "",
  ...(usage && { usage })
});

test("tokens are summed over the page's life and per turn", () => {
  const usage = { inputTokens: 10, outputTokens: 3 };
  const told = [note("beforeTurn"), note("onStepFinish", usage), note("beforeTurn"), note("onStepFinish", usage)];
  const list = told.reduce(withNote, NO_NOTES);
  expect(list.total).toEqual({ input: 20, output: 6 });
  expect(list.lastTurn).toEqual({ input: 10, output: 3 });
});

test("a turn is seen when it begins, and also when only its tokens were told", () => {
  expect(hasSeenTurn(withNote(NO_NOTES, note("connection:lost")))).toBe(false);
  expect(hasSeenTurn(withNote(NO_NOTES, note("beforeTurn")))).toBe(true);
  expect(hasSeenTurn(withNote(NO_NOTES, note("onStepFinish", { inputTokens: 1, outputTokens: 0 })))).toBe(true);
});

test("old notes go, newest come first, and each keeps its number", () => {
  const list = Array.from({ length: 450 }, () => note("beforeStep")).reduce(withNote, NO_NOTES);
  expect(list.notes.length).toBe(200);
  expect(list.notes[0]?.number).toBe(450);
});

test("a note that is told again after a reconnect is listed and counted once", () => {
  const again = note("onStepFinish", { inputTokens: 10, outputTokens: 3 });
  const list = [again, note("beforeTurn"), again].reduce(withNote, NO_NOTES);
  expect([list.notes.length, list.total.input]).toEqual([2, 10]);
});

test("text that is no note is left to others", () => {
  for (const text of ["hello", "null", '{"type":"other"}', '{"type":"panel"}']) expect(readNote(text)).toBeUndefined();
  expect(readNote(JSON.stringify(note("beforeTurn")))?.name).toBe("beforeTurn");
});

test("an attempt that took over stands out with the one that ended, a first attempt does not", () => {
  const types = ["attempt-started", "content-segment", "attempt-ended", "attempt-started", "turn-settled"];
  const oldestFirst = types.map((type, index) => ({ position: index + 1, type, at: 0, sizeBytes: 1, turnId: "t" }));
  expect([...recoveryPositions(oldestFirst.toReversed())].toSorted()).toEqual([3, 4]);
});
