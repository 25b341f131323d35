// A submission is accepted at once, runs in order, and reaches one end that never changes.
import { tool, type UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { ChatResponseResult } from "../../src/index.ts";
import { HOOK_LIMIT_MS } from "../../src/features/submissions/status-calls.ts";
import {
  createGate,
  createTestHost,
  failInBand,
  reply,
  stall,
  text,
  toolCall,
  type Steps
} from "../../src/testing/index.ts";
import {
  asked,
  Clerk,
  clerkOf,
  echo,
  eventsOf,
  gatedAt,
  open,
  said,
  scene,
  statusOf,
  submitted
} from "./submissions-kit.ts";
import { user } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

describe("acceptance", () => {
  test("a submission is pending when it is returned, with no model call and no message yet", async () => {
    const seen: unknown[] = [];
    const host = open(echo, {
      status: ({ status }, agent) => void seen.push([status, agent.messages.length, scene.script.callCount])
    });
    const [result] = await submitted(host, "a");
    expect(result).toMatchObject({ submissionId: "a", requestId: "a", status: "pending", accepted: true });
    expect(seen[0]).toEqual(["pending", 0, 0]);
    await host.idle();
    expect(await (await clerkOf(host)).inspectSubmission("a")).toMatchObject({ status: "completed" });
    expect(await said(host)).toEqual(["user: a", "assistant: re a"]);
  });

  test("an empty list is refused with its message, and nothing is stored", async () => {
    const agent = await clerkOf(open());
    await expect(agent.submitMessages([])).rejects.toThrow("submitMessages requires at least one message");
    await expect(agent.submitText("")).rejects.toThrow("requires at least one message");
    expect(await agent.listSubmissions()).toEqual([]);
  });

  test("a status hook that does not return holds up its caller, its turn and the next status for 10 s, and no longer", async () => {
    const host = open(echo, {
      status: ({ status }) => (status === "completed" ? undefined : new Promise(() => undefined))
    });
    const result = (await clerkOf(host)).submitMessages([user("u1")], { submissionId: "a" });
    await host.advance(HOOK_LIMIT_MS - 1);
    expect([scene.statuses, scene.script.callCount]).toEqual([["a pending"], 0]);
    await host.advance(1);
    expect(await result).toMatchObject({ submissionId: "a", accepted: true });
    await host.advance(HOOK_LIMIT_MS - 1);
    expect([scene.statuses, await statusOf(host, "a")]).toEqual([["a pending", "a running"], "completed"]);
    await host.advance(1);
    expect(scene.statuses).toEqual(["a pending", "a running", "a completed"]);
  });

  test("the hook for pending has returned before the caller has its result, and its throw changes nothing", async () => {
    const gate = createGate();
    const host = open(echo, {
      status: async ({ status }) => {
        if (status !== "pending") return;
        await gate.opened;
        throw new Error("a bug of the hook");
      }
    });
    const agent = await clerkOf(host);
    let isReturned = false;
    const call = agent.submitMessages([user("u")]).then((result) => {
      isReturned = true;
      return result;
    });
    await host.idle();
    expect([isReturned, scene.script.callCount]).toEqual([false, 0]);
    gate.open();
    expect(await call).toMatchObject({ accepted: true });
    await host.idle();
    expect(await said(host)).toEqual(["user: u", "assistant: re u"]);
  });

  test("a submission does not run before the hook for pending has returned, whatever else ends meanwhile", async () => {
    const gate = createGate();
    const host = open(echo, { status: ({ status }) => (status === "pending" ? gate.opened : undefined) });
    const accepted = submitted(host, "a");
    await host.idle();
    await (await clerkOf(host)).say("chat");
    await host.idle();
    expect([await statusOf(host, "a"), scene.script.callCount]).toEqual(["pending", 1]);
    gate.open();
    await accepted;
    await host.idle();
    expect(scene.statuses).toEqual(["a pending", "a running", "a completed"]);
  });

  test("runTurn submits a text, a message and a list under the same options", async () => {
    const host = open();
    const agent = await clerkOf(host);
    const one = await agent.submitText("Hello", { idempotencyKey: "k", metadata: { from: "test" }, channel: "mail" });
    expect(one).toMatchObject({ accepted: true, idempotencyKey: "k", metadata: { from: "test" } });
    await host.idle();
    expect(await said(host)).toEqual(["user: Hello", "assistant: re Hello"]);
    const [question] = (await agent.getMessages()) as UIMessage[];
    expect(question?.metadata).toEqual({ channel: "mail" });
  });

  test("a submission that is too large, or whose id or key cannot be used, is refused by name", async () => {
    const agent = await clerkOf(open());
    const large = "x".repeat(17 * 1024 * 1024);
    await expect(agent.submitText(large)).rejects.toThrow("more than 16777216 bytes");
    await expect(agent.submitText("x", { submissionId: " " })).rejects.toThrow("submissionId");
    await expect(agent.submitText("x", { idempotencyKey: "k".repeat(1_025) })).rejects.toThrow("idempotencyKey");
    await expect(agent.submitText("x", { metadata: { big: "x".repeat(65_537) } })).rejects.toThrow("metadata");
    expect(await agent.listSubmissions()).toEqual([]);
  });

  test("a submission made in a response hook is not part of it: its own response hook waits for that one", async () => {
    const [gate, ends] = [createGate(), [] as string[]];
    class Responding extends Clerk {
      override async onChatResponse({ message }: ChatResponseResult) {
        const [words = ""] = message.parts.flatMap((part) => (part.type === "text" ? part.text : []));
        if (words === "re first") {
          await this.submitMessages([user("second")]);
          await gate.opened;
        }
        ends.push(words);
      }
    }
    open();
    const host = createTestHost({ agents: { Responding } });
    await (await host.get(Responding, "a")).submitMessages([user("first")]);
    await host.idle();
    expect([scene.script.callCount, ends]).toEqual([2, []]);
    gate.open();
    await host.idle();
    expect(ends).toEqual(["re first", "re second"]);
  });
});

describe("ids and keys", () => {
  test.each([
    ["one after the other", false],
    ["at once", true]
  ])("the same key %s is one submission, one message and one run", async (_how, isAtOnce) => {
    const host = open();
    const agent = await clerkOf(host);
    const submit = () => agent.submitMessages([user("u")], { idempotencyKey: "k" });
    const results = isAtOnce ? await Promise.all([submit(), submit()]) : [await submit(), await submit()];
    await host.idle();
    expect(results.map(({ accepted }) => accepted)).toEqual([true, false]);
    expect(new Set(results.map(({ submissionId }) => submissionId)).size).toBe(1);
    expect(await said(host)).toEqual(["user: u", "assistant: re u"]);
    expect(scene.script.callCount).toBe(1);
  });

  test("an id and a key of different submissions are refused; an id without a key keeps having none", async () => {
    const agent = await clerkOf(open());
    const submit = (submissionId?: string, idempotencyKey?: string) =>
      agent.submitMessages([user("u")], {
        ...(submissionId !== undefined && { submissionId }),
        ...(idempotencyKey !== undefined && { idempotencyKey })
      });
    await submit("a", "ka");
    await submit("b", "kb");
    await submit("c");
    const mismatch = "submissionId and idempotencyKey refer to different submissions";
    await expect(submit("a", "kb")).rejects.toThrow(mismatch);
    await expect(submit("a", "new")).rejects.toThrow(mismatch);
    await expect(submit("new", "ka")).rejects.toThrow(mismatch);
    expect(await submit("a", "ka")).toMatchObject({ accepted: false, submissionId: "a" });
    expect(await submit(undefined, "kb")).toMatchObject({ accepted: false, submissionId: "b" });
    const unkeyed = await submit("c", "kc");
    expect([unkeyed.accepted, unkeyed.idempotencyKey]).toEqual([false, undefined]);
  });

  test("a repeated key with other messages says so, and keeps the first ones", async () => {
    const host = open();
    const agent = await clerkOf(host);
    await agent.submitMessages([user("u1", "first")], { idempotencyKey: "k" });
    const same = await agent.submitMessages([user("u2", "first")], { idempotencyKey: "k" });
    const other = await agent.submitMessages([user("u3", "other")], { idempotencyKey: "k" });
    await host.idle();
    expect([same.conflict, other.conflict]).toEqual([undefined, true]);
    expect(await said(host)).toEqual(["user: first", "assistant: re first"]);
  });

  test("a deleted submission gives its key back", async () => {
    const host = open();
    const agent = await clerkOf(host);
    const first = await agent.submitMessages([user("u1")], { idempotencyKey: "k" });
    await host.idle();
    expect(await agent.deleteSubmission(first.submissionId)).toBe(true);
    expect(await agent.inspectSubmission(first.submissionId)).toBeNull();
    expect(await agent.submitMessages([user("u2")], { idempotencyKey: "k" })).toMatchObject({ accepted: true });
  });

  test("a callback that is run again after a crash has submitted once", async () => {
    const host = open();
    const agent = await clerkOf(host);
    await agent.later(1);
    host.crashInsideAwait(40);
    await host.advance(5_000);
    if (host.crashed) await host.restart();
    await host.advance(120_000);
    expect(await said(host)).toEqual(["user: later", "assistant: re later"]);
    expect(await (await clerkOf(host)).listSubmissions()).toHaveLength(1);
  });
});

describe("order", () => {
  test("submissions of one millisecond complete in the order of acceptance, and a client's turn runs between them", async () => {
    const { gate, steps } = gatedAt("one");
    const host = open(steps);
    await submitted(host, "one", "two", "three");
    await gate.reached;
    const socket = await host.connect("/agents/clerk/a");
    sendChat(socket, "chat", [user("u-chat", "chat")]);
    await host.idle();
    gate.open();
    await host.idle();
    expect(await said(host)).toEqual([
      ...["user: one", "assistant: part whole"],
      ...["user: chat", "assistant: re chat"],
      ...["user: two", "assistant: re two"],
      ...["user: three", "assistant: re three"]
    ]);
    expect(scene.script.calls.map((call) => call.prompt.filter(({ role }) => role === "user").length)).toEqual([
      1, 2, 3, 4
    ]);
  });

  test("a client is not shown a submission that waits, and is shown it when its time has come", async () => {
    const { gate, steps } = gatedAt("one");
    const host = open(steps);
    await submitted(host, "one", "two");
    await gate.reached;
    const socket = await host.connect("/agents/clerk/a");
    await host.idle();
    const fetched = await (await host.fetch("/agents/clerk/a/get-messages")).text();
    expect([fetched.includes("u-one"), fetched.includes("u-two")]).toEqual([true, false]);
    expect(JSON.stringify(socket.frames)).not.toContain("u-two");
    gate.open();
    await host.idle();
    expect(JSON.stringify(socket.frames)).toContain("u-two");
  });

  test("one that is submitted inside a tool runs after the turn it came from", async () => {
    const steps: Steps = (call) => {
      if (asked(call) !== "start") return reply(text(`re ${asked(call)}`));
      return call.prompt.at(-1)?.role === "tool" ? reply(text("done")) : reply(toolCall("delegate", {}));
    };
    const host = open(steps, {
      tools: (agent) => ({
        delegate: tool({
          inputSchema: z.object({}),
          execute: async () => (await agent.submitMessages([user("u-sub", "delegated")])).status
        })
      })
    });
    const agent = await clerkOf(host);
    await agent.say("start");
    await host.idle();
    expect((await said(host)).slice(-2)).toEqual(["user: delegated", "assistant: re delegated"]);
    const [submission] = await agent.listSubmissions();
    expect(submission?.status).toBe("completed");
  });

  // A thousand turns.
  test("a thousand drain in order; each reads and writes as much as the first", { timeout: 240_000 }, async () => {
    const { gate, steps } = gatedAt("first");
    // The history that the model reads has the same size all the time.
    const host = open(steps, { historyBytes: 2_000 });
    await submitted(host, "first");
    await gate.reached;
    const agent = await clerkOf(host);
    const ids = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
    for (const id of ids) await agent.submitMessages([user(`u-${id}`, id)], { submissionId: id });
    const counts: number[] = [];
    scene.behaviour.status = ({ status }) => {
      if (status === "running") counts.push(host.counts.rowsRead);
    };
    gate.open();
    await host.idle();
    const submissions = await agent.listSubmissions({ limit: 100 });
    expect(submissions.every(({ status }) => status === "completed")).toBe(true);
    const runs = scene.statuses.filter((line) => line.endsWith(" running")).slice(1);
    expect(runs).toEqual(ids.map((id) => `${id} running`));
    const perTurn = (from: number, to: number) => ((counts[to] ?? 0) - (counts[from] ?? 0)) / (to - from);
    expect(perTurn(899, 999)).toBeLessThanOrEqual(perTurn(0, 100));
  });
});

describe("ends", () => {
  test("a cancelled submission that waits never runs and appends nothing", async () => {
    const { gate, steps } = gatedAt("one");
    const host = open(steps);
    await submitted(host, "one", "two");
    await gate.reached;
    const agent = await clerkOf(host);
    expect(await agent.cancelSubmission("two", new Error("not needed"))).toMatchObject({
      outcome: "cancelled",
      previousStatus: "pending",
      messagesApplied: false,
      submission: { status: "aborted", error: "not needed" }
    });
    gate.open();
    await host.idle();
    expect(await said(host)).toEqual(["user: one", "assistant: part whole"]);
    expect(await agent.cancelSubmission("two")).toMatchObject({
      outcome: "already_terminal",
      previousStatus: "aborted"
    });
    expect(await agent.cancelSubmission("none")).toEqual({ outcome: "not_found" });
  });

  test("one that is cancelled behind another turn appends nothing, also of several messages", async () => {
    const { gate, steps } = gatedAt("chat");
    const host = open(steps);
    const agent = await clerkOf(host);
    const talk = agent.say("chat");
    await gate.reached;
    await agent.submitMessages([user("m1"), user("m2")], { submissionId: "s" });
    await host.idle();
    expect(await statusOf(host, "s")).toBe("running");
    await agent.cancelSubmission("s");
    expect(await statusOf(host, "s")).toBe("aborted");
    gate.open();
    await talk;
    await host.idle();
    expect(await said(host)).toEqual(["user: chat", "assistant: part whole"]);
    expect(await statusOf(host, "s")).toBe("aborted");
    await submitted(host, "next");
    await host.idle();
    expect(await statusOf(host, "next")).toBe("completed");
  });

  test("one that is cancelled while it streams is aborted at once, keeps its partial answer, and stays aborted", async () => {
    const { gate, steps } = gatedAt("one");
    const host = open(steps);
    await submitted(host, "one", "two");
    await gate.reached;
    const agent = await clerkOf(host);
    expect(await agent.cancelSubmission("one", "enough")).toMatchObject({
      outcome: "cancelled",
      messagesApplied: true
    });
    gate.open();
    await host.idle();
    expect(await agent.inspectSubmission("one")).toMatchObject({ status: "aborted", error: "enough" });
    expect((await said(host)).slice(0, 2)).toEqual(["user: one", "assistant: part "]);
    expect(await statusOf(host, "two")).toBe("completed");
    expect(scene.statuses.filter((line) => line === "one aborted")).toHaveLength(1);
  });

  test.each(["clearMessages", "reset"] as const)(
    "%s skips what waits; what is submitted afterwards completes",
    async (how) => {
      const { gate, steps } = gatedAt("one");
      const host = open(steps);
      await submitted(host, "one", "two", "three");
      await gate.reached;
      const agent = await clerkOf(host);
      await agent[how]();
      await host.idle();
      expect(await Promise.all(["one", "two", "three"].map((id) => statusOf(host, id)))).toEqual([
        "aborted",
        "skipped",
        "skipped"
      ]);
      expect((await agent.inspectSubmission("two"))?.error).toContain("skipped");
      await submitted(host, "four");
      await host.idle();
      expect(await statusOf(host, "four")).toBe("completed");
      expect(scene.statuses.filter((line) => line.endsWith("skipped"))).toEqual(["two skipped", "three skipped"]);
    }
  );

  test("a clear skips one that waits under the name of a client's running request, too", async () => {
    const { gate, steps } = gatedAt("chat");
    const host = open(steps);
    const socket = await host.connect("/agents/clerk/a");
    sendChat(socket, "same", [user("u-chat", "chat")]);
    await gate.reached;
    await submitted(host, "same");
    const agent = await clerkOf(host);
    expect(await statusOf(host, "same")).toBe("pending");
    await agent.clearMessages();
    gate.open();
    await host.idle();
    expect(await statusOf(host, "same")).toBe("skipped");
    expect(await said(host)).toEqual([]);
  });

  test("an error in the stream, and a throw while the turn is set up, are errors with their text", async () => {
    const steps: Steps = (call) =>
      asked(call) === "bad" ? reply(failInBand(new Error("overloaded by test"))) : reply(text("ok"));
    const host = open(steps, {
      beforeTurn: ({ messages }) => {
        if (JSON.stringify(messages.at(-1)).includes("unset")) throw new Error("no such customer");
      }
    });
    await submitted(host, "bad", "unset", "fine");
    await host.advance(120_000);
    const agent = await clerkOf(host);
    const bad = await agent.inspectSubmission("bad");
    expect(bad?.status).toBe("error");
    expect(bad?.error).toEqual(expect.any(String));
    expect(await agent.inspectSubmission("unset")).toMatchObject({ status: "error", error: "no such customer" });
    expect(await statusOf(host, "fine")).toBe("completed");
    expect(eventsOf("submission:error")).toEqual(["submission:error bad", "submission:error unset"]);
  });

  test("a submission whose stream stalls is recovered and completes", async () => {
    let calls = 0;
    const host = open(() => (++calls === 1 ? reply(text("Hel"), stall()) : reply(text("lo"))));
    await submitted(host, "a");
    await host.advance(11 * 60_000);
    expect(await statusOf(host, "a")).toBe("completed");
    expect(calls).toBe(2);
  });

  test("waiting for a submission ends with it, or with its time; one that is not known is null", async () => {
    const { gate, steps } = gatedAt("a");
    const host = open(steps);
    await submitted(host, "a");
    await gate.reached;
    const agent = await clerkOf(host);
    const short = agent.waitForSubmission("a", { timeoutMs: 100 });
    const long = agent.waitForSubmission("a");
    await host.advance(200);
    expect(await short).toMatchObject({ status: "running" });
    gate.open();
    expect(await long).toMatchObject({ status: "completed", messageId: expect.any(String) });
    expect(await agent.waitForSubmission("none")).toBeNull();
  });
});
