import { describe, expect, test } from "vitest";
import type { RoundRecord } from "./round.ts";
import { judge } from "./verdict.ts";

type Writable = { -readonly [Key in keyof RoundRecord]: RoundRecord[Key] };

const paid = { kind: "tool", name: "pay", state: "output-available", input: { amount: 12 }, output: "ok" } as const;
const cutOff = { kind: "tool", name: "pay", state: "interrupted", input: undefined } as const;
const said = (text: string) => ({ role: "assistant", parts: [{ kind: "text", text } as const] });

/** A round in which one call ran and nothing went wrong. Ids differ between rounds. */
function honest(callId: string): Writable {
  return {
    steps: [
      { name: "ask", messages: [said("Hello.")] },
      { name: "pay", messages: [said("Hello."), { role: "assistant", parts: [paid] }] }
    ],
    turns: [["completed"], ["completed"]],
    effects: [{ callId, tool: "pay", began: 1, ended: 1 }],
    cutOff: new Map(),
    finished: new Map([[callId, "pay"]]),
    problems: [],
    durationMs: 1
  };
}

/** The same with the call cut off; it may have come to its end or not. */
function interrupted(ended: number): Writable {
  const record = honest("call-2");
  record.steps = [
    record.steps[0]!,
    { name: "pay", messages: [said("Hello."), { role: "assistant", parts: [cutOff] }] }
  ];
  record.effects = [{ callId: "call-2", tool: "pay", began: 1, ended }];
  record.cutOff = new Map([["call-2", "pay"]]);
  record.finished = new Map();
  return record;
}

describe("the verdict over a round", () => {
  test("finds nothing wrong with one like the undisturbed one", () => {
    expect(judge(honest("call-1"), honest("call-2"))).toEqual([]);
  });

  test.each([0, 1])("accepts a call that is shown as cut off and ended %i times", (ended) => {
    expect(judge(honest("call-1"), interrupted(ended))).toEqual([]);
  });

  test("accepts a call that is shown as cut off and never began", () => {
    expect(judge(honest("call-1"), { ...interrupted(0), effects: [] })).toEqual([]);
  });

  test.each<[string, (record: Writable) => void]>([
    ["a problem of a client", (record) => (record.problems = ["tab 0 shows nothing"])],
    ["a round that ended early", (record) => (record.steps = record.steps.slice(0, 1))],
    ["another text", (record) => (record.steps = [{ name: "ask", messages: [said("Hello.Hello.")] }, ...record.steps])],
    ["a message too many", (record) => (record.steps = record.steps.with(0, twoMessages))],
    ["a turn settled twice", (record) => (record.turns = [["completed", "completed"], ["completed"]])],
    ["a turn that failed", (record) => (record.turns = [["completed"], ["failed"]])],
    ["a turn too many", (record) => (record.turns = [["completed"], ["completed"], ["completed"]])],
    ["a call that ran twice", (record) => (record.effects = [{ ...record.effects[0]!, began: 2 }])],
    ["a result of a call that never ran", (record) => (record.effects = [])],
    ["a result of a call that never ended", (record) => (record.effects = [{ ...record.effects[0]!, ended: 0 }])],
    ["a call that ran and is not shown", (record) => (record.finished = new Map())],
    ["another call of the same tool", (record) => (record.effects = [...record.effects, { ...record.effects[0]! }])]
  ])("notices %s", (_what, tamper) => {
    const record = honest("call-2");
    tamper(record);
    expect(judge(honest("call-1"), record)).not.toEqual([]);
  });
});

const twoMessages = { name: "ask", messages: [said("Hello."), said("Hello.")] };
