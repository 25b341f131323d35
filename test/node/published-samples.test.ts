// The published samples about tasks, agent tools and streaming from a sub-agent, with nothing changed but imports, models
// and `override`. They compile as they stand, and they do what the text beside them says.
import type { LanguageModel } from "ai";
import { afterEach, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { agentTool } from "../../src/features/agent-tools/index.ts";
import {
  Think,
  type StreamCallback,
  type SubmitMessagesResult,
  type ThinkScheduledTasks,
  type ThinkSubmissionInspection
} from "../../src/index.ts";
import { createTestHost, reply, scriptedModel, text, toolCall } from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

interface Env {
  DIGEST_WORKFLOW: { create(options: { id: string; params: object }): Promise<unknown> };
}

const models = new Map<string, LanguageModel>();
afterEach(() => models.clear());

// ── Scheduled tasks ──

class Planner extends Think<Env> {
  override getModel() {
    return models.get("planner") ?? "none";
  }
  override getDefaultTimezone() {
    return "Europe/London";
  }

  override getScheduledTasks(): ThinkScheduledTasks {
    return {
      weeklyCommitReport: {
        schedule: "every week on monday at 09:00",
        prompt: "Compile all my GitHub commits for the last week and write a concise summary."
      },
      workout: {
        schedule: "every day at 08:00 in Europe/London",
        prompt: "Start my workout."
      },
      customerDigest: {
        schedule: "every day at 09:00",
        timezone: "America/New_York",
        metadata: { workflowName: "customer-digest" },
        retry: { maxAttempts: 3 },
        handler: async ({ idempotencyKey, scheduledFor, scheduleKind, timezone }) => {
          await this.env.DIGEST_WORKFLOW.create({
            id: idempotencyKey,
            params: { scheduledFor, scheduleKind, timezone }
          });
        }
      }
    };
  }
}

test("the tasks of the sample run at their times: prompts as submissions, the handler with its key", async () => {
  models.set(
    "planner",
    scriptedModel(() => reply(text("ok")))
  );
  const created: { id: string; params: object }[] = [];
  const env = { DIGEST_WORKFLOW: { create: async (options: { id: string; params: object }) => created.push(options) } };
  const host = createTestHost({ agents: { Planner }, env });
  const planner = await host.get(Planner, "a");
  await host.idle();
  const tasks = await planner.listScheduledTasks();
  expect(tasks.map(({ taskId, timezone }) => [taskId, timezone])).toEqual([
    ["customerDigest", "America/New_York"],
    ["weeklyCommitReport", "Europe/London"],
    ["workout", "Europe/London"]
  ]);
  await host.advance(7 * 24 * 3_600_000);
  const submitted = await planner.listSubmissions({ status: "completed" });
  const byTask = Map.groupBy(submitted, ({ metadata }) => metadata?.["taskId"]);
  expect([byTask.get("workout")?.length, byTask.get("weeklyCommitReport")?.length, created.length]).toEqual([7, 1, 7]);
  expect(created[0]).toEqual({
    id: expect.stringMatching(/^think-schedule:.+:customerDigest:\d+$/),
    params: { scheduledFor: expect.any(Number), scheduleKind: "wall-clock", timezone: "America/New_York" }
  });
  // What it is called when the data behind the declarations has changed.
  await planner.internal_reconcileScheduledTasks();
  expect(await planner.listScheduledTasks()).toHaveLength(3);
});

// ── Choosing a turn API ──

class Clerk extends Think<Env> {
  override getModel() {
    return models.get("clerk") ?? "none";
  }
  protected override onSubmissionStatus(submission: ThinkSubmissionInspection) {
    expectTypeOf(submission.status).toEqualTypeOf<
      "pending" | "running" | "completed" | "aborted" | "skipped" | "error"
    >();
  }
}

test("a submission is accepted, looked at, cancelled and forgotten by the published names", async () => {
  models.set(
    "clerk",
    scriptedModel(() => reply(text("ok")))
  );
  const host = createTestHost({ agents: { Clerk } });
  const clerk = await host.get(Clerk, "a");
  const message = user("m", "hi");
  const result: SubmitMessagesResult = await clerk.submitMessages([message], {
    submissionId: "s",
    idempotencyKey: "k",
    metadata: { from: "webhook" },
    channel: "web"
  });
  expect(result).toMatchObject({ accepted: true, status: "pending", submissionId: "s", idempotencyKey: "k" });
  await host.idle();
  expect(await clerk.inspectSubmission("s")).toMatchObject({ status: "completed", metadata: { from: "webhook" } });
  await clerk.cancelSubmission("s", "too late");
  expect(await clerk.listSubmissions({ status: ["completed"], limit: 5 })).toHaveLength(1);
  expect(await clerk.deleteSubmissions({ status: "error", completedBefore: new Date(host.now), limit: 5 })).toBe(0);
  expect(await clerk.deleteSubmission("s")).toBe(true);
});

// ── Agent tools ──

class Researcher extends Think<Env> {
  override getModel() {
    return models.get("researcher") ?? "none";
  }
  override getSystemPrompt() {
    return "Research the requested topic and end with a concise summary.";
  }
}

class Assistant extends Think<Env> {
  override getModel() {
    return models.get("assistant") ?? "none";
  }
  override getTools() {
    return {
      research: agentTool(Researcher, {
        description: "Research one topic in depth.",
        inputSchema: z.object({ query: z.string().min(3) }),
        displayName: "Researcher"
      })
    };
  }

  // ── Sub-agent streaming via RPC ──

  async summarize(relay: StreamCallback) {
    const agent = await this.subAgent(Researcher, "thread-1");
    await agent.chat("Summarize the project", relay);
  }

  async relayed() {
    const seen: string[] = [];
    let requestId = "";
    await this.summarize({
      onStart: (event) => void (requestId = event.requestId),
      onEvent: (json) => void seen.push((JSON.parse(json) as { type: string }).type),
      onDone: () => void seen.push("done"),
      onError: (error) => void seen.push(error),
      onInterrupted: () => void seen.push("interrupted")
    });
    // It is over: this changes nothing.
    await (await this.subAgent(Researcher, "thread-1")).cancelChat(requestId, "not needed");
    return seen;
  }
}

test("the researcher of the sample is a tool: frames while it works, and its facet is kept until it is cleared", async () => {
  models.set(
    "assistant",
    scriptedModel([reply(toolCall("research", { query: "tides" }, { id: "c1" })), reply(text("The moon."))])
  );
  models.set("researcher", scriptedModel([reply(text("The moon pulls."))]));
  const host = createTestHost({ agents: { Assistant }, exports: [Researcher] });
  const socket = await host.connect("/agents/assistant/a");
  const assistant = await host.get(Assistant, "a");
  await assistant.saveMessages([user("q", "Why tides?")]);
  const frames = socket.frames as { type: string; event?: { kind: string } }[];
  const kinds = frames.flatMap(({ type, event }) => (type === "agent-tool-event" && event ? [event.kind] : []));
  expect([kinds[0], kinds.at(-1)]).toEqual(["started", "finished"]);
  expect(await assistant.listSubAgents()).toHaveLength(1);
  await assistant.clearAgentToolRuns();
  expect(await assistant.listSubAgents()).toEqual([]);
});

test("a child streams a turn to a callback of its parent", async () => {
  models.set("researcher", scriptedModel([reply(text("All is well."))]));
  const host = createTestHost({ agents: { Assistant }, exports: [Researcher] });
  const seen = await (await host.get(Assistant, "a")).relayed();
  expect(seen).toContain("text-delta");
  expect(seen.at(-1)).toBe("done");
});
