// A workflow prompts its agent: a typed result, once, whatever is killed on the way.
import { tool, type UIMessage } from "ai";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { OUTBOX_AGE_MS } from "../../src/features/workflows/prompt-outbox.ts";
import { everyCrash, reply, stall, text, toolCall } from "../../src/testing/index.ts";
import { open, scene, Support, supportOf, verdict, type Host } from "./workflow-prompts-kit.ts";
import { linesOf, user } from "../kit/messages.ts";

// A week of retries, and a run per point at which it is killed.
vi.setConfig({ testTimeout: 120_000 });

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

const outboxOf = (host: Host) =>
  host.sql(
    Support,
    "a",
    "SELECT failures, settled_at IS NOT NULL AS over, payload FROM cf_work WHERE kind = 'workflow-notification' ORDER BY key"
  );

test("a prompt returns the validated object; its tool leaves no trace in the conversation and calls no tool hook", async () => {
  const { host, platform } = open();
  const agent = await supportOf(host);
  await agent.start([{ name: "classify", prompt: "a fire" }], "w");
  await host.idle();
  expect(platform.instance("w")).toMatchObject({ status: "complete", output: [{ severity: "high" }] });
  const messages = (await agent.getMessages()) as UIMessage[];
  expect(messages.map(({ role, parts }) => [role, parts[0]?.type])).toEqual([["user", "text"]]);
  expect(scene.toolHooks).toEqual([]);
  const [submission] = await agent.listSubmissions();
  expect(submission).toMatchObject({ status: "completed", output: { severity: "high" } });
  expect(submission?.idempotencyKey).toBe("think-workflow:TRIAGE:w:classify");
  expect(outboxOf(host)).toEqual([{ failures: 0, over: 1, payload: "null" }]);
  expect(scene.script.calls[0]?.toolChoice).toEqual({ type: "tool", toolName: "think_final_answer" });
});

test("tools may be used first; some call is required, and text beside the answer is kept", async () => {
  const { host, platform } = open([
    reply(toolCall("look", {})),
    reply(text("It is bad."), toolCall("think_final_answer", { severity: "high" }))
  ]);
  vi.spyOn(Support.prototype, "getTools").mockReturnValue({
    look: tool({ inputSchema: z.object({}), execute: async () => "flames" })
  });
  const agent = await supportOf(host);
  await agent.start([{ name: "classify", prompt: "a fire" }], "w");
  await host.idle();
  expect(platform.instance("w").output).toEqual([{ severity: "high" }]);
  expect(scene.toolHooks).toEqual(["before look", "after look"]);
  expect(scene.script.calls.map(({ toolChoice }) => toolChoice)).toEqual([{ type: "required" }, { type: "required" }]);
  const parts = ((await agent.getMessages()) as UIMessage[]).at(-1)?.parts.map(({ type }) => type);
  expect(parts).toEqual(["step-start", "tool-look", "step-start", "text"]);
});

test("a class with a tool of that name has the answer under another", async () => {
  const { host, platform } = open([reply(toolCall("think_final_answer_1", { severity: "low" }))]);
  vi.spyOn(Support.prototype, "getTools").mockReturnValue({
    think_final_answer: tool({ inputSchema: z.object({}), execute: async () => "mine" })
  });
  await (await supportOf(host)).start([{ name: "classify", prompt: "x" }], "w");
  await host.idle();
  expect(platform.instance("w").output).toEqual([{ severity: "low" }]);
});

test("without a shape the result is the text of the answer", async () => {
  const { host, platform } = open([reply(text("Hello there."))]);
  await (await supportOf(host)).start([{ name: "greet", prompt: "Greet.", plain: true }], "w");
  await host.idle();
  expect(platform.instance("w").output).toEqual(["Hello there."]);
});

test("a prompt says how many steps it may take and which model it wants; other prompts are as the class says", async () => {
  const { host, platform } = open(() => reply(text("Looking."), toolCall("look", {})));
  const hints: unknown[] = [];
  vi.spyOn(Support.prototype, "getTools").mockReturnValue({
    look: tool({ inputSchema: z.object({}), execute: async () => "flames" })
  });
  vi.spyOn(Support.prototype, "beforeTurn").mockImplementation(({ modelHint }) => void hints.push(modelHint));
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const agent = await supportOf(host);
  const short = { name: "short", prompt: "x", plain: true, maxSteps: 2, model: "small" };
  await agent.start([short, { name: "long", prompt: "y", plain: true }], "w");
  await host.idle();
  expect(platform.instance("w").status).toBe("complete");
  expect(hints).toEqual(["small", undefined]);
  expect(scene.script.calls).toHaveLength(2 + 10);
});

test("a loop with different keys submits each; a second workflow has prompts of its own", async () => {
  const { host, platform } = open();
  const agent = await supportOf(host);
  const asks = ["one", "a fire"].map((prompt) => ({ name: "classify", prompt, key: prompt }));
  await agent.start(asks, "w1");
  await agent.start(asks, "w2");
  await host.idle();
  expect([platform.instance("w1").output, platform.instance("w2").output]).toEqual([
    [{ severity: "low" }, { severity: "high" }],
    [{ severity: "low" }, { severity: "high" }]
  ]);
  expect(await agent.listSubmissions()).toHaveLength(4);
});

test("cancelled, skipped and ill-shaped answers have their own errors, with the submission", async () => {
  const { host, platform } = open((call) => {
    const last = JSON.stringify(call.prompt.at(-1));
    if (last.includes("shapeless")) return reply(toolCall("think_final_answer", { severity: "odd" }));
    return reply(stall());
  });
  const agent = await supportOf(host);
  await agent.start([{ name: "a", prompt: "shapeless" }], "shapeless");
  await agent.start([{ name: "a", prompt: "held" }], "aborted");
  await agent.start([{ name: "a", prompt: "held" }], "skipped");
  await host.idle();
  const [skipped, aborted] = await agent.listSubmissions();
  expect([aborted?.status, skipped?.status]).toEqual(["running", "pending"]);
  await agent.cancelSubmission(aborted?.submissionId ?? "");
  // The next one begins: clearing while it waits is the point.
  await agent.clearMessages();
  await host.idle();
  const outputs = ["shapeless", "aborted"].map((id) => platform.instance(id).output);
  expect(outputs).toEqual([
    [{ error: "ThinkPromptValidationError", status: "error", of: true }],
    [{ error: "ThinkPromptAbortedError", status: "aborted", of: true }]
  ]);
  expect(platform.instance("skipped").output).toEqual([
    expect.objectContaining({ error: expect.stringMatching(/^ThinkPrompt(?:Skipped|Aborted)Error$/) })
  ]);
});

test("an answer without the call is an error that names the tool; the class's own choice of tools comes first", async () => {
  const { host, platform } = open([reply(text("no tool"))]);
  vi.spyOn(Support.prototype, "beforeTurn").mockReturnValue({ toolChoice: "auto" });
  const agent = await supportOf(host);
  await agent.start([{ name: "a", prompt: "x" }], "w");
  await host.idle();
  expect(scene.script.calls[0]?.toolChoice).toEqual({ type: "auto" });
  expect(platform.instance("w").output).toEqual([{ error: "ThinkPromptFailedError", status: "error", of: true }]);
  const [submission] = await agent.listSubmissions();
  expect(submission).toMatchObject({ status: "error", error: expect.stringContaining("think_final_answer") });
});

test("another prompt under the same step name is refused, and not answered with the old one", async () => {
  const { host, platform } = open();
  const agent = await supportOf(host);
  await agent.start(
    [
      { name: "classify", prompt: "one" },
      { name: "classify", prompt: "two" }
    ],
    "w"
  );
  await host.idle();
  expect(platform.instance("w").output).toEqual([
    { severity: "low" },
    { error: "ThinkPromptReusedError", status: "error", of: true }
  ]);
});

test("a notification that cannot be sent delays no other, and is dropped after a week or when its workflow is gone", async () => {
  const { host, platform } = open();
  const agent = await supportOf(host);
  const send = platform.binding.get;
  platform.binding.get = async (id) => {
    if (id === "stuck") throw new Error("try again later");
    if (id === "gone") throw new Error("instance.not_found");
    return send(id);
  };
  for (const id of ["stuck", "gone", "fine"]) await agent.start([{ name: "classify", prompt: "one" }], id);
  await host.advance(10_000);
  expect(platform.instance("fine").status).toBe("complete");
  const dropped = () => scene.events.filter(({ type }) => type === "workflow:notification:dropped").length;
  expect(dropped()).toBe(1);
  const pending = outboxOf(host).filter(({ over }) => over === 0);
  expect(pending).toHaveLength(1);
  expect(Number(pending[0]?.["failures"])).toBeGreaterThan(1);
  await host.advance(OUTBOX_AGE_MS + 600_000);
  expect(dropped()).toBe(2);
  expect(host.alarm(Support, "a")).toBeNull();
});

test("a platform that does not answer delays no other notification, and is asked again", async () => {
  const { host, platform } = open();
  const agent = await supportOf(host);
  const send = platform.binding.get;
  let isSilent = true;
  platform.binding.get = async (id) => (isSilent && id === "silent" ? new Promise<never>(() => undefined) : send(id));
  await agent.start([{ name: "classify", prompt: "one" }], "silent");
  await host.advance(5_000);
  expect(host.alarm(Support, "a")).toBeGreaterThan(host.now + 10_000);
  await agent.start([{ name: "classify", prompt: "two" }], "fine");
  await host.advance(40_000);
  expect(platform.instance("fine").status).toBe("complete");
  isSilent = false;
  await host.advance(3_600_000);
  expect(platform.instance("silent").status).toBe("complete");
  expect(host.alarm(Support, "a")).toBeNull();
});

test("a sub-agent's workflow prompts that sub-agent", async () => {
  const { host, platform } = open();
  const agent = await supportOf(host);
  await agent.startBelow("child", [{ name: "classify", prompt: "a fire" }], "w");
  await host.idle();
  expect(platform.instance("w").output).toEqual([{ severity: "high" }]);
  expect([await agent.messagesOf("child"), ((await agent.getMessages()) as UIMessage[]).length]).toEqual([1, 0]);
});

test("configuration under another name, or in a request body, has no effect", async () => {
  const { host } = open([reply(text("plain"))]);
  const agent = await supportOf(host);
  const config = { workflow: { name: "TRIAGE", id: "w", stepName: "a", eventType: "e" }, output: { schema: {} } };
  const message = user("u", "Hi");
  await agent.submitMessages([message], {
    metadata: { thinkWorkflowPrompt: config },
    body: { __thinkWorkflowPrompt: config }
  });
  await host.idle();
  expect(scene.script.calls[0]?.tools ?? []).toEqual([]);
  expect(host.sql(Support, "a", "SELECT name FROM sqlite_master WHERE name = 'cf_work'")).toEqual([]);
});

test("killed at any write or await, the workflow has its answer once, and the prompt is in the conversation once", async () => {
  const platforms = new WeakMap<Host, ReturnType<typeof open>["platform"]>();
  const { points } = await everyCrash<Host>({
    create: () => {
      const { host, platform } = open(verdict);
      platforms.set(host, platform);
      return host;
    },
    script: async (host) => {
      await (await supportOf(host)).start([{ name: "classify", prompt: "a fire" }], "w");
    },
    finish: async (host) => {
      const platform = platforms.get(host);
      const agent = await supportOf(host);
      if (!platform?.instances.has("w"))
        await agent.start([{ name: "classify", prompt: "a fire" }], "w").catch(() => undefined);
      await host.advance(60_000);
      await platform?.resume();
      await host.advance(5 * 60_000);
    },
    inspect: async (host) => {
      const agent = await supportOf(host);
      const messages = (await agent.getMessages()) as UIMessage[];
      const instance = platforms.get(host)?.instance("w");
      return {
        output: instance?.output,
        asked: messages.filter(({ role }) => role === "user").length,
        submissions: (await agent.listSubmissions()).map(({ status, output }) => [status, output]),
        notifications: outboxOf(host).length
      };
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(20);
});

const HUMAN = [{ name: "escalate", prompt: "Wake the team?", human: true }];

test("a question to a human waits among the approvals, and the workflow goes on with the first decision", async () => {
  const { host, platform } = open();
  const agent = await supportOf(host);
  await agent.start(HUMAN, "yes");
  await agent.start(HUMAN, "no");
  await host.idle();
  await host.restart();
  const again = await supportOf(host);
  await platform.resume();
  const [yes, no] = await again.pendingApprovals();
  expect(yes).toMatchObject({
    source: "workflow",
    descriptor: { action: "escalate", summary: "Wake the team?", input: { ticket: 7 }, risk: "high", requestId: "yes" }
  });
  const decide = (id = "", inputHash?: string) =>
    again.approveExecution(id, { by: "ada", ...(inputHash !== undefined && { inputHash }) });
  expect(await decide(yes?.executionId, "another")).toMatchObject({ status: "error" });
  expect(await again.approveExecution(yes?.executionId ?? "", { by: "eve" })).toMatchObject({ status: "error" });
  expect(await decide(yes?.executionId, yes?.inputHash)).toEqual({ approved: true, by: "ada" });
  expect(await again.rejectExecution(yes?.executionId ?? "", "late", { by: "ada" })).toMatchObject({ status: "error" });
  await again.rejectExecution(no?.executionId ?? "", "let them sleep", { by: "ada" });
  await host.idle();
  expect([platform.instance("yes").output, platform.instance("no").output]).toEqual([
    [{ approved: true, by: "ada" }],
    [{ approved: false, reason: "let them sleep", by: "ada" }]
  ]);
  expect(await again.pendingApprovals()).toEqual([]);
});

test("a question is listed and decided over HTTP, also at an agent that has no actions", async () => {
  const { host, platform } = open();
  const address = "/agents/support/a/approvals";
  // Where no workflow has asked anything, the address is the class's own.
  expect((await host.fetch(address)).status).toBe(404);
  await (await supportOf(host)).start(HUMAN, "w");
  await host.idle();
  const [asked] = (await (await host.fetch(address)).json()) as { executionId: string; source: string }[];
  expect(asked).toMatchObject({ source: "workflow" });
  const decide = (by: string, user = "") =>
    host.fetch(`${address}/${asked?.executionId}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-User": user },
      body: JSON.stringify({ decision: "approve", by })
    });
  expect((await decide("ada")).status).toBe(409);
  expect((await decide("ada", "eve")).status).toBe(409);
  expect((await decide("eve", "ada")).status).toBe(200);
  expect((await decide("eve", "ada")).status).toBe(409);
  await host.idle();
  expect(platform.instance("w").output).toEqual([{ approved: true, by: "ada" }]);
  expect(await (await host.fetch(address)).json()).toEqual([]);
});

test("a decision that is sent again gets its first answer, also after a restart, and the workflow is told once", async () => {
  for (const [decision, answer] of [
    ["approve", { approved: true, reason: "seen", by: "ada" }],
    ["reject", { approved: false, reason: "seen", by: "ada" }]
  ] as const) {
    const { host, platform } = open();
    const address = "/agents/support/a/approvals";
    await (await supportOf(host)).start(HUMAN, "w");
    await host.idle();
    const [asked] = (await (await host.fetch(address)).json()) as { executionId: string; inputHash: string }[];
    const { executionId = "", inputHash = "" } = asked ?? {};
    const post = async (body: object, user = "ada") => {
      const headers = { "Content-Type": "application/json", "X-User": user };
      const init = { method: "POST", headers, body: JSON.stringify({ decision, reason: "seen", inputHash, ...body }) };
      const response = await host.fetch(`${address}/${executionId}`, init);
      return { status: response.status, ...((await response.json()) as { output: unknown }) };
    };
    const first = await post({});
    expect(first).toEqual({ status: 200, output: answer });
    expect(await post({})).toEqual(first);
    await host.idle();
    await host.restart();
    await platform.resume();
    expect(await post({})).toEqual(first);
    const other = decision === "approve" ? "reject" : "approve";
    for (const body of [{ decision: other }, { inputHash: "another" }, { inputHash: undefined }])
      expect([body, (await post(body)).status]).toEqual([body, 409]);
    expect((await post({}, "eve")).status).toBe(409);
    await host.idle();
    expect(platform.instance("w").output).toEqual([answer]);
  }
});

test("killed at any write or await of a decision, the workflow is told once", async () => {
  const platforms = new WeakMap<Host, ReturnType<typeof open>["platform"]>();
  const approve = async (host: Host) => {
    const agent = await supportOf(host);
    const [asked] = await agent.pendingApprovals();
    if (asked) await agent.approveExecution(asked.executionId, { by: "ada" });
  };
  await everyCrash<Host>({
    create: async () => {
      const { host, platform } = open();
      platforms.set(host, platform);
      await (await supportOf(host)).start(HUMAN, "w");
      await host.idle();
      return host;
    },
    script: approve,
    finish: async (host) => {
      await approve(host);
      await host.advance(60_000);
      await platforms.get(host)?.resume();
      await host.advance(60_000);
    },
    inspect: (host) => [platforms.get(host)?.instance("w").output, outboxOf(host).length],
    points: "both"
  });
});

test("a steer that meets a prompt with a shape is the next turn: the workflow is given its object", async () => {
  const looked = Promise.withResolvers<string>();
  const { host, platform } = open([
    reply(toolCall("look", {})),
    reply(toolCall("think_final_answer", { severity: "high" })),
    reply(text("Calm down."))
  ]);
  vi.spyOn(Support.prototype, "getTools").mockReturnValue({
    look: tool({ inputSchema: z.object({}), execute: () => looked.promise })
  });
  const agent = await supportOf(host);
  await agent.start([{ name: "classify", prompt: "a fire" }], "w");
  await host.idle();
  await agent.steer("it is only smoke", { id: "s1" });
  expect(await agent.inspectReceipt("s1")).toMatchObject({ state: "accepted" });
  looked.resolve("flames");
  await host.idle();
  expect(platform.instance("w")).toMatchObject({ status: "complete", output: [{ severity: "high" }] });
  expect(await agent.inspectReceipt("s1")).toMatchObject({ state: "started" });
  expect(linesOf((await agent.getMessages()) as UIMessage[]).slice(-2)).toEqual([
    "user:it is only smoke",
    "assistant:Calm down."
  ]);
});

test("a prompt without a shape that is steered returns the answer of the turn that took over", async () => {
  const looked = Promise.withResolvers<string>();
  const { host, platform } = open([reply(text("Looking. "), toolCall("look", {})), reply(text("Only smoke."))]);
  vi.spyOn(Support.prototype, "getTools").mockReturnValue({
    look: tool({ inputSchema: z.object({}), execute: () => looked.promise })
  });
  const agent = await supportOf(host);
  await agent.start([{ name: "greet", prompt: "a fire", plain: true }], "w");
  await host.idle();
  await agent.steer("it is only smoke", { id: "s1" });
  looked.resolve("flames");
  await host.idle();
  expect(platform.instance("w").output).toEqual(["Only smoke."]);
});
