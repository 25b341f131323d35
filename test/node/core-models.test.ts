// The life of a turn, claims of durable work and approvals, explored whole: every state that a few processes, a person and a
// late run can reach, over the functions and statements of production. A broken rule must be noticed: else the models say
// nothing. Steering is explored beside it, in src/turn/steering-states.test.ts.
import { afterAll, describe, expect, test, vi } from "vitest";
import { foldCalls, openCall } from "../../src/journal/folds/calls-fold.ts";
import { advance } from "../../src/journal/open-turns.ts";
import { approvalMachine, APPROVAL_RULES, type ApprovalRules } from "../core-models/approval-machine.ts";
import { explore, type Explored } from "../core-models/explore.ts";
import { turnMachine, TURN_RULES, type TurnRules } from "../core-models/turn-machine.ts";
import { workMachine, WORK_RULES, type WorkRules } from "../core-models/work-machine.ts";

// Each explores some ten thousand states.
vi.setConfig({ testTimeout: 120_000 });

const explored: string[] = [];
afterAll(() => console.log(explored.join("\n")));

function noted(name: string, result: Explored): Explored {
  explored.push(`${name}: ${result.states} states, ${result.transitions} transitions`);
  return result;
}

test("a turn: one outcome, no call twice, nothing after its end, no attempt after a cancel, and always an end", () => {
  const { problem, states } = noted("turn", explore(turnMachine()));
  expect(problem).toBeUndefined();
  expect(states).toBeGreaterThan(1_000);
});

test("durable work: a claimed item is never due, a settled one never run, a late run changes nothing, no item is forgotten", () => {
  const { problem, states } = noted("work", explore(workMachine()));
  expect(problem).toBeUndefined();
  expect(states).toBeGreaterThan(1_000);
});

test("an approval: the first decision wins, what was refused never runs, what was approved runs once and with that input", () => {
  const { problem, states } = noted("approval", explore(approvalMachine()));
  expect(problem).toBeUndefined();
  expect(states).toBeGreaterThan(100);
});

describe("a broken rule is noticed", () => {
  const turns: [string, Partial<TurnRules>][] = [
    [
      "a record of an overtaken attempt is taken",
      {
        advance: (fields, record, place) =>
          record.type === "turn-settled" || record.type === "attempt-started" || record.type === "turn-admitted"
            ? advance(fields, record, place)
            : {}
      }
    ],
    [
      "a death is not noted",
      {
        decideUnread: (fold, known) => {
          const decision = TURN_RULES.decideUnread(fold, known);
          return decision.do === "note-death" ? { do: "start" } : decision;
        }
      }
    ],
    [
      "a cancel is not asked about",
      {
        decideUnread: (fold, known) => TURN_RULES.decideUnread(fold, { ...known, refused: undefined }),
        decideRead: (fold, progress, known) => TURN_RULES.decideRead(fold, progress, { ...known, refused: undefined })
      }
    ],
    ["calls that were cut off stay open", { closesCalls: false }],
    ["a call runs before its record", { recordsFirst: false }],
    [
      "attempts are not counted",
      {
        decideRead: (fold, progress, known) =>
          TURN_RULES.decideRead(fold, progress, {
            ...known,
            policy: { ...known.policy, maxInterruptedAttempts: 99, maxAttempts: 99 }
          })
      }
    ]
  ];
  test.each(turns)("of a turn: %s", (_name, rule) => {
    expect(explore(turnMachine({ ...TURN_RULES, ...rule })).problem).toBeDefined();
  });

  const work: [string, Partial<WorkRules>][] = [
    [
      "the end of an older claim counts",
      { sql: (query) => query.replaceAll("AND claim = ? AND claimed_at IS NOT NULL", "AND ? IS NOT NULL") }
    ],
    ["what is over can be moved", { sql: (query) => query.replace("claimed_at IS NULL AND settled_at IS NULL", "1") }],
    [
      "a claim leaves the item due",
      { sql: (query) => query.replace("SET due_at = NULL, claimed_at", "SET claimed_at") }
    ],
    ["a lane does not hold back", { sql: (query) => query.replaceAll("AND NOT h.is_aside", "AND 0") }],
    ["the word of a cancelled run is taken", { forgetsCancelled: false }]
  ];
  test.each(work)("of durable work: %s", (_name, rule) => {
    expect(explore(workMachine({ ...WORK_RULES, ...rule })).problem).toBeDefined();
  });

  const approvals: [string, Partial<ApprovalRules>][] = [
    [
      "a second decision counts",
      {
        fold: (calls, record) => {
          if (record.type !== "approval-answered") return foldCalls(calls, record);
          const isAsked = [...calls].map(
            ([id, call]) => [id, call.approval ? { ...call, state: "approval-requested" as const } : call] as const
          );
          return foldCalls(new Map(isAsked), record);
        }
      }
    ],
    ["a refused call may run", { openCall: (call) => (call.state === "denied" ? "allowed" : openCall(call)) }],
    ["what was cut off is run again", { settlesCutOff: false }],
    [
      "an outcome can be replaced",
      {
        fold: (calls, record) =>
          record.type === "call-settled"
            ? new Map(
                [...calls].map(([id, call]) => [id, { ...call, state: "unknown" as const, outcome: record.outcome }])
              )
            : foldCalls(calls, record)
      }
    ]
  ];
  test.each(approvals)("of an approval: %s", (_name, rule) => {
    expect(explore(approvalMachine({ ...APPROVAL_RULES, ...rule })).problem).toBeDefined();
  });
});
