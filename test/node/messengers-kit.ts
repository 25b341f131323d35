// What the tests of messengers share: a Think with a Telegram bot whose model and settings are written by each test, the
// fake Bot API that outlives the process, and what a user does.
import { vi } from "vitest";
import type { ActionSet, ApprovalAuthorizationContext } from "../../src/index.ts";
import { Think } from "../../src/index.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import type { MessengerDefinition } from "../../src/features/messengers/index.ts";
import telegramMessenger from "../../src/features/messengers/telegram.ts";
import {
  createScript,
  createTestHost,
  FakeTelegram,
  scriptedModel,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { settleFor } from "../kit/host.ts";

export const SECRET = "s3cret-token";
export const TOKEN = "1:test";
export const URL_OF_BOT = "http://localhost/agents/support/main/messengers/telegram/webhook";

export interface Scene {
  script: Script;
  telegram: FakeTelegram;
  definition: Partial<Omit<MessengerDefinition, "adapter" | "provider" | "userName">>;
  channels: () => ReturnType<Think["configureChannels"]>;
  actions: () => ActionSet;
  mayDecide: (context: ApprovalAuthorizationContext) => boolean;
  inTurn: (agent: Support) => unknown;
  events: AgentEvent[];
}

export const scene: Scene = emptyScene([]);

function emptyScene(steps: Step[]): Scene {
  return {
    script: createScript(steps),
    telegram: new FakeTelegram({ token: TOKEN, secretToken: SECRET }),
    definition: {},
    channels: () => ({}),
    actions: () => ({}),
    mayDecide: () => true,
    inTurn: () => undefined,
    events: []
  };
}

export class Support extends Think {
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };

  override getModel() {
    return scriptedModel(scene.script);
  }

  override getActions() {
    return scene.actions();
  }

  override authorizeApproval(context: ApprovalAuthorizationContext) {
    return scene.mayDecide(context);
  }

  override async beforeTurn() {
    await scene.inTurn(this);
  }

  override configureChannels() {
    return scene.channels();
  }

  override getMessengers() {
    const options = { token: TOKEN, userName: "support_bot", secretToken: SECRET, apiUrl: "https://telegram.test" };
    return { telegram: telegramMessenger({ ...options, ...scene.definition }) };
  }
}

export type Host = TestHost<{ Support: DurableObjectNamespace<Support> }>;

/** A world of its own. The adapter is loaded before: the host's clock stands still while a module is read. */
export async function open(steps: Step[], changes: Partial<Scene> = {}): Promise<Host> {
  await import("@chat-adapter/telegram");
  Object.assign(scene, emptyScene(steps), changes);
  vi.stubGlobal("fetch", scene.telegram.fetch);
  return createTestHost({ agents: { Support } });
}

/** Until the pause between the messages of one question is over, and the answer is in the chat. */
export const answered = (host: Host, ms = 5_000) => settleFor(host, ms);

export async function says(
  host: Host,
  text: string,
  options: Parameters<FakeTelegram["says"]>[1] | object = {}
): Promise<Response> {
  return host.fetch(scene.telegram.says(text, { url: URL_OF_BOT, ...options }));
}

export async function presses(host: Host, label: string, options: object = {}): Promise<Response> {
  return host.fetch(scene.telegram.presses(label, { url: URL_OF_BOT, ...options }));
}
