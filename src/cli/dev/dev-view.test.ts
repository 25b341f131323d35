// The terminal view of `everthink dev`: from what is known to what is drawn, and from news to what is known.
import { describe, expect, test } from "vitest";
import type { TurnSummary, TurnTimeline } from "../../features/inspection/index.ts";
import { paintFor } from "../terminal/paint.ts";
import { textWidth } from "../terminal/styled-text.ts";
import { endedLine, liveLines } from "./dev-lines.ts";
import {
  FIRST_STATE,
  isShown,
  nextLevel,
  openTurns,
  turnOf,
  withLogLine,
  withTurns,
  type DevState
} from "./dev-state.ts";
import { levelOf } from "../logs/log-file.ts";

const NOW = 1_000_000;
const look = { width: 100, paint: paintFor(false), now: NOW };

const summary = (more: Partial<TurnSummary> = {}): TurnSummary => ({
  turnId: "t1",
  position: 1,
  requestId: "r1",
  trigger: "chat",
  status: "running",
  reason: null,
  errorCode: null,
  admittedAt: NOW - 5_000,
  startedAt: NOW - 4_000,
  settledAt: null,
  attempts: 1,
  deaths: 0,
  steps: 1,
  calls: 1,
  usage: { inputTokens: 1_000, outputTokens: 204, totalTokens: 1_204, reasoningTokens: null, cachedInputTokens: null },
  cost: { amount: 0.0123, currency: "USD" },
  models: ["gpt-5"],
  question: "Compare the prices of the last ten years.",
  answer: null,
  ...more
});

/** What the view reads of it. */
const timeline = (attempt: object): TurnTimeline => ({ attempts: [attempt] }) as never;
const calling = (status: string) =>
  timeline({ attempt: 1, retryAt: null, steps: [{ calls: [{ toolName: "search", status }] }] });

const at = "assistant/ada";
const running: DevState = {
  ...FIRST_STATE,
  origin: "http://localhost:5173",
  agents: 2
};
const stateWith = (...turns: ReturnType<typeof turnOf>[]) => withTurns(running, turns).state;

describe("what is drawn", () => {
  test("before the server listens, and with nothing to do", () => {
    expect(liveLines(FIRST_STATE, look)[0]).toBe("everthink  starting …  Studio: press s  0 agents");
    expect(liveLines({ ...running, studio: "http://127.0.0.1:4321/", level: "error" }, look)).toEqual([
      "everthink  http://localhost:5173/  Studio: http://127.0.0.1:4321/  2 agents",
      "o open  s Studio  c chat  l log: errors  r restart  q quit  ? help"
    ]);
  });

  test.each<[what: string, turn: ReturnType<typeof turnOf>, lines: string[]]>([
    [
      "a turn whose tool runs",
      turnOf(at, summary(), calling("running")),
      ["● assistant/ada  step 2 · search · 1,204 tokens · $0.01 · 4.0 s  “Compare the prices of the last te…"]
    ],
    [
      "one that waits for a person",
      turnOf(at, summary({ status: "waiting", question: null }), calling("waiting")),
      ["○ assistant/ada  waits for a person: search · 1,204 tokens · $0.01 · 4.0 s"]
    ],
    [
      "one that is queued",
      turnOf(at, summary({ status: "queued", startedAt: null, steps: 0, cost: null, question: "Hi", usage: none() })),
      ["○ assistant/ada  waits for the turn before it · 5.0 s  “Hi”"]
    ],
    [
      "one whose model is asked again",
      turnOf(at, summary({ question: "Hi" }), timeline({ attempt: 1, retryAt: NOW + 20_000, steps: [] })),
      ["● assistant/ada  step 2 · 1,204 tokens · $0.01 · 4.0 s  “Hi”", "  the model is asked again in 20 s, attempt 2"]
    ]
  ])("%s", (_what, turn, lines) => {
    expect(liveLines(stateWith(turn), look).slice(1, -1)).toEqual(lines);
  });

  test("of how many attempts it is, as the log says", () => {
    const turn = turnOf(at, summary({ question: "Hi" }), timeline({ attempt: 1, retryAt: NOW + 20_000, steps: [] }));
    const line = 'Assistant "ada": the model is asked again in 20 s, attempt 2 of 5 (request r1): 429';
    const told = withLogLine(stateWith(turn), line, NOW);
    expect(liveLines(told, look)).toContain("  the model is asked again in 20 s, attempt 2 of 5");
    // The next look at the agent does not know it, and does not take it away.
    expect(liveLines(withTurns(told, [turn]).state, look)).toContain(
      "  the model is asked again in 20 s, attempt 2 of 5"
    );
    expect(withLogLine(running, line, NOW)).toBe(running);
  });

  test.each<[what: string, more: Partial<TurnSummary>, line: RegExp]>([
    [
      "completed",
      { status: "completed" },
      /^\d\d:\d\d:\d\d ✓ assistant\/ada {2}1 step · 1 call · 1,204 tokens · \$0\.01 · 3\.0 s {2}“Hi”$/
    ],
    [
      "failed",
      { status: "failed", reason: "model-call-failed" },
      /✗ assistant\/ada {2}failed: model-call-failed · 1 step/
    ],
    ["after deaths", { status: "completed", deaths: 2 }, /survived 2 deaths/],
    ["cheap", { status: "completed", cost: { amount: 0.000_123, currency: "EUR" } }, /0\.00012 EUR/]
  ])("a turn that has ended: %s", (_what, more, line) => {
    const turn = turnOf(at, summary({ settledAt: NOW - 1_000, question: "Hi", ...more }));
    expect(endedLine(turn, look)).toMatch(line);
  });

  test("eight turns, and the number of the others; no line is wider than the terminal", () => {
    const turns = Array.from({ length: 10 }, (_, index) =>
      turnOf(`assistant/${"a".repeat(index * 10)}`, summary({ turnId: `t${index}`, question: "word ".repeat(30) }))
    );
    const lines = liveLines(stateWith(...turns), { ...look, width: 40 });
    expect(lines).toHaveLength(11);
    expect(lines.at(-2)).toBe("  and 2 more");
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(40);
  });

  test("what a model or a person wrote moves no cursor", () => {
    const turn = turnOf("assistant/a\u001b[2J", summary({ question: "\u001b]0;x\u0007\nline" }), calling("running"));
    // oxlint-disable-next-line no-control-regex
    expect(liveLines(stateWith(turn), look).join("")).not.toMatch(/[\u0000-\u001f]/);
  });
});

describe("what is known", () => {
  test("a turn that has ended is told once, and stays ended", () => {
    const open = turnOf(at, summary());
    const done = turnOf(at, summary({ status: "completed", settledAt: NOW }));
    const first = withTurns(running, [open]);
    expect([first.ended, openTurns(first.state)]).toEqual([[], [open]]);
    const second = withTurns(first.state, [done]);
    expect([second.ended, openTurns(second.state)]).toEqual([[done], []]);
    const third = withTurns(second.state, [done, open]);
    expect([third.ended, openTurns(third.state)]).toEqual([[], []]);
  });

  test("ended turns are forgotten past a limit", () => {
    const many = Array.from({ length: 600 }, (_, index) =>
      turnOf(at, summary({ turnId: `t${index}`, status: "completed", settledAt: NOW }))
    );
    expect(withTurns(running, many).state.turns.size).toBe(500);
  });

  test.each<[line: string, stream: "stdout" | "stderr", level: string]>([
    ["  ➜  Local:   http://localhost:5173/", "stdout", "info"],
    ["[vite] program reload", "stderr", "warn"],
    ["▲ [WARNING] x", "stdout", "warn"],
    ['Assistant "ada": a turn failed at stage "stream"', "stdout", "error"],
    ["✘ [ERROR] x", "stderr", "error"]
  ])("%s is of its level", (line, stream, level) => {
    expect(levelOf(line, stream)).toBe(level);
  });

  test("each press of l shows fewer lines, and the third all again", () => {
    expect([nextLevel("info"), nextLevel("warn"), nextLevel("error")]).toEqual(["warn", "error", "info"]);
    expect([isShown("info", "info"), isShown("info", "warn"), isShown("error", "warn")]).toEqual([true, false, true]);
  });
});

function none(): TurnSummary["usage"] {
  return { inputTokens: null, outputTokens: null, totalTokens: null, reasoningTokens: null, cachedInputTokens: null };
}
