// The pure decisions of the protocol, row by row.
import { describe, expect, test } from "vitest";
import { closingFrames, type ClosingFrames, type ClosingView } from "./closing.ts";
import { decideOverlap, type MessageConcurrency, type OverlapDecision } from "./submit.ts";
import {
  decideConnect,
  decideResume,
  type ConnectDecision,
  type ResumableTurn,
  type ResumeDecision,
  type ResumeState
} from "./resume.ts";

const chat: ResumableTurn = { requestId: "chat", isAutoContinuation: false, owner: "another" };
const mine: ResumableTurn = { requestId: "go-on", isAutoContinuation: true, owner: "asker" };
const theirs: ResumableTurn = { ...mine, owner: "another" };
const orphan: ResumableTurn = { ...mine, owner: "gone" };
const quiet: ResumeState = { streaming: undefined, waiting: undefined, failed: undefined };
const offer = (requestId: string): ResumeDecision => ({ answer: "resuming", requestId, withhold: true });
const report = (requestId: string): ResumeDecision => ({ answer: "resuming", requestId, withhold: false });
const pending = (requestId: string): ResumeDecision => ({ answer: "pending", requestId });
const owned: ResumeDecision = { answer: "none", reason: "continuation-owned" };
const idle: ResumeDecision = { answer: "none", reason: "idle" };

describe("a resume request is answered by the first that applies", () => {
  test.each<[string, Partial<ResumeState>, ResumeDecision]>([
    ["nothing at all", {}, idle],
    ["a stream", { streaming: chat }, offer("chat")],
    ["a stream before everything else", { streaming: chat, waiting: mine, failed: "f" }, offer("chat")],
    ["my continuation streams", { streaming: mine }, offer("go-on")],
    ["another's continuation streams", { streaming: theirs }, owned],
    ["a continuation streams whose owner left", { streaming: orphan }, offer("go-on")],
    ["my continuation waits", { waiting: mine, failed: "f" }, pending("go-on")],
    ["a continuation waits whose owner left", { waiting: orphan }, pending("go-on")],
    ["another's continuation waits", { waiting: theirs }, owned],
    ["another's continuation waits, and a turn failed", { waiting: theirs, failed: "f" }, report("f")],
    ["a failed turn", { failed: "f" }, report("f")],
    ["a failed turn before an accepted one", { failed: "f", waiting: chat }, report("f")],
    ["an accepted turn", { waiting: chat }, pending("chat")]
  ])("%s", (_name, state, expected) => {
    expect(decideResume({ ...quiet, ...state })).toEqual(expected);
  });
});

describe("a connect", () => {
  test.each<[string, Partial<ResumeState>, ConnectDecision]>([
    ["with nothing there gets the transcript", {}, { send: "snapshot", pending: undefined }],
    ["during a stream gets an offer instead", { streaming: chat }, { send: "offer", requestId: "chat" }],
    ["does not ask whose continuation streams", { streaming: theirs }, { send: "offer", requestId: "go-on" }],
    ["before a stream waits for it too", { waiting: chat }, { send: "snapshot", pending: "chat" }],
    ["does not wait for another's continuation", { waiting: theirs }, { send: "snapshot", pending: undefined }]
  ])("%s", (_name, state, expected) => {
    expect(decideConnect({ ...quiet, ...state })).toEqual(expected);
  });
});

describe("a submit", () => {
  const newest = (delayMs: number): OverlapDecision => ({ do: "run-if-newest", delayMs });
  test.each<[MessageConcurrency, boolean, OverlapDecision]>([
    ["queue", false, { do: "run" }],
    ["queue", true, { do: "run" }],
    ["latest", false, { do: "run" }],
    ["latest", true, newest(0)],
    ["merge", true, newest(0)],
    ["drop", false, { do: "run" }],
    ["drop", true, { do: "drop" }],
    [{ strategy: "debounce" }, false, { do: "run" }],
    [{ strategy: "debounce" }, true, newest(750)],
    [{ strategy: "debounce", debounceMs: 20 }, true, newest(20)],
    [{ strategy: "debounce", debounceMs: 0 }, true, newest(0)],
    [{ strategy: "debounce", debounceMs: -1 }, true, newest(750)],
    [{ strategy: "debounce", debounceMs: NaN }, true, newest(750)],
    [{ strategy: "debounce", debounceMs: Infinity }, true, newest(750)]
  ])("under %j while busy is %s", (policy, isBusy, expected) => {
    expect(decideOverlap(policy, { trigger: "submit-message", isBusy })).toEqual(expected);
    // Regenerations always queue.
    expect(decideOverlap(policy, { trigger: "regenerate-message", isBusy })).toEqual({ do: "run" });
  });
});

describe("behind the terminal frame a client is sent", () => {
  const followed: ClosingView = {
    streamed: true,
    status: "completed",
    continuation: false,
    branched: false,
    undisturbed: true,
    streamedId: "a1",
    storedId: "a1",
    followed: true,
    inSync: true
  };
  test.each<[string, Partial<ClosingView>, ClosingFrames]>([
    ["that followed an undisturbed answer", {}, "message"],
    ["that joined later", { followed: false }, "snapshot"],
    ["whose list is not known to be the stored one", { inSync: false }, "snapshot"],
    ["of a continuation", { continuation: true }, "snapshot"],
    ["of a regenerated or edited branch", { branched: true }, "snapshot"],
    ["of a turn during which something else happened", { undisturbed: false }, "snapshot"],
    ["of a turn that was stopped", { status: "aborted" }, "snapshot"],
    ["of a turn that failed", { status: "error" }, "snapshot"],
    ["of a turn that stored nothing", { storedId: undefined }, "snapshot"],
    ["of a turn stored under another id", { storedId: "a2" }, "snapshot"],
    ["of a turn whose start had no id", { streamedId: undefined }, "snapshot"],
    ["of a turn that never streamed", { streamed: false, storedId: undefined, status: "skipped" }, "nothing"],
    ["of a turn stopped before it streamed", { streamed: false, storedId: undefined, status: "aborted" }, "snapshot"],
    ["of a regeneration that never streamed", { streamed: false, storedId: undefined, branched: true }, "snapshot"],
    ["of a turn that stored without streaming", { streamed: false }, "snapshot"]
  ])("one %s: %j", (_name, view, expected) => {
    expect(closingFrames({ ...followed, ...view })).toBe(expected);
  });
});
