// Channels: what may be declared, what a turn gets of it, and notices that are sent without a turn.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AgentEvent } from "../../src/observe/index.ts";
import { Think, type ChannelContext, type ThinkChannels } from "../../src/index.ts";
import { messengerChannel } from "../../src/features/channels/channels.ts";
import { chatSdkMessenger, type ChatAdapter } from "../../src/features/messengers/index.ts";
import { createScript, createTestHost, reply, scriptedModel, text, type Script } from "../../src/testing/index.ts";

const messenger = chatSdkMessenger({
  adapter: { name: "fake" } as ChatAdapter,
  provider: "fake",
  userName: "bot",
  verifyWebhook: false
});

let script: Script;
let channels: ThinkChannels;
let events: AgentEvent[];

class Desk extends Think {
  override observability = { emit: (event: AgentEvent) => void events.push(event) };
  override getModel() {
    return scriptedModel(script);
  }
  override configureChannels() {
    return channels;
  }
}

beforeEach(() => {
  events = [];
  channels = {};
  script = createScript([reply(text("one")), reply(text("two"))]);
});

afterEach(() => {
  vi.restoreAllMocks();
});

const systemOf = (index: number) => JSON.stringify(script.calls[index]?.prompt[0]);
const user = (metadata?: object) => ({
  id: "u1",
  role: "user" as const,
  parts: [{ type: "text" as const, text: "Hello" }],
  ...(metadata && { metadata })
});

test("a WebSocket client's turn has the policy of web, whatever channel the client names", async () => {
  channels = { web: { kind: "web", instructions: "Be webby." }, other: { kind: "custom", instructions: "Be other." } };
  const host = createTestHost({ agents: { Desk } });
  const socket = await host.connect("/agents/desk/main");
  const body = JSON.stringify({
    messages: [user({ channel: "other", messenger: { messengerId: "x", thread: { id: "y" } } })]
  });
  socket.send({ type: "cf_agent_use_chat_request", id: "r1", init: { method: "POST", body } });
  await host.idle();
  expect(systemOf(0)).toContain("Be webby.");
  const agent = await host.get(Desk, "main");
  // Parts hold `unknown`, which a stub's types cannot carry.
  const [stored] = (await (agent.getMessages() as Promise<unknown>)) as { metadata?: object }[];
  expect(stored?.metadata ?? {}).not.toHaveProperty("channel");
  expect(stored?.metadata ?? {}).not.toHaveProperty("messenger");
});

test("a continuation has the policy of the question it belongs to; a turn without a channel has none", async () => {
  channels = { pager: { kind: "custom", instructions: "Be brief." } };
  class Continuing extends Desk {
    again() {
      return this.continueLastTurn();
    }
  }
  const host = createTestHost({ agents: { Continuing } });
  const agent = await host.get(Continuing, "main");
  await agent.runTurn({ input: "Hello", channel: "pager" });
  await agent.again();
  expect([systemOf(0), systemOf(1)]).toEqual([
    expect.stringContaining("Be brief."),
    expect.stringContaining("Be brief.")
  ]);
  script = createScript([reply(text("three"))]);
  const other = await host.get(Continuing, "other");
  await other.runTurn({ input: "Hello" });
  expect(systemOf(0)).not.toContain("Be brief.");
});

test("a notice outside a turn is one assistant message, and starts no turn", async () => {
  const host = createTestHost({ agents: { Desk } });
  const agent = await host.get(Desk, "main");
  await agent.deliverNotice("Maintenance at noon.");
  await agent.deliverNotice("The model shall know.", { informModel: true });
  expect(await agent.getMessages()).toMatchObject([
    { role: "assistant", parts: [{ text: "Maintenance at noon." }], metadata: { deliveryKind: "notice" } },
    { role: "assistant", parts: [{ text: "[Delivered out of band] The model shall know." }] }
  ]);
  expect(script.calls).toEqual([]);
});

test.each([
  ["nowhere", "it is not registered"],
  ["mute", "has no surface outside a turn"]
])("a notice for %s throws, says why, and is observed", async (channel, why) => {
  channels = { mute: { kind: "voice" } };
  const host = createTestHost({ agents: { Desk } });
  const agent = await host.get(Desk, "main");
  await expect(agent.deliverNotice("x", { channel })).rejects.toThrow(why);
  expect(events.filter(({ type }) => type === "notice:failed")).toHaveLength(1);
});

test("a channel's instructions do not see the thread of another messenger", async () => {
  const seen: unknown[] = [];
  const instructions = (context: ChannelContext) => {
    seen.push([context.channelId, context.kind, context.thread, context.messenger?.thread.id]);
    return "Be brief.";
  };
  channels = { pager: { kind: "custom", instructions }, bot: messengerChannel(messenger, { instructions }) };
  const host = createTestHost({ agents: { Desk } });
  const agent = await host.get(Desk, "main");
  const input = user({ messenger: { messengerId: "bot", thread: { id: "bot:secret-thread" } } });
  for (const channel of ["pager", "bot"]) await agent.runTurn({ input: [{ ...input, id: channel }], channel });
  expect(seen).toEqual([
    ["pager", "custom", undefined, undefined],
    ["bot", "messenger", "bot:secret-thread", "bot:secret-thread"]
  ]);
});
