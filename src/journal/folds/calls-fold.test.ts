import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { approvalId, callId } from "../../util/ids.ts";
import { call, SAMPLES, settledCall } from "../record-samples.test-support.ts";
import type { ApprovalAnswered, CallOutcome, ReadableRecord } from "../records.ts";
import { canAdvance, foldCalls, isAwaited, NO_CALLS, openCall, type CallState, type OpenCall } from "./calls-fold.ts";

const asked = SAMPLES["approval-asked"];
const answered = (more: Partial<ApprovalAnswered> = {}) => ({ ...SAMPLES["approval-answered"], ...more });
const output: CallOutcome = { kind: "output", output: 1 };
const fold = (...records: ReadableRecord[]) => records.reduce(foldCalls, NO_CALLS);
const state = (...records: ReadableRecord[]) => fold(...records).get(callId("c1"))?.state;

it("a call that was approved with another input has that one, and keeps what was asked about", () => {
  const changed = fold(call("c1"), asked, answered({ input: { to: "Rome" }, givenInput: { to: " Rome" } }));
  const askedInput = fold(call("c1")).get(callId("c1"))?.input;
  expect(changed.get(callId("c1"))).toMatchObject({
    input: { to: "Rome" },
    approval: { askedInput, givenInput: { to: " Rome" } }
  });
  expect(fold(call("c1"), asked, answered()).get(callId("c1"))?.approval).not.toHaveProperty("askedInput");
});

describe("a call's state", () => {
  const table: [string, CallState | undefined, ReadableRecord[]][] = [
    ["unheard of", undefined, [settledCall("c1", output)]],
    ["started", "input-available", [call("c1")]],
    ["asked about", "approval-requested", [call("c1"), asked]],
    ["approved", "approval-responded", [call("c1"), asked, answered()]],
    ["denied by a human", "denied", [call("c1"), asked, answered({ approved: false })]],
    ["answered without a question", "input-available", [call("c1"), answered()]],
    [
      "answered for another question",
      "approval-requested",
      [call("c1"), asked, answered({ approvalId: approvalId("a2") })]
    ],
    ["asked again after the answer", "approval-responded", [call("c1"), asked, answered(), asked]],
    ["run after approval", "output", [call("c1"), asked, answered(), settledCall("c1", output)]],
    ["failed", "error", [call("c1"), settledCall("c1", { kind: "error", errorText: "no" })]],
    ["lost", "unknown", [call("c1"), settledCall("c1", { kind: "unknown", reason: "restart" })]],
    ["started again by the provider", "output", [call("c1"), settledCall("c1", output), call("c1")]],
    [
      "approved after it was given up",
      "unknown",
      [call("c1"), asked, settledCall("c1", { kind: "unknown", reason: "r" }), answered()]
    ]
  ];
  it.each(table)("%s: %s", (_name, expected, records) => {
    expect(state(...records)).toBe(expected);
  });

  it("keeps the first outcome, whatever comes later", () => {
    const calls = fold(call("c1"), settledCall("c1", output), settledCall("c1", { kind: "error", errorText: "late" }));
    expect(calls.get(callId("c1"))).toMatchObject({ state: "output", outcome: output });
  });

  it("keeps the question through to the end", () => {
    const view = fold(call("c1"), asked, answered(), settledCall("c1", output)).get(callId("c1"));
    expect(view?.approval).toEqual({ approvalId: "a1", descriptor: { summary: "Send?" } });
  });
});

describe("who is awaited", () => {
  it("humans and clients, never a server that died", () => {
    const calls = fold(
      ...[call("c1"), asked, call("server"), call("client", { executor: "client" })],
      call("done", { executor: "client" }),
      settledCall("done", output)
    );
    expect([...calls.values()].filter(isAwaited).map((open) => open.callId)).toEqual(["c1", "client"]);
  });
});

describe("the order of states", () => {
  const states: CallState[] = ["input-available", "approval-requested", "approval-responded"];
  const terminal: CallState[] = ["output", "error", "denied", "unknown"];

  it("goes up step by step to terminals that lead nowhere", () => {
    states.forEach((from, index) => {
      expect(states.filter((to) => canAdvance(from, to))).toEqual(states.slice(index + 1));
    });
    for (const from of terminal) for (const to of [...states, ...terminal]) expect(canAdvance(from, to)).toBe(false);
    for (const from of states) for (const to of terminal) expect(canAdvance(from, to)).toBe(true);
  });

  it("is never left, in any order of any records, repeated or not", () => {
    const record = fc.constantFrom<ReadableRecord>(
      ...[call("c1"), asked, answered(), answered({ approved: false }), settledCall("c1", output)],
      settledCall("c1", { kind: "denied", reason: null }),
      settledCall("c1", { kind: "error", errorText: "x" })
    );
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), (records) => {
        let calls = NO_CALLS;
        for (const next of records) {
          const before = calls.get(callId("c1"));
          calls = foldCalls(calls, next);
          const after = calls.get(callId("c1"));
          if (before && after) expect(canAdvance(after.state, before.state)).toBe(false);
          if (before && terminal.includes(before.state)) expect(after).toBe(before);
          expect(foldCalls(calls, next)).toBe(calls);
        }
      })
    );
  });
});

it("a call may be named like anything an object inherits", () => {
  expect(fold(call("__proto__"), settledCall("__proto__", output)).get(callId("__proto__"))?.state).toBe("output");
});

describe("what becomes of a call without an outcome", () => {
  const [none, executors] = [undefined, ["server", "client", "provider"] as const];
  it.each<[string, ...(OpenCall | undefined)[]]>([
    ["input-streaming", "cut-off", "cut-off", "provided"],
    ["input-available", "cut-off", "awaited", "provided"],
    ["approval-requested", "awaited", "awaited", "awaited"],
    ["approval-responded", "allowed", "awaited", "allowed"],
    ["preliminary", "cut-off", "cut-off", "provided"],
    ["something-new", "cut-off", "cut-off", "provided"],
    ...["output", "error", "denied", "unknown"].map((state) => [state, none, none, none] as [string, ...undefined[]]),
    ...["output-available", "output-error", "output-denied"].map(
      (state) => [state, none, none, none] as [string, ...undefined[]]
    )
  ])("in the state %s, of the server, a client and a provider: %s, %s, %s", (state, ...expected) => {
    expect(executors.map((executor) => openCall({ state, executor }))).toEqual(expected);
  });
});
