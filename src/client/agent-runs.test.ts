import { describe, expect, test } from "vitest";
import { MAX_RUNS, NO_RUNS, reduceRuns, shownRuns, type AgentRuns } from "./agent-runs.ts";
import { readFrame } from "./frames.ts";

const frame = (sequence: number, event: object, runId = "r") =>
  JSON.stringify({ type: "agent-tool-event", parentToolCallId: "c", sequence, event: { runId, ...event } });

function play(texts: readonly string[], runs: AgentRuns = NO_RUNS): AgentRuns {
  return texts.reduce((before, text) => {
    const read = readFrame(text);
    return read?.kind === "agent" && read.frame.type === "run" ? reduceRuns(before, read.frame) : before;
  }, runs);
}

const chunk = (value: object) => ({ kind: "chunk", body: JSON.stringify(value) });
const started = frame(0, { kind: "started", agentType: "Helper", order: 0, display: { name: "H" } });
const said = [
  frame(1, chunk({ type: "start", messageId: "m" })),
  frame(2, chunk({ type: "text-start", id: "t" })),
  frame(3, chunk({ type: "text-delta", id: "t", delta: "a" })),
  frame(4, chunk({ type: "text-delta", id: "t", delta: "b" }))
];
const finished = frame(5, { kind: "finished", summary: "ab" });
const textOf = (runs: AgentRuns) =>
  shownRuns(runs)[0]
    ?.message.parts.map((part) => (part.type === "text" ? part.text : ""))
    .join("");

describe("runs of sub-agents", () => {
  test("a run shows what it says, and how it ended", () => {
    const running = play([started, ...said]);
    expect(shownRuns(running)).toMatchObject([
      { runId: "r", agentType: "Helper", callId: "c", status: "running", display: { name: "H" } }
    ]);
    expect(textOf(running)).toBe("ab");
    expect(shownRuns(play([finished], running))).toMatchObject([{ status: "completed", summary: "ab" }]);
  });

  test("the same frames again, as a new connection gets them, change nothing", () => {
    const all = [started, ...said, finished];
    const once = play(all);
    expect(play(all, once)).toBe(once);
    // A run that is over is not running again.
    expect(shownRuns(play([started], once))[0]?.status).toBe("completed");
  });

  test("an interrupted run may be finished later: its end has a higher number", () => {
    const interrupted = play([
      started,
      frame(1, { kind: "interrupted", error: "silent", reason: "no-progress", childStillRunning: true })
    ]);
    expect(shownRuns(interrupted)).toMatchObject([{ status: "interrupted", error: "silent", childStillRunning: true }]);
    const repaired = play([frame(2, { kind: "finished", summary: "late" })], interrupted);
    expect(shownRuns(repaired)).toMatchObject([{ status: "completed", summary: "late", childStillRunning: false }]);
  });

  test("chunks of an unknown run, and frames that are none, are left out", () => {
    expect(play([...said, frame(1, { kind: "chunk", body: "{" }), frame(2, { kind: "other" })])).toBe(NO_RUNS);
    expect(readFrame('{"type":"agent-tool-event","sequence":"x"}')).toBeUndefined();
  });

  test("the number of runs is bounded", () => {
    const many = Array.from({ length: MAX_RUNS + 5 }, (_unused, index) =>
      frame(0, { kind: "started", agentType: "Helper" }, `r${index}`)
    );
    expect(shownRuns(play(many))).toHaveLength(MAX_RUNS);
  });
});
