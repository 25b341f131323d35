// The process dies at every point of a conversation that a page with the AI SDK alone has: a question, a server tool, an
// approval, the answer. The page comes back as a person brings it back: it is reloaded, resumes, and asks what it still
// shows as open. Nothing runs twice, and in the end it shows what is stored.
import { lastAssistantMessageIsCompleteWithApprovalResponses, tool, type UIMessage } from "ai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type TestHost
} from "../../src/testing/index.ts";
import { PlainNetwork, storedMessages as stored, type Page, type PageInit } from "./plain-kit.ts";

// Each run plays a whole conversation.
vi.setConfig({ testTimeout: 60_000 });

let script: Script;
let effects: string[] = [];

async function done(what: string): Promise<string> {
  effects.push(what);
  return what;
}

class Chat extends Think {
  override getModel() {
    return scriptedModel(script);
  }

  override getTools() {
    return {
      look: tool({ inputSchema: z.object({}), execute: () => done("look") }),
      pay: tool({
        inputSchema: z.object({}),
        needsApproval: true,
        execute: () => done("pay")
      })
    };
  }
}

const QUESTION: UIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "hi" }] };
/** Past every back-off of recovery. */
const ROUNDS = 40;

/** What is worth comparing: calls may have ended in another way, and text may have been written anew. */
const shown = (messages: readonly UIMessage[]) =>
  messages.map(({ id, role, parts }) => [
    id === "u1" ? id : role,
    ...parts.flatMap((part) => {
      if (part.type === "text") return [part.text];
      return "toolCallId" in part ? [`${part.type} ${part.state}`] : [];
    })
  ]);

function approvalIn(page: Page): string | undefined {
  const parts = page.messages.at(-1)?.parts ?? [];
  return parts.flatMap((part) =>
    "approval" in part && part.state === "approval-requested" ? [part.approval.id] : []
  )[0];
}

/** What a person does until the conversation is over, or the process. */
async function play(host: TestHost<object>, way: PageInit): Promise<Page> {
  const network = new PlainNetwork(host);
  const messages = await stored(host);
  const page = network.open({
    ...way,
    messages,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
  });
  if (messages.length === 0) void page.sendMessage(QUESTION);
  else void page.resumeStream();
  for (let round = 0; round < ROUNDS && !host.crashed; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await host.advance(round < 20 ? 50 : 10_000);
    const id = page.status === "ready" ? approvalIn(page) : undefined;
    if (id !== undefined) void page.addToolApprovalResponse({ id, approved: true });
  }
  return page;
}

test.each<PageInit>([
  { sdk: "ai 7", over: "http" },
  { sdk: "ai 7", over: "socket" }
])("%o comes through a death at every point", async (way) => {
  let page: Page | undefined;
  const result = await everyCrash({
    create: () => {
      effects = [];
      script = createScript(
        [
          reply(text("Looking. "), toolCall("look", {}, { id: "c1" }), toolCall("pay", {}, { id: "c2" })),
          reply(text("Done."))
        ],
        { advance: "at-end", onExhausted: "repeat-last" }
      );
      return createTestHost({ agents: { Chat } });
    },
    script: (host) => play(host, way),
    finish: async (host) => {
      page = await play(host, way);
      // Answers that a death left open are decided now.
      page = await play(host, way);
    },
    inspect: async (host) => {
      const messages = await stored(host);
      expect(shown(page?.messages ?? [])).toEqual(shown(messages));
      expect(page?.status).toBe("ready");
      // A call that a death cut off is not run again: its outcome is unknown, and the model is told so.
      const repeated = effects.length - new Set(effects).size;
      return { roles: messages.map(({ role }) => role), repeated, answer: shown(messages).at(-1)?.at(-1) };
    },
    ...(process.env["EVERTHINK_EVERY_POINT"] === undefined && { limit: 40 })
  });
  expect(result.points).toBeGreaterThan(20);
});
