// Submissions, tasks and prompts of workflows on the platform itself: its storage, its alarms, its workflow engine.
import { abortAllDurableObjects, introspectWorkflowInstance, runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, expect, test } from "vitest";
import { getAgentByName } from "../../src/agent-class/index.ts";
import { env, fetchPath, plain, sqlOf, uniqueName } from "./world.ts";
import { user } from "../kit/messages.ts";

// What an earlier test left running must not hold up this one's evictions.
beforeEach(() => abortAllDurableObjects());

async function openTriager() {
  const name = uniqueName("triager");
  return { name, id: uniqueName("wf"), agent: await getAgentByName(env.Triager, name) };
}

const question = (text: string) => [user(uniqueName("u"), text)];

test("a submission is accepted, runs, and is one row with its end", async () => {
  const { agent } = await openTriager();
  const { submissionId, accepted } = await plain(agent.submitMessages(question("hello"), { idempotencyKey: "k" }));
  expect(accepted).toBe(true);
  expect(await plain(agent.waitForSubmission(submissionId))).toMatchObject({ status: "completed" });
  expect(await plain(agent.submitMessages(question("hello"), { idempotencyKey: "k" }))).toMatchObject({
    accepted: false
  });
  expect(await sqlOf(agent, "SELECT status, request FROM cf_submissions")).toEqual([
    { status: "completed", request: null }
  ]);
});

test("a webhook is accepted over HTTP, and refused without its secret", async () => {
  const { name, agent } = await openTriager();
  const post = (authorization: string) =>
    fetchPath(`/agents/triager/${name}/submit`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": "evt-1", Authorization: authorization },
      body: JSON.stringify({ input: "from a webhook" })
    });
  const responses = [await post("Bearer wrong"), await post("Bearer right"), await post("Bearer right")];
  expect(responses.map(({ status }) => status)).toEqual([403, 202, 200]);
  await Promise.all(responses.map((response) => response.body?.cancel()));
  expect(await plain(agent.statuses())).toHaveLength(1);
});

test("one that waits when the object is evicted runs from its alarm", async () => {
  const { name, agent } = await openTriager();
  await plain(agent.submitMessages(question("silence"), { submissionId: "held" }));
  await plain(agent.submitMessages(question("hello"), { submissionId: "next" }));
  await plain(agent.cancelSubmission("held"));
  await abortAllDurableObjects();
  const again = await getAgentByName(env.Triager, name);
  await runDurableObjectAlarm(again);
  expect(await plain(again.waitForSubmission("next"))).toMatchObject({ status: "completed" });
  expect(await plain(again.inspectSubmission("held"))).toMatchObject({ status: "aborted" });
});

test("a task by the clock has its next time, which is the platform's for that zone", async () => {
  const { agent } = await openTriager();
  await plain(agent.reconcileScheduledTasks());
  const [next = 0] = await plain(agent.nextRuns());
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/London", timeStyle: "short" }).format(next);
  expect(parts).toBe("01:30");
  expect(next - Date.now()).toBeLessThanOrEqual(25 * 3_600_000);
});

test("a workflow with two prompts has both answers, and each prompt is submitted once", async () => {
  const { agent, id } = await openTriager();
  await using instance = await introspectWorkflowInstance(env.TRIAGE as Workflow, id);
  await agent.triage("a fire", id);
  await instance.waitForStatus("complete");
  expect(await instance.getOutput()).toEqual({ severity: "high", summary: "re Summarise a high one." });
  expect(await plain(agent.statuses())).toEqual(["completed", "completed"]);
  const notifications =
    "SELECT payload, settled_at IS NOT NULL AS sent FROM cf_work WHERE kind = 'workflow-notification'";
  const outbox = await sqlOf(agent, notifications);
  expect(outbox).toEqual([
    { payload: "null", sent: 1 },
    { payload: "null", sent: 1 }
  ]);
});

test("a prompt that is not answered in time is cancelled, and the workflow is told so", async () => {
  const { agent, id } = await openTriager();
  await using instance = await introspectWorkflowInstance(env.TRIAGE as Workflow, id);
  await instance.modify((modifier) => modifier.forceEventTimeout({ name: "classify:wait" }));
  await agent.triage("silence", id);
  await instance.waitForStatus("complete");
  expect(await instance.getOutput()).toEqual({ timedOut: true });
  expect(await plain(agent.statuses())).toEqual(["aborted"]);
});

test("a question of a workflow is decided through the agent's approvals", async () => {
  const { agent, id } = await openTriager();
  await using instance = await introspectWorkflowInstance(env.TRIAGE as Workflow, id);
  await agent.triage("ask a human", id);
  await instance.waitForStepResult({ name: "escalate:ask" });
  const [executionId = ""] = await plain(agent.waiting());
  const decided: unknown = await agent.approveExecution(executionId, { by: "ada" });
  expect(decided).toMatchObject({ approved: true, by: "ada" });
  await instance.waitForStatus("complete");
  expect(await instance.getOutput()).toEqual({ severity: "low", decision: { approved: true, by: "ada" } });
});
