// Pages with the AI SDK alone, over HTTP and over a WebSocket: what such a client shows is what is stored.
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  tool
} from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import { RETENTION } from "../../src/journal/retention.ts";
import {
  createGate,
  createScript,
  createTestHost,
  failInBand,
  reasoning,
  reply,
  source,
  text,
  toolCall,
  usage,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { answerText, expectAsStored, PlainNetwork, settle, shown, WAYS, type Page } from "./plain-kit.ts";
import { storedMessages } from "../kit/messages.ts";

let script: Script;
let effects: string[] = [];

class Chat extends Think {
  override getModel() {
    return installedModel(script);
  }

  override getTools() {
    return {
      note: tool({
        inputSchema: z.object({ what: z.string() }),
        execute: async ({ what }) => {
          effects.push(what);
          return `noted ${what}`;
        }
      }),
      pay: tool({
        inputSchema: z.object({}),
        needsApproval: true,
        execute: async () => {
          effects.push("paid");
          return "paid";
        }
      }),
      // Without `execute`: the page answers.
      place: tool({ inputSchema: z.object({}) })
    };
  }

  override onChatError(error: unknown) {
    return new Error(`sorry: ${error instanceof Error ? error.message : "?"}`);
  }
}

class Counting extends Chat {
  override sendUsage = true;
}

class Brief extends Chat {
  override maxSteps = 1;
}

function open(steps: Step[]) {
  script = createScript(steps);
  effects = [];
  const host = createTestHost({ agents: { Chat, Counting, Brief } });
  return { host, network: new PlainNetwork(host) };
}

beforeEach(() => void vi.restoreAllMocks());

describe.each(WAYS)("a page with %s", (_name, way) => {
  test("asks, and shows exactly the stored answer: text, reasoning, sources and server tools", async () => {
    const { host, network } = open([
      reply(reasoning("hm"), text("Let me "), text("see."), toolCall("note", { what: "x" })),
      reply(source("https://example.com/"), text("Done."))
    ]);
    const page = network.open(way);
    await page.sendMessage({ text: "hi" });
    expect(page.status).toBe("ready");
    expect(effects).toEqual(["x"]);
    await expectAsStored(page, host);
    expect(page.messages.length).toBe(2);
  });

  test("is told what the answer took, and finds it in storage, if the class sends it", async () => {
    const steps = () => [
      reply(toolCall("note", { what: "milk" }), usage({ input: 10, output: 2 })),
      reply(text("Noted."), usage({ input: 20, output: 5, reasoning: 3 }))
    ];
    const { host, network } = open([...steps(), ...steps()]);
    const metadata = { usage: { inputTokens: 30, outputTokens: 7, totalTokens: 37, reasoningTokens: 3 } };
    const page = network.open({ ...way, address: "/agents/counting/a" });
    await page.sendMessage({ text: "hi" });
    expect(page.messages.at(-1)?.metadata).toEqual(metadata);
    expect((await storedMessages(host, "/agents/counting/a")).at(-1)?.metadata).toEqual(metadata);
    const silent = network.open(way);
    await silent.sendMessage({ text: "hi" });
    expect(silent.messages.at(-1)?.metadata).toBeUndefined();
  });

  test("an answer arrives while it is written", async () => {
    const gate = createGate();
    const { host, network } = open([reply(text("first "), gate.wait(), text("second"))]);
    const page = network.open(way);
    const sent = page.sendMessage({ text: "hi" });
    await gate.reached;
    await settle(host);
    expect([page.status, answerText(page)]).toEqual(["streaming", "first "]);
    gate.open();
    await sent;
    expect(answerText(page)).toBe("first second");
  });

  test("a second question follows the first, and the list that is posted with it changes nothing", async () => {
    const { host, network } = open([reply(text("one")), reply(text("two"))]);
    const page = network.open(way);
    await page.sendMessage({ text: "a" });
    // A page may show anything; what it posts is no answer of ours.
    page.messages = page.messages.map((message) =>
      message.role === "assistant" ? { ...message, parts: [{ type: "text", text: "forged" }] } : message
    );
    await page.sendMessage({ text: "b" });
    const words = shown(await storedMessages(host)).map(({ parts }) => parts.join());
    expect(words).toEqual(["text:a", "text:one", "text:b", "text:two"]);
  });

  test("regenerates an answer, and edits a question: both are new branches", async () => {
    const { host, network } = open([reply(text("one")), reply(text("two")), reply(text("three"))]);
    const page = network.open(way);
    await page.sendMessage({ text: "a" });
    await page.regenerate();
    await expectAsStored(page, host);
    expect(answerText(page)).toBe("two");
    const question = page.messages[0]?.id ?? "";
    await page.sendMessage({ text: "b", messageId: question });
    await expectAsStored(page, host);
    expect(shown(page.messages).map(({ parts }) => parts.join())).toEqual(["text:b", "text:three"]);
  });

  test("runs a tool of its own, and the answer goes on in the same message", async () => {
    const { host, network } = open([reply(text("Where? "), toolCall("place", {}, { id: "c1" })), reply(text("Oslo!"))]);
    const page: Page = network.open({
      ...way,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall: { toolCallId, toolName } }) =>
        void page.addToolOutput({ tool: toolName, toolCallId, output: "Oslo" } as never)
    });
    const sent = page.sendMessage({ text: "hi" });
    await settle(host);
    await sent;
    await settle(host);
    expect(page.status).toBe("ready");
    await expectAsStored(page, host);
    expect(page.messages.length).toBe(2);
    expect(answerText(page)).toContain("Oslo!");
  });

  test("that sends answered calls by itself sends an answer that ended with a call of the server's once", async () => {
    const { host, network } = open([reply(text("One step. "), toolCall("note", { what: "x" }))]);
    let posts = 0;
    const sendAutomaticallyWhen: typeof lastAssistantMessageIsCompleteWithToolCalls = (chat) =>
      lastAssistantMessageIsCompleteWithToolCalls(chat) && (posts += 1) < 5;
    const page = network.open({ ...way, address: "/agents/brief/a", sendAutomaticallyWhen });
    await page.sendMessage({ text: "hi" });
    await settle(host);
    expect([page.status, posts, script.calls.length, effects]).toEqual(["ready", 1, 1, ["x"]]);
    await expectAsStored(page, host, "/agents/brief/a");
  });

  test("reports that a tool of its own failed", async () => {
    const { host, network } = open([reply(toolCall("place", {}, { id: "c1" })), reply(text("A pity."))]);
    const page: Page = network.open({
      ...way,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall: { toolCallId, toolName } }) =>
        void page.addToolOutput({ tool: toolName, toolCallId, state: "output-error", errorText: "no GPS" } as never)
    });
    const sent = page.sendMessage({ text: "hi" });
    await settle(host);
    await sent;
    await settle(host);
    await expectAsStored(page, host);
    expect(JSON.stringify(await storedMessages(host))).toContain("no GPS");
  });

  test.each([
    [true, ["paid"], "output-available"],
    [false, [], "output-denied"]
  ])("decides over a call (%s), and sees what came of it", async (approved, ran, state) => {
    const { host, network } = open([reply(toolCall("pay", {}, { id: "c1" })), reply(text("Well."))]);
    const page = network.open({ ...way, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await page.sendMessage({ text: "hi" });
    const call = page.messages.at(-1)?.parts.find((part) => part.type === "tool-pay");
    expect(call).toMatchObject({ state: "approval-requested" });
    const { id } = (call as { approval?: { id: string } }).approval ?? { id: "" };
    await page.addToolApprovalResponse({ id, approved });
    await settle(host);
    expect(page.status).toBe("ready");
    expect(effects).toEqual(ran);
    expect((await storedMessages(host)).at(-1)?.parts.find((part) => part.type === "tool-pay")).toMatchObject({
      state
    });
    await expectAsStored(page, host);
  });

  test("is told in the class's words what failed, also when it comes back", async () => {
    const { host, network } = open([reply(text("par"), failInBand(new Error("boom"))), reply(text("better"))]);
    const page = network.open(way);
    await page.sendMessage({ text: "hi" });
    expect([page.status, page.error?.message]).toEqual(["error", expect.stringMatching(/^sorry: /)]);
    expect(page.error?.message).not.toContain("boom");
    const later = network.open({ ...way, messages: await storedMessages(host) });
    await later.resumeStream();
    expect([later.status, later.error?.message]).toEqual(["error", page.error?.message]);
    await expectAsStored(later, host);
    await later.regenerate();
    await expectAsStored(later, host);
    expect(later.status).toBe("ready");
  });

  test("leaves in the middle: the answer goes on, and the page that comes back is sent all of it", async () => {
    const gate = createGate();
    const { host, network } = open([reply(text("first "), gate.wait(), text("second"))]);
    const left = network.open(way);
    void left.sendMessage({ text: "hi" });
    await gate.reached;
    await settle(host);
    // The connection breaks: an abort would be a stop over a WebSocket.
    const page = network.open({ ...way, messages: await storedMessages(host) });
    const resumed = page.resumeStream();
    await settle(host);
    expect([page.status, answerText(page)]).toEqual(["streaming", "first "]);
    gate.open();
    await resumed;
    expect(answerText(page)).toBe("first second");
    await expectAsStored(page, host);
  });

  test("a page that comes back while an answer goes on after a decision is sent the whole of it", async () => {
    const gate = createGate();
    const { host, network } = open([
      reply(text("May I? "), toolCall("pay", {}, { id: "c1" })),
      reply(text("first "), gate.wait(), text("second"))
    ]);
    const left = network.open({ ...way, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await left.sendMessage({ text: "hi" });
    const [id = ""] =
      left.messages.at(-1)?.parts.flatMap((part) => ("approval" in part ? [part.approval?.id] : [])) ?? [];
    void left.addToolApprovalResponse({ id, approved: true });
    await settle(host);
    await gate.reached;
    // The page that decided receives the outcome before the answer ends.
    expect(left.status).toBe("streaming");
    expect(JSON.stringify(shown(left.messages).at(-1))).toContain('"output":"paid"');
    const page = network.open({ ...way, messages: await storedMessages(host) });
    const resumed = page.resumeStream();
    await settle(host);
    expect(answerText(page)).toContain("May I? ");
    expect(answerText(page)).toContain("first ");
    gate.open();
    await resumed;
    await expectAsStored(page, host);
    expect(page.messages.length).toBe(2);
  });

  test("pages that were rendered before the end of an answer and resume just after it are sent all of it", async () => {
    const gate = createGate();
    const { host, network } = open([
      reply(text("first "), gate.wait(), text("second"), toolCall("place", {}, { id: "c1" }))
    ]);
    const asking = network.open(way);
    const asked = asking.sendMessage({ text: "hi" });
    await gate.reached;
    await settle(host);
    const messages = await storedMessages(host);
    gate.open();
    await asked;
    for (const late of ["one", "another"]) {
      const calls: string[] = [];
      const page = network.open({
        ...way,
        messages,
        onToolCall: ({ toolCall: { toolCallId } }) => void calls.push(toolCallId)
      });
      await page.resumeStream();
      expect([late, page.status, answerText(page), calls]).toEqual([late, "ready", "first second", ["c1"]]);
      await expectAsStored(page, host);
    }
  });

  test("a page that has everything shows the same after it has resumed, and nothing is resumed much later", async () => {
    const { host, network } = open([reply(text("one"), toolCall("note", { what: "x" })), reply(text("two"))]);
    const calls: string[] = [];
    const page = network.open({ ...way, onToolCall: ({ toolCall: { toolCallId } }) => void calls.push(toolCallId) });
    await page.resumeStream();
    expect([page.status, page.messages]).toEqual(["ready", []]);
    await page.sendMessage({ text: "hi" });
    const before = calls.length;
    await page.resumeStream();
    expect([page.status, calls.length, effects]).toEqual(["ready", before, ["x"]]);
    await expectAsStored(page, host);
    await host.advance(RETENTION.contentTtlMs + 1);
    const { messages } = page;
    await page.resumeStream();
    expect(page.messages).toBe(messages);
  });

  test("the process dies in the middle: the page resumes and ends with the stored answer", async () => {
    const gate = createGate();
    const { host, network } = open([
      reply(text("first "), gate.wait(), text("never")),
      reply(text("second")),
      reply(text("more"))
    ]);
    const page = network.open(way);
    const sent = page.sendMessage({ text: "hi" });
    await gate.reached;
    await settle(host);
    await host.advance(600);
    await host.restart();
    await sent;
    expect(page.status).toBe("error");
    const resumed = page.resumeStream();
    for (let round = 0; round < 10; round += 1) await settle(host);
    await resumed;
    expect([page.status, page.error]).toEqual(["ready", undefined]);
    expect(answerText(page)).toContain("first ");
    await expectAsStored(page, host);
  });

  test("a page that lost the stream is sent the rest although the answer is long complete", async () => {
    const gate = createGate();
    const { host, network } = open([reply(text("first "), gate.wait(), text("never")), reply(text("second"))]);
    const page = network.open(way);
    const sent = page.sendMessage({ text: "hi" });
    await gate.reached;
    await settle(host);
    await host.advance(600);
    await host.restart();
    await sent;
    // The wake finds the turn.
    await host.advance(60_000);
    expect((await storedMessages(host)).length).toBe(2);
    await page.resumeStream();
    expect(page.status).toBe("ready");
    await expectAsStored(page, host);
  });
});
