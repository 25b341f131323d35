import { expect, test, vi } from "vitest";
import { createTestHost, reply, scriptedModel, text, toolCall, type TestHost } from "everthink/testing";
import { WorkflowPlatform } from "../node/workflow-platform.ts";
import { answerOf, Newsroom, orderPaid, Support, Triage } from "./examples/submissions.ts";

test("the webhook of the submissions page is accepted once, in code and over HTTP", async () => {
  vi.spyOn(Support.prototype, "getModel").mockImplementation(() => scriptedModel(() => reply(text("Noted."))));
  const host = createTestHost({ agents: { Support }, env: { WEBHOOK_SECRET: "secret" } });
  const client = await host.connect("/agents/support/o1");
  const first = await orderPaid(host.env, { id: "evt", order: "o1" });
  expect(await orderPaid(host.env, { id: "evt", order: "o1" })).toEqual({ ...first, isRepeat: true });
  expect(await answerOf(host.env, "o1", first.submissionId)).toBe("completed");
  await host.idle();
  expect(client.frames).toContainEqual({ type: "submission", submissionId: first.submissionId, status: "completed" });
  const post = (secret: string) =>
    host.fetch("/agents/support/o1/submit", {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${secret}` },
      body: JSON.stringify({ input: "Hello" })
    });
  expect([(await post("wrong")).status, (await post("secret")).status]).toEqual([403, 202]);
});

test("the workflow of the submissions page prompts twice, with an approval in between", async () => {
  const model = scriptedModel([
    reply(toolCall("think_final_answer", { severity: "high", reason: "smoke" })),
    reply(text("We are on our way."))
  ]);
  vi.spyOn(Support.prototype, "getModel").mockReturnValue(model);
  const platform = new WorkflowPlatform(Triage);
  const host = createTestHost({ agents: { Support }, env: { TRIAGE: platform.binding, WEBHOOK_SECRET: "" } });
  platform.host = host as TestHost<unknown>;
  const agent = await host.get(Support, "o1");
  const workflowId = await agent.handle("smoke in the kitchen");
  await host.idle();
  expect(platform.instance(workflowId).status).toBe("running");
  const [asked] = await agent.pendingApprovals();
  expect(asked).toMatchObject({
    source: "workflow",
    descriptor: { summary: "Answer this one? smoke", action: "escalate" }
  });
  await agent.approveExecution(asked?.executionId ?? "");
  await host.idle();
  expect(platform.instance(workflowId)).toMatchObject({ status: "complete", output: "We are on our way." });
});

test("the digest of the tasks page is submitted at half past eight, and the cleanup is called", async () => {
  vi.spyOn(Newsroom.prototype, "getModel").mockImplementation(() => scriptedModel(() => reply(text("News."))));
  // A Tuesday.
  const host = createTestHost({ agents: { Newsroom }, now: Date.UTC(2030, 0, 1) });
  const agent = await host.get(Newsroom, "main");
  await host.idle();
  await host.advance(9 * 3_600_000);
  const [submission] = await agent.listSubmissions();
  expect(submission).toMatchObject({ status: "completed", metadata: { taskId: "digest" } });
  const tasks = await agent.listScheduledTasks();
  expect(tasks.map(({ taskId, lastOutcome }) => [taskId, lastOutcome])).toEqual([
    ["cleanup", "handled"],
    ["digest", "submitted"]
  ]);
});
