// A steer meets a turn in each state that docs/chat.md lists in "What a steer meets": one test per row, and one per
// caller that waits for the first turn.
import { tool, type UIMessage } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think, type Receipt, type Session, type ThinkSubmissionInspection, type TurnResult } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  failInBand,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { linesOf, storedMessages, toolParts, user } from "../kit/messages.ts";

let script: Script;
let held: PromiseWithResolvers<void>;
let paid = 0;
let compactions = 0;
/** The class's hook throws before the next step. */
let failsNext = false;

class Chat extends Think {
  override contextOverflow = { reactive: true };
  override configureSession(session: Session) {
    return session.onCompaction(async () => {
      compactions += 1;
      await this.steer("hurry", { id: "s1" });
      return null;
    });
  }
  override getModel() {
    return scriptedModel(script);
  }
  override async beforeStep() {
    if (!failsNext) return;
    failsNext = false;
    await held.promise;
    throw new Error("a bug");
  }
  override classifyChatError(error: unknown) {
    return String(error).includes("too long") ? ("context_overflow" as const) : ("transient" as const);
  }
  override getTools() {
    return {
      search: tool({ inputSchema: z.object({}), execute: async () => held.promise.then(() => "found ".repeat(400)) }),
      pay: tool({
        inputSchema: z.object({}),
        needsApproval: true,
        execute: async () => {
          await held.promise;
          paid += 1;
          return "paid";
        }
      }),
      locate: tool({ inputSchema: z.object({}) })
    };
  }
}

type Host = TestHost<{ Chat: DurableObjectNamespace<Chat> }>;

beforeEach(() => {
  paid = 0;
  compactions = 0;
  failsNext = false;
  for (const name of ["error", "warn"] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
});

async function open(...steps: Step[]) {
  script = createScript(steps);
  held = Promise.withResolvers();
  const host: Host = createTestHost({ agents: { Chat } });
  const socket = await host.connect("/agents/chat/a");
  return { host, socket, agent: await host.get(Chat, "a") };
}

const said = async (host: Host) => linesOf(await storedMessages(host));
const receiptOf = async (agent: Awaited<ReturnType<typeof open>>["agent"], id: string) =>
  (await agent.inspectReceipt(id)) as Receipt | null;

describe("a steer meets a turn that", () => {
  test("asks for an approval: the question stays open, the steer is the next turn, the decision is carried out after it", async () => {
    const { host, socket, agent } = await open(
      reply(text("May I? "), toolCall("pay", {}, { id: "c1" })),
      reply(text("Waiting.")),
      reply(text("Paid."))
    );
    ask(socket, "r1");
    socket.send({ type: "cf_agent_chat_steering", do: "steer", id: "s1", message: user("u-s1", "hurry") });
    await host.idle();
    expect(await receiptOf(agent, "s1")).toMatchObject({ state: "started" });
    expect(await said(host)).toEqual(["user:u-r1", "assistant:May I? ", "user:hurry", "assistant:Waiting."]);
    expect(toolParts(await storedMessages(host))).toMatchObject([{ state: "approval-requested" }]);
    held.resolve();
    socket.send({ type: "cf_agent_tool_approval", toolCallId: "c1", approved: true, autoContinue: true });
    await host.advance(5_000);
    expect(paid).toBe(1);
    expect((await said(host)).at(-1)).toBe("assistant:Paid.");
  });

  test("calls a client tool: the call stays open, the steer is the next turn, the result continues the answer after it", async () => {
    const { host, socket, agent } = await open(
      reply(toolCall("locate", {}, { id: "c1" })),
      reply(text("Waiting.")),
      reply(text("You are in Oslo."))
    );
    ask(socket, "r1");
    socket.send({ type: "cf_agent_chat_steering", do: "steer", id: "s1", message: user("u-s1", "hurry") });
    await host.idle();
    expect(await receiptOf(agent, "s1")).toMatchObject({ state: "started" });
    socket.send({
      type: "cf_agent_tool_result",
      toolCallId: "c1",
      toolName: "locate",
      output: "Oslo",
      autoContinue: true
    });
    await host.advance(5_000);
    expect((await said(host)).at(-1)).toBe("assistant:You are in Oslo.");
    expect(toolParts(await storedMessages(host))).toMatchObject([{ state: "output-available", output: "Oslo" }]);
  });

  test("runs a call that was approved: the call runs, its outcome is read, and then the words", async () => {
    const { host, socket, agent } = await open(
      reply(toolCall("pay", {}, { id: "c1" })),
      reply(text("Paid. "), toolCall("search", {}, { id: "c2" })),
      reply(text("Hurrying."))
    );
    ask(socket, "r1");
    await host.idle();
    socket.send({ type: "cf_agent_tool_approval", toolCallId: "c1", approved: true, autoContinue: true });
    await host.advance(1_000);
    await agent.steer("hurry", { id: "s1" });
    held.resolve();
    await host.idle();
    expect(paid).toBe(1);
    expect(await said(host)).toEqual(["user:u-r1", "assistant:Paid. ", "user:hurry", "assistant:Hurrying."]);
    expect(await receiptOf(agent, "s1")).toMatchObject({ state: "applied" });
  });

  test("was interrupted between two steps: it takes effect before the model is asked again, and what was streamed stays", async () => {
    const { host, socket } = await open(
      reply(text("Looking. "), toolCall("search", {}, { id: "c1" })),
      reply(stall()),
      reply(text("Hurrying."))
    );
    held.resolve();
    ask(socket, "r1");
    await host.idle();
    const agent = await host.get(Chat, "a");
    await agent.steer("hurry", { id: "s1" });
    await host.restart();
    await host.advance(60_000);
    expect(await said(host)).toEqual(["user:u-r1", "assistant:Looking. ", "user:hurry", "assistant:Hurrying."]);
    expect(script.calls).toHaveLength(3);
    expect(await receiptOf(await host.get(Chat, "a"), "s1")).toMatchObject({ state: "applied", to: "r1" });
  });

  test("waits to ask a failing provider again: it takes effect when the pause is over, before the model is asked", async () => {
    const { host, socket, agent } = await open(reply(failInBand(new Error("overloaded"))), reply(text("Hurrying.")));
    ask(socket, "r1");
    await host.idle();
    await agent.steer("hurry", { id: "s1" });
    expect(await receiptOf(agent, "s1")).toMatchObject({ state: "accepted" });
    await host.advance(60_000);
    expect(await said(host)).toEqual(["user:u-r1", "user:hurry", "assistant:Hurrying."]);
    expect(script.calls).toHaveLength(2);
  });

  test("outgrew the context window: the history is compacted, and the steer takes effect instead of the repetition", async () => {
    const { host, socket } = await open(
      reply(text("Looking. "), toolCall("search", {}, { id: "c1" })),
      reply(failInBand(new Error("prompt is too long"))),
      reply(text("Hurrying."))
    );
    held.resolve();
    ask(socket, "r1");
    await host.idle();
    expect(compactions).toBe(1);
    expect(await said(host)).toEqual(["user:u-r1", "assistant:Looking. ", "user:hurry", "assistant:Hurrying."]);
    expect(script.calls).toHaveLength(3);
  });

  test("is cancelled: the steer is the next turn", async () => {
    const { host, socket, agent } = await open(
      reply(text("Looking. "), toolCall("search", {}, { id: "c1" })),
      reply(text("Hurrying."))
    );
    ask(socket, "r1");
    await host.idle();
    await agent.steer("hurry", { id: "s1" });
    await agent.cancelChat("r1");
    held.resolve();
    await host.idle();
    expect(await receiptOf(agent, "s1")).toMatchObject({ state: "started" });
    expect((await said(host)).slice(-2)).toEqual(["user:hurry", "assistant:Hurrying."]);
  });

  test("fails: the steer is the next turn, and the caller of the first one is given the failure", async () => {
    const { host, socket, agent } = await open(reply(text("Hurrying.")));
    failsNext = true;
    ask(socket, "r1");
    await host.idle();
    await agent.steer("hurry", { id: "s1" });
    held.resolve();
    await host.idle();
    const ends = framesOf(socket).filter(({ type, done }) => type === "cf_agent_use_chat_response" && done);
    expect(ends.map(({ id, error }) => [id, error === true])).toEqual([
      ["r1", true],
      ["s1", false]
    ]);
    expect(await receiptOf(agent, "s1")).toMatchObject({ state: "started" });
    expect((await said(host)).slice(-2)).toEqual(["user:hurry", "assistant:Hurrying."]);
  });

  test("is cleared away: what waits goes with it", async () => {
    const { host, socket, agent } = await open(reply(toolCall("search", {}, { id: "c1" })));
    ask(socket, "r1");
    await host.idle();
    await agent.steer("hurry", { id: "s1" });
    await agent.clearMessages();
    await host.idle();
    expect(await agent.listQueued()).toEqual([]);
    expect(await said(host)).toEqual([]);
    const last = framesOf(socket).findLast(({ type }) => type === "cf_agent_chat_receipt");
    expect(last?.["receipt"]).toMatchObject({ id: "s1", state: "dropped" });
  });
});

describe("the outcome of the chain is given to", () => {
  test("chat(): the chunks of all its turns, and one end", async () => {
    const { host, agent } = await open(
      reply(text("Looking. "), toolCall("search", {}, { id: "c1" })),
      reply(text("Hurrying."))
    );
    const heard: string[] = [];
    const over = agent.chat("one", {
      onStart: () => undefined,
      onEvent: (json: string) => {
        const { type, delta } = JSON.parse(json) as { type: string; delta?: string };
        if (type === "text-delta" && delta !== undefined) heard.push(delta);
      },
      onDone: () => void heard.push("done"),
      onError: (error: string) => void heard.push(error)
    });
    await host.idle();
    await agent.steer("hurry", { id: "s1" });
    held.resolve();
    await host.idle();
    await over;
    expect(heard.join("")).toBe("Looking. Hurrying.done");
  });

  test("saveMessages and runTurn, and to a call that is made again under their key", async () => {
    const { host, agent } = await open(
      reply(text("Looking. "), toolCall("search", {}, { id: "c1" })),
      reply(text("Hurrying."))
    );
    const ask = () => agent.runTurn({ input: "one", idempotencyKey: "order-7" }) as Promise<TurnResult>;
    const asked = ask();
    await host.idle();
    await agent.steer("hurry", { id: "s1" });
    const again = ask();
    held.resolve();
    await host.idle();
    for (const result of [await asked, await again, await ask()])
      expect([result.status, linesOf([result.message!])]).toEqual(["completed", ["assistant:Hurrying."]]);
    expect(script.calls).toHaveLength(2);
  });

  test("a submission, which runs until the last of its turns is over, also over a restart", async () => {
    const { host, agent } = await open(
      reply(text("Looking. "), toolCall("search", {}, { id: "c1" })),
      reply(text("Hurry"), stall()),
      reply(text("ing."))
    );
    await agent.submitMessages([user("u1", "one")], { submissionId: "sub" });
    await host.idle();
    await agent.steer("hurry", { id: "s1" });
    held.resolve();
    await host.advance(2_000);
    const statusOf = async () =>
      (await (await host.get(Chat, "a")).inspectSubmission("sub")) as ThinkSubmissionInspection | null;
    expect(await statusOf()).toMatchObject({ status: "running" });
    await host.restart();
    await host.advance(60_000);
    const ended = await statusOf();
    expect(ended).toMatchObject({ status: "completed" });
    const messages: UIMessage[] = await storedMessages(host);
    expect(linesOf(messages).at(-1)).toBe("assistant:Hurrying.");
    expect(ended?.messageId).toBe(messages.at(-1)?.id);
  });
});
