// What the page of each kind of durable work promises of its effects, and whether that was kept. Pure.
import { answerTo, TASK_PROMPT_ID, type AgentState, type ChatRecord, type Job, type ShownCall } from "./jobs.ts";
import type { Arrival } from "./outside.ts";

/**
 * How often an effect may happen.
 * - "again": at least once; again only after a kill while it was under way, or after it failed.
 * - "hook": the same, but a hook that throws counts as called.
 * - "key": as "again", and every time under the same key.
 * - "told": at most once; not at all, or without an end, only where the transcript says that it was cut off.
 * - "best-effort": at most once per process; a kill can lose it.
 * - "recurs": never twice at the same time, and it goes on after each kill.
 */
export type Rule = "again" | "hook" | "key" | "told" | "best-effort" | "recurs";

export interface KindPromise {
  readonly rule: Rule;
  /** Where it is promised. */
  readonly page: string;
}

export const PROMISES: Readonly<Record<string, KindPromise>> = {
  queue: { rule: "again", page: "agent.md#time" },
  "one-shot schedule": { rule: "again", page: "agent.md#time" },
  interval: { rule: "recurs", page: "agent.md#time" },
  cron: { rule: "recurs", page: "agent.md#time" },
  "scheduled task": { rule: "again", page: "scheduled-tasks.md" },
  fiber: { rule: "again", page: "agent.md#fibers" },
  "fiber with a method": { rule: "again", page: "agent.md#fibers" },
  "managed fiber": { rule: "again", page: "agent.md#fibers" },
  "recovery hook of a fiber": { rule: "again", page: "agent.md#fibers" },
  tool: { rule: "told", page: "durability.md" },
  "action without a key": { rule: "told", page: "actions.md#the-ledger" },
  "action with a key": { rule: "again", page: "actions.md#the-ledger" },
  "inline approval": { rule: "told", page: "actions.md#approvals" },
  "paused action": { rule: "told", page: "actions.md#approvals" },
  "paused action with a key": { rule: "again", page: "actions.md#approvals" },
  "code, repeatable": { rule: "key", page: "execute.md#the-log" },
  "code, once": { rule: "told", page: "execute.md#the-log" },
  "code, approved": { rule: "told", page: "execute.md#approvals" },
  "work of a child": { rule: "told", page: "agent-tools.md" },
  "finish hook of a child": { rule: "hook", page: "agent-tools.md#from-code" },
  "method of a background child": { rule: "hook", page: "agent-tools.md#in-the-background" },
  "response hook": { rule: "hook", page: "durability.md" },
  "submission status hook": { rule: "best-effort", page: "submissions.md" },
  workflow: { rule: "again", page: "agent.md#workflows" },
  "notification of a workflow": { rule: "again", page: "submissions.md#prompts-of-workflows" },
  "workflow hook": { rule: "again", page: "agent.md#workflows" }
};

/** Time in which an end is written down. A process that is killed later has settled it. */
const SETTLE_MS = 1_000;

export interface Expected {
  readonly kind: string;
  readonly id: string;
}

const FIBERS: Readonly<Record<string, string>> = {
  "managed-fiber": "managed fiber",
  fiber: "fiber",
  "resumed-fiber": "fiber with a method"
};

const TOOLS: Readonly<Record<string, readonly string[]>> = {
  tool: ["tool"],
  unkeyed: ["action without a key"],
  keyed: ["action with a key"],
  asked: ["inline approval"],
  parked: ["paused action"],
  parkedKeyed: ["paused action with a key"],
  execute: ["code, repeatable", "code, once", "code, approved"],
  research: ["work of a child"],
  survey: ["work of a child"],
  say: []
};

/** The effects that a job must have. */
export function expectedOf({ type, tool, id }: Job): Expected[] {
  const fiber = FIBERS[type];
  if (fiber !== undefined) return [1, 2, 3].map((step) => ({ kind: fiber, id: `${id}.step${step}` }));
  const ofTool = (TOOLS[tool] ?? []).map((kind) => ({ kind, id }));
  switch (type) {
    case "queue":
      return [{ kind: "queue", id }];
    case "one-shot":
      return [{ kind: "one-shot schedule", id }];
    case "workflow":
      return [
        { kind: "workflow", id },
        { kind: "notification of a workflow", id: `${id} prompt` },
        { kind: "notification of a workflow", id: `${id} approval` },
        { kind: "workflow hook", id }
      ];
    case "turn":
      return [...ofTool, { kind: "response hook", id }];
    default:
      return ofTool;
  }
}

/** What the tasks of an agent must have done when their minute is over. */
export const EXPECTED_OF_TASKS: readonly Expected[] = [
  { kind: "scheduled task", id: "task.handler.slow" },
  { kind: "tool", id: TASK_PROMPT_ID }
];

/** What the round of an agent left. */
export interface RoundRecord {
  readonly jobs: readonly Job[];
  readonly arrivals: readonly Arrival[];
  readonly deaths: ReadonlyMap<string, number>;
  readonly state: AgentState;
  readonly chats: readonly ChatRecord[];
  /** The minute of its tasks was waited for. */
  readonly hasTasks: boolean;
}

/** Everything that must have happened when a round is over. */
export function expectedIn({ jobs, state, hasTasks }: Pick<RoundRecord, "jobs" | "state" | "hasTasks">): Expected[] {
  const hooks = state.runs.flatMap(({ runId, status, input }) => {
    const job = jobs.find(({ id }) => input.includes(`${id}"`));
    if (!job) return [];
    const id = `${job.id} ${runId} ${status}`;
    const finish = { kind: "finish hook of a child", id };
    return job.tool === "survey" ? [finish, { kind: "method of a background child", id }] : [finish];
  });
  return [...jobs.flatMap(expectedOf), ...hooks, ...(hasTasks ? EXPECTED_OF_TASKS : [])];
}

/** Undefined: the effect has come to its end. */
export function whyOpen({ kind, id }: Expected, { arrivals, state }: RoundRecord): string | undefined {
  const rule = PROMISES[kind]?.rule;
  const own = arrivals.filter((one) => one.kind === kind && one.id === id);
  if (rule === "told" || rule === "key") {
    const calls = state.calls.filter((call) => isAbout(call, id));
    if (calls.length === 0) return "there is no call of it";
    const run = state.runs.find((one) => one.input.includes(`${id}"`));
    if (run && (run.status === "running" || run.status === "starting")) return "its child is running";
    return calls.every(isOver) ? undefined : "its call is open";
  }
  const hasEnd = kind === "workflow" || kind === "notification of a workflow" ? own.length > 0 : own.some(isEnd);
  const hasThrown = rule === "hook" && own.some(({ then }) => then === "throw");
  return hasEnd || hasThrown ? undefined : `it ${own.length === 0 ? "has not begun" : "has not ended"}`;
}

function isEnd({ phase }: Arrival): boolean {
  return phase === "end";
}

/** Ids of jobs are never a part of another one's. */
export function isAbout({ input }: Pick<ShownCall, "input">, id: string): boolean {
  return input.includes(`${id}"`) || input.includes(`${id}\\"`);
}

export function isOver({ state, output }: ShownCall): boolean {
  return (state === "output-available" && !output.includes('"paused"')) || ENDED.includes(state);
}

const ENDED = ["output-error", "output-denied"];

/** How often the effects of a kind happened. */
export interface Tally {
  effects: number;
  lost: number;
  repeated: number;
  /** Of these: after a kill in the middle, and after a failure. */
  byKill: number;
  byThrow: number;
  /** Effects of which the transcript says that they were cut off. */
  told: number;
  /** How often a process was killed between the beginning and the end of one. */
  cutOff: number;
}

export const NO_TALLY: Tally = { effects: 0, lost: 0, repeated: 0, byKill: 0, byThrow: 0, told: 0, cutOff: 0 };

export interface Audit {
  readonly tallies: Map<string, Tally>;
  readonly problems: string[];
}

export function auditRound(record: RoundRecord): Audit {
  const tallies = new Map<string, Tally>();
  const problems: string[] = [];
  const tallyOf = (kind: string) => {
    const tally = tallies.get(kind) ?? { ...NO_TALLY };
    tallies.set(kind, tally);
    return tally;
  };
  const expected = expectedIn(record);
  for (const one of expected) {
    const open = whyOpen(one, record);
    if (open === undefined) continue;
    tallyOf(one.kind).lost += 1;
    problems.push(`${one.kind} ${one.id} is lost: ${open}`);
  }
  const groups = Map.groupBy(record.arrivals, ({ kind, id }) => `${kind}\n${id}`);
  for (const { kind, id } of expected) if (!groups.has(`${kind}\n${id}`)) groups.set(`${kind}\n${id}`, []);
  for (const [name, own] of groups) {
    const [kind = "", id = ""] = name.split("\n");
    const tally = tallyOf(kind);
    tally.effects += 1;
    tally.cutOff += cutOffs(kind, own, record.deaths);
    for (const problem of auditEffect({ kind, id, own, record, tally })) problems.push(`${kind} ${id} ${problem}`);
  }
  problems.push(...auditQuestions(record), ...auditEnds(record), ...record.chats.flatMap(auditChat));
  return { tallies, problems };
}

interface Audited {
  readonly kind: string;
  readonly id: string;
  readonly own: readonly Arrival[];
  readonly record: RoundRecord;
  readonly tally: Tally;
}

function auditEffect(audited: Audited): string[] {
  const { kind, own, tally } = audited;
  const rule = PROMISES[kind]?.rule;
  if (rule === undefined) return ["is of a kind without a promise"];
  if (rule === "recurs") return auditRecurring(own);
  const begins = own.filter(({ phase }) => phase === "begin");
  tally.repeated += Math.max(0, begins.length - 1);
  if (rule === "told") return auditTold(audited, begins);
  const problems = begins.slice(1).flatMap((again, index) => {
    const first = begins[index];
    const why = first && whyRepeated(first, again, audited);
    if (why === "kill") tally.byKill += 1;
    if (why === "throw") tally.byThrow += 1;
    return why === undefined ? [`is repeated without a reason: ${described(own, audited.record)}`] : [];
  });
  if (rule === "key" && new Set(begins.map(({ key }) => key)).size > 1) problems.push("has more than one key");
  return problems;
}

function cutOffs(kind: string, own: readonly Arrival[], deaths: ReadonlyMap<string, number>): number {
  if (hasNoEnd(kind)) return 0;
  const lives = [...new Set(own.map(({ life }) => life))].filter((life) => deaths.has(life));
  const isCutOff = (life: string) => {
    const last = own.findLast((one) => one.life === life);
    return last?.phase === "begin" && last.then !== "throw";
  };
  return lives.filter(isCutOff).length;
}

/** Undefined: nothing explains that the second followed the first. */
function whyRepeated(first: Arrival, again: Arrival, { kind, own, record }: Audited): "kill" | "throw" | undefined {
  const rule = PROMISES[kind]?.rule;
  if (first.life === again.life) return first.then === "throw" && rule === "again" ? "throw" : undefined;
  // Each interruption of a fiber calls it.
  if (kind === "recovery hook of a fiber") return "kill";
  const end = own.find((one) => isEnd(one) && one.life === first.life && one.at >= first.at);
  const died = record.deaths.get(first.life);
  if (died === undefined) return undefined;
  const isSettled = (end ?? first).at + SETTLE_MS < died && (end !== undefined || hasNoEnd(kind));
  if (isSettled) return undefined;
  return first.then === "throw" && end === undefined && first.at + SETTLE_MS < died ? "throw" : "kill";
}

/** What is only told once. */
function hasNoEnd(kind: string): boolean {
  return kind === "workflow" || kind === "notification of a workflow" || kind === "submission status hook";
}

function auditTold({ kind, id, own, record, tally }: Audited, begins: readonly Arrival[]): string[] {
  if (begins.length > 1) return [`happened ${begins.length} times: ${described(own, record)}`];
  // The code goes on from a call that may have run.
  const saysDone = ({ output }: ShownCall) =>
    output.includes(`did ${id}`) && !(kind === "code, once" && output.includes("unknown"));
  const isDone = record.state.calls.some((call) => isAbout(call, id) && saysDone(call));
  const hasEnd = own.some(isEnd);
  if (!hasEnd) tally.told += 1;
  if (isDone && begins.length === 0) return ["is said to be done and never happened"];
  return [];
}

/** One after the other, in each process. */
function auditRecurring(own: readonly Arrival[]): string[] {
  const problems: string[] = [];
  for (const [life, runs] of Map.groupBy(own, (one) => one.life)) {
    const isWrong = runs.some(({ phase }, index) => phase !== (index % 2 === 0 ? "begin" : "end"));
    if (isWrong) problems.push(`ran twice at the same time in process ${life}`);
  }
  return problems;
}

/** Each question is in the conversation once. */
function auditQuestions({ jobs, state, hasTasks }: RoundRecord): string[] {
  const asked = jobs.flatMap(({ type, tool, id }) => {
    if (type === "workflow") return [`Do say ${id}.prompt`];
    return type === "turn" || type === "chat" ? [`Do ${tool} ${id}`] : [];
  });
  return [...asked, ...(hasTasks ? [`Do tool ${TASK_PROMPT_ID}`] : [])].flatMap((question) => {
    const times = state.questions.filter((one) => one.includes(question) && !one.includes(`${question}.`)).length;
    return times === 1 ? [] : [`"${question}" is in the conversation ${times} times`];
  });
}

/** The whole answer is in the chat once; what else is there is a beginning that is marked as one, or a decided question. */
function auditChat({ job: { tool, id }, texts }: ChatRecord): string[] {
  const answers = texts.filter((text) => text.startsWith(answerTo(id))).length;
  const problems = answers === 1 ? [] : [`the answer to ${id} is in the chat ${answers} times`];
  const decided = texts.filter((text) => /Approved by/.test(text)).length;
  if (decided !== (tool === "parked" ? 1 : 0)) problems.push(`the question of ${id} is decided ${decided} times`);
  return problems.map((problem) => `${problem}: ${JSON.stringify(texts)}`);
}

/** Nothing is left open. */
function auditEnds({ state }: RoundRecord): string[] {
  const problems = state.submissions.map(({ id, status, error }) => `submission ${id} is ${status} ${error}`);
  for (const { name, status } of state.fibers) if (status !== "completed") problems.push(`fiber ${name} is ${status}`);
  for (const { runId, status, input } of state.runs)
    if (status !== "completed") problems.push(`child ${runId} (${input}) is ${status}`);
  for (const { id, status } of state.workflows) if (status !== "complete") problems.push(`workflow ${id} is ${status}`);
  if (state.pending.length > 0) problems.push(`${JSON.stringify(state.pending)} waits still`);
  if (state.deadLetters > 0) problems.push(`${state.deadLetters} dead letters`);
  return problems;
}

/** For a person: who did it, and when. */
function described(own: readonly Arrival[], { deaths }: RoundRecord): string {
  const [first] = own;
  const since = (at: number | undefined) => (at === undefined || !first ? "never" : `${Math.round(at - first.at)} ms`);
  const lives = [...new Set(own.map(({ life }) => life))];
  const steps = own.map(({ phase, life, at, then }) => {
    const told = then === "go" ? "" : ` (told to ${then})`;
    return `${phase}${told} at ${since(at)} in process ${lives.indexOf(life) + 1}`;
  });
  const died = lives.map((life, index) => `process ${index + 1} died at ${since(deaths.get(life))}`);
  return [...steps, ...died].join(", ");
}
