// What workflows are sent, and for how long it is kept: guards that only hard use would miss.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DatabaseSync } from "node:sqlite";
import { createTables, MemorySql } from "../../src/journal/memory-sql.test-support.ts";
import { EVENT_OUTPUT_BYTES, OUTBOX_AGE_MS, PromptOutbox } from "../../src/features/workflows/prompt-outbox.ts";
import { WorkflowApprovals, type WorkflowQuestion } from "../../src/features/workflows/workflow-approvals.ts";
import { createGate, reply, stall, text, toolCall } from "../../src/testing/index.ts";
import { open, Support, supportOf, type Host } from "./workflow-prompts-kit.ts";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

const DAY = 24 * 3_600_000;
const outbox = (host: Host) => host.sql(Support, "a", "SELECT key FROM cf_work");

test("a workflow whose prompt is cancelled before its turn is told at once: aborted", async () => {
  const { host, platform } = open(() => reply(stall()));
  const agent = await supportOf(host);
  await agent.start([{ name: "a", prompt: "held" }], "first");
  await agent.start([{ name: "a", prompt: "held" }], "second");
  await host.idle();
  const [waiting] = await agent.listSubmissions({ status: "pending" });
  await agent.cancelSubmission(waiting?.submissionId ?? "");
  await host.idle();
  expect(platform.instance("second").output).toEqual([
    { error: "ThinkPromptAbortedError", status: "aborted", of: true }
  ]);
  expect(platform.instance("first").status).toBe("running");
});

test("a workflow whose prompt waits when the conversation is cleared is told at once: skipped", async () => {
  const { host, platform } = open(() => reply(stall()));
  const agent = await supportOf(host);
  await agent.start([{ name: "a", prompt: "held" }], "first");
  await agent.start([{ name: "a", prompt: "held" }], "second");
  await host.idle();
  expect((await agent.listSubmissions()).map(({ status }) => status)).toEqual(["pending", "running"]);
  await agent.clearMessages();
  await host.idle();
  expect(platform.instance("second").output).toEqual([
    { error: "ThinkPromptSkippedError", status: "skipped", of: true }
  ]);
});

test("a workflow whose waiting prompt cannot be read any more is told at once: failed", async () => {
  const gate = createGate();
  const { host, platform } = open(() => reply(gate.wait(), toolCall("think_final_answer", { severity: "low" })));
  const agent = await supportOf(host);
  await agent.start([{ name: "a", prompt: "held" }], "first");
  await agent.start([{ name: "a", prompt: "held" }], "second");
  await host.idle();
  host.sql(Support, "a", "UPDATE cf_submissions SET request = '{\"broken' WHERE seq = 2");
  gate.open();
  await host.idle();
  expect(platform.instance("second").output).toEqual([{ error: "ThinkPromptFailedError", status: "error", of: true }]);
});

test("an output that is too large for an event is fetched by the workflow, and deleted with its submission", async () => {
  const note = "x".repeat(3 * 1024 * 1024);
  const { host, platform } = open(() => reply(toolCall("think_final_answer", { severity: "low", note })));
  const sent: string[] = [];
  const { get } = platform.binding;
  platform.binding.get = async (id) => {
    const instance = await get(id);
    return {
      ...instance,
      sendEvent: async (event) => (sent.push(JSON.stringify(event.payload)), instance.sendEvent(event))
    };
  };
  const agent = await supportOf(host);
  await agent.start([{ name: "a", prompt: "long" }], "w");
  await host.idle();
  expect(sent).toHaveLength(1);
  expect(sent[0]?.length).toBeLessThan(EVENT_OUTPUT_BYTES);
  expect(JSON.parse(sent[0] ?? "{}")).toMatchObject({ status: "completed", outputIsKept: true });
  expect(platform.instance("w").output).toEqual([{ severity: "low", note }]);
  const kept = () => host.sql(Support, "a", "SELECT 1 FROM cf_blobs").length;
  const before = kept();
  const [submission] = await agent.listSubmissions();
  await agent.deleteSubmission(submission?.submissionId ?? "");
  expect(kept()).toBeLessThan(before);
});

test("notifications that end while one is being sent do not send it a second time", async () => {
  const { host, platform } = open(() => reply(text("ok")));
  const gate = Promise.withResolvers<void>();
  const asked: string[] = [];
  const { get } = platform.binding;
  platform.binding.get = async (id) => {
    asked.push(id);
    if (id === "slow") await gate.promise;
    return get(id);
  };
  const agent = await supportOf(host);
  for (const id of ["slow", "b", "c"]) await agent.start([{ name: "a", prompt: id, plain: true }], id);
  await host.idle();
  gate.resolve();
  await host.idle();
  expect(asked.toSorted()).toEqual(["b", "c", "slow"]);
  expect(platform.instance("c").status).toBe("complete");
});

test("what was delivered is forgotten after a week", async () => {
  const { host } = open(() => reply(text("ok")));
  const agent = await supportOf(host);
  await agent.start([{ name: "a", prompt: "one", plain: true }], "w1");
  await host.idle();
  await host.advance(OUTBOX_AGE_MS - DAY);
  await agent.start([{ name: "a", prompt: "two", plain: true }], "w2");
  await host.idle();
  expect(outbox(host)).toHaveLength(2);
  await host.advance(2 * DAY);
  await agent.start([{ name: "a", prompt: "three", plain: true }], "w3");
  await host.idle();
  expect(outbox(host)).toHaveLength(2);
});

/** Questions without an agent. */
function approvals() {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  const time = { now: 0 };
  const clock = { now: () => time.now, sleep: () => new Promise<void>(() => undefined) };
  const queue = new PromptOutbox(
    {
      sql,
      clock,
      quarantine: () => undefined,
      inAgent: (work) => work(),
      emit: () => undefined,
      rearm: () => undefined,
      background: (work) => void work.catch(() => undefined)
    },
    async () => undefined
  );
  return { questions: new WorkflowApprovals({ sql, clock, outbox: queue }), sql, time };
}

const question = (eventType: string): WorkflowQuestion => ({
  workflow: { name: "TRIAGE", id: "w", stepName: "a", eventType },
  summary: "Wake the team?",
  input: { ticket: 7 }
});

test("a question that was decided while its workflow stopped waiting stays decided: it is not asked anew", () => {
  const { questions } = approvals();
  const id = questions.ask(question("e"));
  expect(questions.decide(id, { isApproved: true }, () => undefined)).toBe(true);
  questions.withdraw(id);
  questions.ask(question("e"));
  expect(questions.waiting(id)).toEqual([]);
  questions.ask(question("f"));
  questions.withdraw("workflow-f");
  expect(questions.waiting("workflow-f")).toEqual([]);
});

test("decided questions are forgotten after 30 days, and those that wait are not", () => {
  const { questions, sql, time } = approvals();
  questions.ask(question("waits"));
  questions.decide(questions.ask(question("decided")), { isApproved: false }, () => undefined);
  time.now = 29 * DAY;
  questions.ask(question("second"));
  const ids = () => sql.all<{ id: string }>("SELECT id FROM cf_workflow_approvals ORDER BY id").map(({ id }) => id);
  expect(ids()).toEqual(["workflow-decided", "workflow-second", "workflow-waits"]);
  time.now = 31 * DAY;
  questions.ask(question("third"));
  expect(ids()).toEqual(["workflow-second", "workflow-third", "workflow-waits"]);
});
