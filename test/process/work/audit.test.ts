import { describe, expect, test } from "vitest";
import type { AgentState, Job } from "./jobs.ts";
import { describeKill, planKills, TASK_KIND } from "./kill-plan.ts";
import type { Arrival } from "./outside.ts";
import { auditRound, EXPECTED_OF_TASKS, expectedOf, PROMISES, whyOpen, type RoundRecord } from "./promises.ts";

const QUEUED: Job = { type: "queue", tool: "plain", id: "queue.plain.w1" };
const TOOL: Job = { type: "turn", tool: "tool", id: "turn.tool.w1" };
const CHILD: Job = { type: "turn", tool: "research", id: "turn.research.w1" };
const JOBS = [QUEUED, TOOL, CHILD];

type Written<Value> = { -readonly [Name in keyof Value]: Value[Name] };
interface Books extends Omit<Written<RoundRecord>, "arrivals" | "deaths" | "state"> {
  arrivals: Written<Arrival>[];
  deaths: Map<string, number>;
  state: { -readonly [Name in keyof AgentState]: AgentState[Name] };
}

function arrival(kind: string, id: string, more: Partial<Arrival> = {}): Arrival {
  return { agent: "a", kind, id, phase: "begin", key: "", life: "one", at: 0, then: "go", ...more };
}

/** Begun and ended in one process. */
const done = (kind: string, id: string) => [arrival(kind, id), arrival(kind, id, { phase: "end", at: 50 })];

const call = (tool: string, id: string) => ({
  tool,
  input: JSON.stringify(tool === "research" ? { query: `Do work ${id}` } : { id }),
  state: "output-available",
  output: `did ${id}`
});

/** A round in which everything happened once, in a process that is dead long since. */
function honest(): Books {
  const all = [...JOBS.flatMap(expectedOf), ...EXPECTED_OF_TASKS];
  const hook = "finish hook of a child";
  return {
    jobs: JOBS,
    arrivals: [...all.flatMap(({ kind, id }) => done(kind, id)), ...done(hook, `${CHILD.id} run completed`)],
    deaths: new Map([["one", 60_000]]),
    chats: [],
    hasTasks: true,
    state: {
      questions: [`Do tool ${TOOL.id}`, `Do research ${CHILD.id}`, "Do tool task.prompt.plain"],
      calls: [call("tool", TOOL.id), call("research", CHILD.id), call("tool", "task.prompt.plain")],
      runs: [{ runId: "run", status: "completed", input: JSON.stringify({ query: `Do work ${CHILD.id}` }) }],
      submissions: [],
      fibers: [],
      workflows: [],
      schedules: [],
      deadLetters: 0,
      pending: [],
      alarmInMs: null
    }
  };
}

const again = (kind: string, id: string, more: Partial<Arrival>) => (books: Books) =>
  void books.arrivals.push(...done(kind, id).map((one) => ({ ...one, ...more })));

describe("the audit of a kill run", () => {
  test("finds nothing wrong with an honest round", () => {
    expect(auditRound(honest()).problems).toEqual([]);
  });

  test("takes a repetition whose process was killed before the end was written down, and counts it", () => {
    const books = honest();
    books.deaths.set("one", 60);
    again("queue", QUEUED.id, { life: "two", at: 300 })(books);
    const { problems, tallies } = auditRound(books);
    expect(problems).toEqual([]);
    expect(tallies.get("queue")).toMatchObject({ effects: 1, lost: 0, repeated: 1, byKill: 1, byThrow: 0 });
  });

  test("takes a repetition of what was told to fail", () => {
    const books = honest();
    books.arrivals.unshift(arrival("queue", QUEUED.id, { then: "throw" }));
    const { problems, tallies } = auditRound(books);
    expect(problems).toEqual([]);
    expect(tallies.get("queue")).toMatchObject({ repeated: 1, byKill: 0, byThrow: 1 });
  });

  test("takes a call that never happened and is shown as cut off", () => {
    const books = honest();
    books.arrivals = books.arrivals.filter(({ id }) => id !== TOOL.id);
    books.arrivals.push(...done("response hook", TOOL.id));
    books.state.calls = books.state.calls.map((one) =>
      one.input.includes(TOOL.id) ? { ...one, state: "output-error", output: "interrupted" } : one
    );
    const { problems, tallies } = auditRound(books);
    expect(problems).toEqual([]);
    expect(tallies.get("tool")).toMatchObject({ lost: 0, told: 1 });
  });

  test.each<[string, (books: Books) => void]>([
    [
      "an effect that never happened",
      (books) => (books.arrivals = books.arrivals.filter(({ kind }) => kind !== "queue"))
    ],
    [
      "work that never ended",
      (books) => (books.arrivals = books.arrivals.filter((one) => one.kind !== "queue" || one.phase === "begin"))
    ],
    ["a repetition in the same process", again("queue", QUEUED.id, { at: 300 })],
    ["a repetition of what was settled long before the kill", again("queue", QUEUED.id, { life: "two", at: 61_000 })],
    [
      "a hook that threw and is called again",
      (books) => {
        books.arrivals.push(arrival("response hook", "r", { then: "throw" }), arrival("response hook", "r", { at: 9 }));
      }
    ],
    ["a call that happened twice", again("tool", TOOL.id, { life: "two" })],
    [
      "a call that is said to be done and never happened",
      (books) => (books.arrivals = books.arrivals.filter(({ kind, id }) => kind !== "tool" || id !== TOOL.id))
    ],
    ["a call that no transcript shows", (books) => (books.state.calls = books.state.calls.slice(1))],
    [
      "a call that waits for ever",
      (books) => (books.state.calls = books.state.calls.map((one) => ({ ...one, state: "input-available" })))
    ],
    [
      "a finish hook that was not called",
      (books) => (books.arrivals = books.arrivals.filter(({ kind }) => !kind.startsWith("finish")))
    ],
    [
      "a child that is running",
      (books) => (books.state.runs = books.state.runs.map((run) => ({ ...run, status: "running" })))
    ],
    [
      "a question that is there twice",
      (books) => (books.state.questions = [...books.state.questions, `Do tool ${TOOL.id}`])
    ],
    ["a question that is gone", (books) => (books.state.questions = books.state.questions.slice(1))],
    ["a submission that failed", (books) => (books.state.submissions = [{ id: TOOL.id, status: "error", error: "x" }])],
    ["a fiber that is not over", (books) => (books.state.fibers = [{ name: "f", status: "running" }])],
    ["a workflow that is not over", (books) => (books.state.workflows = [{ id: "w", status: "running" }])],
    ["a dead letter", (books) => (books.state.deadLetters = 1)],
    [
      "recurring work that overlaps",
      (books) => {
        books.arrivals.push(arrival("interval", "interval"), arrival("interval", "interval"));
      }
    ],
    [
      "a keyed effect under two keys",
      (books) => {
        books.deaths.set("one", 10);
        for (const [life, key] of Object.entries({ one: "a", two: "b" }))
          books.arrivals.push(arrival("code, repeatable", "c", { life, key }));
      }
    ],
    [
      "an answer that is in a chat twice",
      (books) => {
        const text = "This is the whole answer to c, from its beginning to its end.";
        books.chats = [{ job: { type: "chat", tool: "say", id: "c" }, texts: [text, text] }];
      }
    ],
    ["an effect of a kind without a promise", again("telepathy", "t", {})]
  ])("notices %s", (_what, tamper) => {
    const books = honest();
    tamper(books);
    expect(auditRound(books).problems).not.toEqual([]);
  });

  test("says why an effect is not over", () => {
    const books = honest();
    books.arrivals = [];
    expect(whyOpen({ kind: "queue", id: QUEUED.id }, books)).toBe("it has not begun");
  });
});

test("a plan of kills is the same for the same seed, comes to each kind in turn, and ends at the tasks", () => {
  const plan = planKills(7, 60).map(describeKill);
  expect(planKills(7, 60).map(describeKill)).toEqual(plan);
  expect(planKills(8, 60).map(describeKill)).not.toEqual(plan);
  for (const kind of Object.keys(PROMISES))
    expect(
      plan.some((kill) => kill.startsWith(kind)),
      kind
    ).toBe(true);
  expect(plan.at(-1)).toContain(TASK_KIND);
});
