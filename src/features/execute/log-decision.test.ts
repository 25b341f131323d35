// What becomes of a call, as a table over everything the log can hold, and as properties over all of it.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { UnknownOutcome } from "./connector.ts";
import type { ExecutionStatus, LogEntry, LogState } from "./execution-store.ts";
import { decideCall, type LoggedStep, type LoggedCall } from "./log-decision.ts";

const ENTRY: LogEntry = {
  seq: 0,
  connector: "tools",
  method: "pay",
  args: '{"n":1}',
  result: null,
  requiresApproval: false,
  isEphemeral: false,
  state: "executing",
  order: null,
  editedArgs: null,
  decidedBy: null,
  mayHaveRun: false,
  askedAgain: 0
};

const call = (entry: Partial<LogEntry> | undefined, given: Partial<LoggedCall> = {}): LoggedCall => ({
  status: "running",
  isSameBatch: false,
  entry: entry && { ...ENTRY, ...entry },
  connector: "tools",
  method: "pay",
  args: '{"n":1}',
  onUnknownOutcome: undefined,
  ...given
});

describe("a call of a run that goes on", () => {
  const rows: [string, LoggedCall, LoggedStep][] = [
    ["that is made for the first time begins", call(undefined), { do: "begin" }],
    [
      "that has a result is answered with it",
      call({ state: "applied", result: "7", order: 3 }),
      { do: "replay", result: "7", order: 3 }
    ],
    [
      "that only reads is made again, in its place",
      call({ state: "applied", isEphemeral: true, order: 2 }),
      { do: "read-again", order: 2 }
    ],
    [
      "that failed fails again",
      call({ state: "failed", result: '{"name":"E"}', order: 1 }),
      { do: "rethrow", error: '{"name":"E"}', order: 1 }
    ],
    ["that waits waits on", call({ state: "pending", requiresApproval: true }), { do: "wait", isAskedAgain: false }],
    ["that was approved is made", call({ state: "approved", requiresApproval: true }), { do: "run" }],
    ["that was rejected or undone is not made", call({ state: "reverted" }), { do: "refuse" }],
    ["whose result could not be recorded is not made", call({ state: "error" }), { do: "refuse" }]
  ];
  test.each(rows)("%s", (_name, given, decision) => {
    expect(decideCall(given)).toEqual(decision);
  });
});

describe("a call that the process died in", () => {
  const again: LoggedStep = { do: "wait", isAskedAgain: true };
  const rows: [string, Partial<LogEntry>, UnknownOutcome | undefined, LoggedStep][] = [
    ["is not made again when its tool says nothing", {}, undefined, { do: "give-up" }],
    ["is asked about when a human had approved it", { requiresApproval: true }, undefined, again],
    ["is made again when it only reads", { isEphemeral: true }, undefined, { do: "run" }],
    ["is made again when its tool says so", {}, "retry", { do: "run" }],
    ["is made again when its tool says so, approved or not", { requiresApproval: true }, "retry", { do: "run" }],
    ["fails when its tool says so", { requiresApproval: true }, "fail", { do: "give-up" }],
    ["is asked about when its tool says so", {}, "ask", again]
  ];
  test.each(rows)("%s", (_name, entry, onUnknownOutcome, decision) => {
    expect(decideCall(call({ ...entry, state: "executing" }, { onUnknownOutcome }))).toEqual(decision);
  });
});

const STATUSES: ExecutionStatus[] = ["running", "paused", "completed", "error", "rejected", "aborted", "rolled_back"];
const STATES: LogState[] = ["executing", "applied", "pending", "approved", "failed", "reverted", "error"];
const anyEntry: fc.Arbitrary<LogEntry> = fc.record({
  seq: fc.nat(999),
  connector: fc.constantFrom("tools", "state"),
  method: fc.constantFrom("pay", "read"),
  args: fc.constantFrom('{"n":1}', '{"n":2}'),
  result: fc.option(fc.constantFrom("7", '{"name":"E"}'), { nil: null }),
  requiresApproval: fc.boolean(),
  isEphemeral: fc.boolean(),
  state: fc.constantFrom(...STATES),
  order: fc.option(fc.nat(999), { nil: null }),
  editedArgs: fc.constant(null),
  decidedBy: fc.constant(null),
  mayHaveRun: fc.boolean(),
  askedAgain: fc.nat(3)
});
const anyCall: fc.Arbitrary<LoggedCall> = fc.record({
  status: fc.constantFrom(...STATUSES),
  isSameBatch: fc.boolean(),
  entry: fc.option(anyEntry, { nil: undefined }),
  connector: fc.constantFrom("tools", "state"),
  method: fc.constantFrom("pay", "read"),
  args: fc.constantFrom('{"n":1}', '{"n":2}'),
  onUnknownOutcome: fc.constantFrom("retry" as const, "fail" as const, "ask" as const, undefined)
});
const holds = (promise: (given: LoggedCall, decision: LoggedStep) => void) =>
  fc.assert(
    fc.property(anyCall, (given) => promise(given, decideCall(given))),
    { numRuns: 2_000 }
  );

test("whatever the log holds, there is one decision, and the same one each time", () => {
  holds((given, decision) => {
    expect(typeof decision.do).toBe("string");
    expect(decideCall(given)).toEqual(decision);
  });
});

test("a run that is over, or waits for calls of another moment, makes none", () => {
  holds(({ status, isSameBatch }, decision) => {
    const goesOn = status === "running" || (status === "paused" && isSameBatch);
    if (!goesOn) expect(decision).toEqual({ do: "refuse" });
  });
});

test("the refusal of a run that is over comes before anything that the log says", () => {
  const other = { connector: "state", method: "read", args: "{}" };
  for (const status of STATUSES.filter((one) => one !== "running"))
    expect(decideCall(call({ state: "applied", result: "7" }, { status, ...other }))).toEqual({ do: "refuse" });
});

test("code that makes another call than it made there is stopped, whatever became of that one", () => {
  for (const state of STATES)
    for (const other of [{ connector: "state" }, { method: "read" }, { args: '{"n":2}' }])
      expect(decideCall(call({ state, requiresApproval: true }, other)), state).toEqual({ do: "diverge" });
});

test("a call is made only if it is the first time, was approved, only reads, or may be repeated", () => {
  holds(({ entry, onUnknownOutcome }, decision) => {
    if (decision.do !== "run" && decision.do !== "begin" && decision.do !== "read-again") return;
    const mayBeMade =
      entry === undefined ||
      entry.state === "approved" ||
      (entry.state === "applied" && entry.isEphemeral) ||
      (entry.state === "executing" &&
        (onUnknownOutcome === "retry" ||
          (onUnknownOutcome === undefined && entry.isEphemeral && !entry.requiresApproval)));
    expect(mayBeMade).toBe(true);
  });
});

test("what is answered is what the log holds, in the order it had", () => {
  holds(({ entry }, decision) => {
    if (decision.do === "replay") expect(decision).toMatchObject({ result: entry?.result, order: entry?.order ?? 0 });
    if (decision.do === "rethrow") expect(decision).toMatchObject({ order: entry?.order ?? 0 });
  });
});
