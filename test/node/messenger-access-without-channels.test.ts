// Conversations of messengers stay closed when the class is deployed again without the capability that made them.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { getAgentByName } from "../../src/agent-class/index.ts";
import { Think } from "../../src/index.ts";
import { ThinkCore, withCapabilities } from "../../src/core/index.ts";
import { inspection } from "../../src/core/inspection.ts";
import { actions } from "../../src/features/actions/capability.ts";
import { plainClients } from "../../src/features/clients/capability.ts";
import type { Messengers, MessengerTarget } from "../../src/features/messengers/definition.ts";
import telegramMessenger from "../../src/features/messengers/telegram.ts";
import { FakeTelegram } from "../../src/testing/messengers/index.ts";
import { createScript, createTestHost, reply, scriptedModel, text, type Script } from "../../src/testing/index.ts";
import { ROUTES } from "../kit/agent-routes.ts";

const KEY = "an-inspection-key-of-enough-length";
const ROOT = "http://localhost/agents/bot/main";
const PRIVATE = "The private diagnosis.";
const CONVERSATION = "messenger:telegram:telegram:7";
const ADA = () => ({ target: "subagent" as const, name: "ada" });

type Conversation = "thread" | "self" | (() => MessengerTarget);

let script: Script;
let conversation: Conversation = "thread";

class Full extends Think {
  override getModel() {
    return scriptedModel(script);
  }

  override getMessengers(): Messengers {
    const options = { token: "1:test", userName: "bot", secretToken: "secret", apiUrl: "https://telegram.test" };
    return { telegram: telegramMessenger({ ...options, conversation }) };
  }

  async drop(name: string) {
    await this.deleteSubAgent(this.constructor as typeof Full, name);
  }
}

class Lean extends withCapabilities(ThinkCore, actions, plainClients, inspection) {
  override getModel() {
    return scriptedModel(script);
  }

  override onRequest(request: Request) {
    return new Response(`own ${new URL(request.url).pathname}`);
  }

  async drop(name: string) {
    await this.deleteSubAgent(this.constructor as typeof Lean, name);
  }
}
Object.assign(Lean.prototype, { plainChat: true, openAIEndpoint: true });

/** The chat was answered by the full class; the program that runs now has the other one under the same name. */
async function deployedWithout(how: Conversation) {
  conversation = how;
  await import("@chat-adapter/telegram");
  const telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
  vi.stubGlobal("fetch", telegram.fetch);
  script = createScript([reply(text(PRIVATE))]);
  class Bot extends Full {}
  const host = createTestHost({ agents: { Bot }, env: { EVERTHINK_INSPECTION_KEY: KEY } });
  await host.fetch(telegram.says("Hello", { url: `${ROOT}/messengers/telegram/webhook` }));
  await host.idle();
  await host.advance(5_000);
  expect(telegram.texts()).toEqual([PRIVATE]);
  Object.setPrototypeOf(Bot, Lean);
  Object.setPrototypeOf(Bot.prototype, Lean.prototype);
  await host.restart();
  expect("getMessengers" in Bot.prototype).toBe(false);
  return { host, stub: await getAgentByName(host.env.Bot, "main") };
}

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test.each([
  ["by the messenger", "thread" as const, CONVERSATION],
  ["by the class", ADA, "ada"]
])("a chat whose name was given %s is refused at every route, and what is below it", async (_, how, name) => {
  const { host } = await deployedWithout(how);
  for (const below of ["", "/sub/bot/x"]) {
    for (const [path, init] of ROUTES) {
      const response = await host.fetch(new Request(`${ROOT}/sub/bot/${name}${below}${path}`, init));
      const answer = [path, response.status, await response.text()];
      expect(answer).toEqual([path, 403, expect.stringContaining("not open here")]);
    }
  }
  await expect(host.connect(`/agents/bot/main/sub/bot/${name}`)).rejects.toThrow("403");
  // A sub-agent on the way asks, too.
  expect((await host.fetch(`${ROOT}/sub/bot/web/sub/bot/${CONVERSATION}/get-messages`)).status).toBe(403);
  expect((await host.fetch(`${ROOT}/sub/bot/web/get-messages`)).status).toBe(200);
  expect(script.calls).toHaveLength(1);
});

test("an operator with the inspection key looks at the chat, and a wrong key is refused", async () => {
  const { host } = await deployedWithout("thread");
  const view = `${ROOT}/sub/bot/${CONVERSATION}/inspect/v1/agent`;
  const ask = async (key: string) => (await host.fetch(view, { headers: { Authorization: `Bearer ${key}` } })).status;
  expect([await ask(KEY), await ask(`${KEY}x`)]).toEqual([200, 403]);
});

test("a chat that is the agent itself leaves requests to the class, and no socket connects to it", async () => {
  const { host } = await deployedWithout("self");
  for (const [path, init] of ROUTES) {
    const response = await host.fetch(new Request(`${ROOT}${path}`, init));
    // The inspector checks who asks.
    if (path.startsWith("/inspect/v1/")) expect([path, response.status]).toEqual([path, 403]);
    else expect([path, await response.text()]).toEqual([path, expect.stringMatching(/^own /)]);
  }
  await expect(host.connect("/agents/bot/main")).rejects.toThrow("403");
  expect(script.calls).toHaveLength(1);
});

test("a name that the class chose is free again when its conversation is deleted", async () => {
  const { host, stub } = await deployedWithout(ADA);
  const open = async () => (await host.fetch(`${ROOT}/sub/bot/ada/get-messages`)).status;
  expect(await open()).toBe(403);
  await stub.drop("ada");
  expect(await open()).toBe(200);
});
