// An agent with several bots, and a class that answers for it: what tests of channels and messengers share.
import { tool, type ToolSet } from "ai";
import { vi } from "vitest";
import { z } from "zod";
import { action, Think, type ActionSet, type ReplyAttachment } from "../../src/index.ts";
import type { MessengerDefinition } from "../../src/features/messengers/index.ts";
import slackMessenger from "../../src/features/messengers/slack.ts";
import telegramMessenger from "../../src/features/messengers/telegram.ts";
import {
  createScript,
  createTestHost,
  FakeSlack,
  FakeTelegram,
  scriptedModel,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import { settleFor } from "../kit/host.ts";

export const BASE = "http://localhost/agents/hub/main/messengers";
export const slack = () => world.slack;
export const telegram = () => world.telegram;

export interface World {
  script: Script;
  telegram: FakeTelegram;
  second: FakeTelegram;
  slack: FakeSlack;
  definition: Partial<Omit<MessengerDefinition, "adapter" | "provider" | "userName">>;
  messengers: (options: World["definition"]) => ReturnType<Think["getMessengers"]>;
  channels: () => ReturnType<Think["configureChannels"]>;
  actions: ActionSet;
  tools: ToolSet;
  inTurn: (agent: Think) => unknown;
  render: (attachment: ReplyAttachment) => void;
  events: AgentEvent[];
}

export let world: World;

export const bot = (options: World["definition"] = {}) =>
  telegramMessenger({
    token: "1:test",
    userName: "support_bot",
    secretToken: "secret",
    apiUrl: "https://telegram.test",
    ...options
  });
export const secondBot = (options: World["definition"] = {}) =>
  telegramMessenger({
    token: "2:test",
    userName: "second_bot",
    secretToken: "secret-2",
    apiUrl: "https://second.test",
    adapterName: "second",
    ...options
  });
const slackBot = (options: World["definition"] = {}) =>
  slackMessenger({ token: "xoxb-test", signingSecret: "signing", userName: "support_bot", ...options });

export class Hub extends Think {
  override observability = { emit: (event: AgentEvent) => void world.events.push(event) };
  override getModel() {
    return scriptedModel(world.script);
  }
  override getMessengers() {
    return world.messengers(world.definition);
  }
  override configureChannels() {
    return world.channels();
  }
  override getActions() {
    return world.actions;
  }
  override getTools() {
    return world.tools;
  }
  override async beforeTurn() {
    await world.inTurn(this);
  }
  override renderAttachment(attachment: ReplyAttachment) {
    world.render(attachment);
    return super.renderAttachment(attachment);
  }
}

/** Answers threads of the hub, and declares no messenger itself. */
export class Clerk extends Think {
  override getModel() {
    return scriptedModel(world.script);
  }
  override getActions() {
    return world.actions;
  }
  override async beforeTurn() {
    await world.inTurn(this);
  }
  override renderAttachment({ type }: ReplyAttachment) {
    return `The clerk's ${type}.`;
  }
}

export async function open(steps: Step[], changes: Partial<World> = {}) {
  // The host's clock stands still while a module is read.
  await import("@chat-adapter/telegram");
  world = {
    script: createScript(steps),
    telegram: new FakeTelegram({ token: "1:test", secretToken: "secret" }),
    second: new FakeTelegram({ token: "2:test", secretToken: "secret-2", userName: "second_bot" }),
    slack: new FakeSlack({ token: "xoxb-test", signingSecret: "signing" }),
    definition: {},
    messengers: (options) => ({ telegram: bot(options), slack: slackBot(options) }),
    channels: () => ({}),
    actions: {},
    tools: {},
    inTurn: () => undefined,
    render: () => undefined,
    events: [],
    ...changes
  };
  const fakes: Record<string, FakeTelegram | FakeSlack> = {
    "telegram.test": world.telegram,
    "second.test": world.second,
    "slack.com": world.slack
  };
  vi.stubGlobal("fetch", (input: string | URL | Request, init?: RequestInit) => {
    const { hostname } = new URL(input instanceof Request ? input.url : input);
    const fake = fakes[hostname];
    if (!fake) throw new TypeError(`No such host: ${hostname}`);
    return fake.fetch(input, init);
  });
  return createTestHost({ agents: { Hub, Clerk } });
}

export type Host = Awaited<ReturnType<typeof open>>;

export const answered = (host: Host, ms = 6_000) => settleFor(host, ms);

export const asksTelegram = (host: Host, said: string, options: object = {}) =>
  host.fetch(telegram().says(said, { url: `${BASE}/telegram/webhook`, ...options }));
export const asksSlack = (host: Host, said: string, options: object = {}) =>
  host.fetch(slack().says(said, { url: `${BASE}/slack/webhook`, ...options }));
export const slackTexts = (channel: string) =>
  slack()
    .messages(channel)
    .map(({ text: shown }) => shown);
export const systemOf = (call: number) => JSON.stringify(world.script.calls[call]?.prompt[0]);
export const toolsOf = (call: number) => (world.script.calls[call]?.tools ?? []).map(({ name }) => name);

export const nothing = z.object({});
export const attach = action({
  description: "Attaches.",
  inputSchema: nothing,
  execute: (_input, { attachReply }) => {
    attachReply({ type: "email_draft", subject: "Draft" });
    return "attached";
  }
});
export const look = tool({ inputSchema: nothing, execute: () => "seen" });
