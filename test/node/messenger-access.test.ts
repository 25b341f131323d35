// Who may reach a conversation of a messenger: a stranger with every URL and socket of a bot, the class that opens it, the
// operator with the inspection key, and code of the server.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { getAgentByName, getSubAgentByName } from "../../src/agent-class/index.ts";
import { action, Think } from "../../src/index.ts";
import { ThinkCore, withCapabilities } from "../../src/core/index.ts";
import { actions } from "../../src/features/actions/capability.ts";
import { messengers } from "../../src/features/channels/capability.ts";
import { plainClients } from "../../src/features/clients/capability.ts";
import type { Messengers, MessengerTarget } from "../../src/features/messengers/definition.ts";
import { FakeTelegram } from "../../src/testing/messengers/index.ts";
import { createTestHost, reply, text, toolCall } from "../../src/testing/index.ts";
import telegramMessenger from "../../src/features/messengers/telegram.ts";
import { createScript, scriptedModel, type Script } from "../../src/testing/index.ts";
import { storedMessages } from "../kit/messages.ts";
import { decision, json, ROUTES } from "../kit/agent-routes.ts";

const KEY = "an-inspection-key-of-enough-length";
const ROOT = "http://localhost/agents/support/main";
const PRIVATE = "The private diagnosis.";
const CONVERSATION = "messenger:telegram:telegram:7";

let script: Script;
let telegram: FakeTelegram;
let deployed: string[] = [];
let asked: string[] = [];
let hasLostItsMessenger = false;
let connecting: Promise<void> | undefined;
let conversation: "thread" | "self" | (() => MessengerTarget) = "thread";
let opened: (request: Request, child: { className: string; name: string }) => boolean | Promise<boolean>;

/** Everything that a class can open is open, but for the conversations of its messenger. */
class Support extends Think {
  override plainChat = true;
  override openAIEndpoint = true;

  override getModel() {
    return scriptedModel(script);
  }

  override getActions() {
    const deploy = action({
      description: "Deploys.",
      inputSchema: z.object({ ref: z.string() }),
      kind: "durable-pause",
      execute: ({ ref }) => void deployed.push(ref)
    });
    return { deploy };
  }

  override getMessengers(): Messengers {
    if (hasLostItsMessenger) return {};
    const options = {
      token: "1:test",
      userName: "support_bot",
      secretToken: "secret",
      apiUrl: "https://telegram.test"
    };
    return { telegram: telegramMessenger({ ...options, conversation }) };
  }

  override authorizeMessengerConversation(request: Request, child: { className: string; name: string }) {
    asked.push(`${child.className}/${child.name}`);
    return opened(request, child);
  }

  override authorizeSubmission() {
    return true;
  }

  override authorizeWorkspace() {
    return true;
  }

  override async onBeforeSubAgent() {
    await connecting;
  }

  async drop(name: string) {
    await this.deleteSubAgent(Support, name);
  }

  override onRequest(request: Request) {
    return new Response(`own ${new URL(request.url).pathname}`);
  }
}

const open = () => createTestHost({ agents: { Support }, env: { EVERTHINK_INSPECTION_KEY: KEY } });

type Host = ReturnType<typeof open>;

/** A chat with a secret in it and a question that waits. */
async function privateChat(): Promise<Host> {
  await import("@chat-adapter/telegram");
  telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
  vi.stubGlobal("fetch", telegram.fetch);
  script = createScript([
    reply(toolCall("deploy", { ref: "v2" }, { id: "c1" })),
    ...Array(20).fill(reply(text(PRIVATE)))
  ]);
  const host = open();
  await says(host, "Deploy v2");
  expect(telegram.texts()[0]).toBe(PRIVATE);
  expect(telegram.messages().filter(({ buttons }) => buttons.length > 0)).toHaveLength(1);
  return host;
}

async function says(host: Host, said: string): Promise<void> {
  const response = await host.fetch(telegram.says(said, { url: `${ROOT}/messengers/telegram/webhook` }));
  expect(response.status).toBe(200);
  await host.idle();
  await host.advance(5_000);
}

beforeEach(() => {
  deployed = [];
  asked = [];
  hasLostItsMessenger = false;
  connecting = undefined;
  conversation = "thread";
  opened = () => false;
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Ways to write the address of the private chat. */
const ADDRESSES = [
  CONVERSATION,
  encodeURIComponent(CONVERSATION),
  CONVERSATION.replaceAll(":", "%3a"),
  CONVERSATION.replaceAll(/./g, (character) => `%${character.charCodeAt(0).toString(16)}`)
].map((name) => `${ROOT}/sub/support/${name}`);

const nothingHappened = async (host: Host, calls: number) => {
  await host.idle();
  expect(script.calls).toHaveLength(calls);
  expect(deployed).toEqual([]);
};

describe("a stranger", () => {
  test.each(ADDRESSES)("is refused at every route of a chat, written as %s", async (address) => {
    const host = await privateChat();
    const calls = script.calls.length;
    for (const [path, init] of ROUTES) {
      const response = await host.fetch(new Request(`${address}${path}`, init));
      const body = await response.text();
      expect([path, response.status, body]).toEqual([path, 403, expect.stringContaining("not open here")]);
    }
    await nothingHappened(host, calls);
  });

  test.each(["", "/chat", "/sub/support/x", "/sub/support/x/chat", "/inspect/v1/agent", "/callback?state=a.b"])(
    "cannot open a socket to a chat at %j",
    async (path) => {
      const host = await privateChat();
      await expect(host.connect(`/agents/support/main/sub/support/${CONVERSATION}${path}`)).rejects.toThrow("403");
    }
  );

  test.each([
    "/sub/support/x/get-messages",
    "/sub/support/x/sub/support/y/get-messages",
    "/inspect/v1/sub/support/x/get-messages",
    "/callback/sub/support/x/get-messages?state=a.b",
    "/messengers/telegram/webhook/sub/support/x/chat"
  ])("cannot go through a chat to what is below it: %s", async (path) => {
    const host = await privateChat();
    expect((await host.fetch(`${ROOT}/sub/support/${CONVERSATION}${path}`)).status).toBe(403);
    expect((await host.fetch(`${ROOT}/somewhere/sub/support/${CONVERSATION}${path}`)).status).toBe(403);
  });

  test("cannot tell which chats there are, nor make one before its first message", async () => {
    const host = await privateChat();
    const bodies = ["telegram:7", "telegram:8", "slack:U7", "gone:1"].map(async (name) => {
      const response = await host.fetch(`${ROOT}/sub/support/messenger:telegram:${name}/get-messages`);
      return `${response.status} ${await response.text()}`;
    });
    expect(new Set(await Promise.all(bodies)).size).toBe(1);
    const callback = `${ROOT}/sub/support/messenger:telegram:telegram:8/callback?state=a.b`;
    expect((await host.fetch(callback)).status).toBe(403);
    expect(await (await host.get(Support, "main")).listSubAgents()).toHaveLength(1);
  });

  test("with a name of another case or encoding reaches an agent of its own, which is empty", async () => {
    const host = await privateChat();
    for (const name of ["Messenger:telegram:telegram:7", "messenger%253Atelegram%253Atelegram%253A7", "telegram:7"]) {
      const response = await host.fetch(`${ROOT}/sub/support/${name}/get-messages`);
      expect([name, await response.json()]).toEqual([name, []]);
    }
  });

  test("with a wrong inspection key, or the key at another route, is refused", async () => {
    const host = await privateChat();
    const ask = (path: string, key: string) =>
      host.fetch(`${ROOT}/sub/support/${CONVERSATION}${path}`, { headers: { Authorization: `Bearer ${key}` } });
    expect((await ask("/inspect/v1/agent", `${KEY}x`)).status).toBe(403);
    expect((await ask("/get-messages", KEY)).status).toBe(403);
    expect((await ask("/inspect/v1/sub/support/x/get-messages", KEY)).status).toBe(403);
    const headers = { Authorization: `Bearer ${KEY}` };
    const socket = host.connect(`/agents/support/main/sub/support/${CONVERSATION}/inspect/v1/agent`, { headers });
    await expect(socket).rejects.toThrow("403");
  });

  test("is refused by a class that fails, and the reason is in the log", async () => {
    const host = await privateChat();
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    opened = () => Promise.reject(new Error("The directory is down."));
    const response = await host.fetch(`${ROOT}/sub/support/${CONVERSATION}/get-messages`);
    expect([response.status, await response.text()]).toEqual([403, expect.not.stringContaining("directory")]);
    expect(String(logged.mock.calls[0]?.[1])).toContain("The directory is down.");
    opened = () => "yes" as unknown as boolean;
    expect((await host.fetch(`${ROOT}/sub/support/${CONVERSATION}/get-messages`)).status).toBe(403);
  });

  test("stays out of old chats when the class has lost its messenger", async () => {
    const host = await privateChat();
    hasLostItsMessenger = true;
    await host.restart();
    expect((await host.fetch(`${ROOT}/sub/support/${CONVERSATION}/get-messages`)).status).toBe(403);
  });
});

describe("a class with a part of the capabilities", () => {
  class Lean extends withCapabilities(ThinkCore, messengers, actions, plainClients) {
    override getModel() {
      return scriptedModel(script);
    }
  }
  Object.assign(Lean.prototype, { plainChat: true, getMessengers: Support.prototype.getMessengers });

  test.each(["thread", "self"] as const)("keeps its chats closed, too: %s", async (how) => {
    conversation = how;
    await import("@chat-adapter/telegram");
    telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
    vi.stubGlobal("fetch", telegram.fetch);
    script = createScript([reply(text(PRIVATE))]);
    const host = createTestHost({ agents: { Lean } });
    const root = "http://localhost/agents/lean/main";
    await host.fetch(telegram.says("Hello", { url: `${root}/messengers/telegram/webhook` }));
    await host.idle();
    await host.advance(5_000);
    expect(telegram.texts()).toEqual([PRIVATE]);
    const address = how === "self" ? root : `${root}/sub/lean/${CONVERSATION}`;
    for (const [path, init] of ROUTES) {
      const response = await host.fetch(new Request(`${address}${path}`, init));
      expect([path, await response.text()]).toEqual([path, expect.not.stringContaining("diagnosis")]);
      if (how === "thread") expect([path, response.status]).toEqual([path, 403]);
    }
    await expect(host.connect(address.slice("http://localhost".length))).rejects.toThrow("403");
    expect(script.calls).toHaveLength(1);
  });
});

describe("a name that the class chose", () => {
  const chosen = () => ({ target: "subagent" as const, name: "ada" });
  const address = `${ROOT}/sub/support/ada`;

  test("is private from the messenger's first message on, also after a restart", async () => {
    conversation = chosen;
    const host = await privateChat();
    for (const [path, init] of ROUTES) {
      expect([path, (await host.fetch(new Request(`${address}${path}`, init))).status]).toEqual([path, 403]);
    }
    hasLostItsMessenger = true;
    await host.restart();
    expect((await host.fetch(`${address}/get-messages`)).status).toBe(403);
    expect((await host.fetch(`${ROOT}/sub/support/grace/get-messages`)).status).toBe(200);
  });

  test("a client that was connected before is sent away, and hears nothing of the chat", async () => {
    let name = "later";
    conversation = () => ({ target: "subagent", name });
    const host = await privateChat();
    const socket = await host.connect("/agents/support/main/sub/support/ada");
    const below = await host.connect("/agents/support/main/sub/support/ada/sub/support/x");
    const other = await host.connect("/agents/support/main/sub/support/adam");
    const own = await host.connect("/agents/support/main");
    name = "ada";
    await says(host, "Hello");
    for (const gone of [socket, below]) {
      expect(gone.closed).toMatchObject({ code: 1012 });
      expect(JSON.stringify(gone.frames)).not.toContain(PRIVATE);
    }
    expect([other.closed, own.closed]).toEqual([undefined, undefined]);
    await expect(host.connect("/agents/support/main/sub/support/ada")).rejects.toThrow("403");
  });

  test("a client that is about to connect when the chat begins is sent away, too", async () => {
    let name = "later";
    conversation = () => ({ target: "subagent", name });
    const host = await privateChat();
    const gate = Promise.withResolvers<void>();
    connecting = gate.promise;
    const connected = host.connect("/agents/support/main/sub/support/ada");
    const early = host.fetch(`${address}/get-messages`);
    name = "ada";
    await says(host, "Hello");
    gate.resolve();
    const socket = await connected;
    await host.idle();
    expect((await early).status).toBe(403);
    expect(socket.closed).toMatchObject({ code: 1008 });
  });

  test("is free again when its conversation is deleted", async () => {
    conversation = chosen;
    const host = await privateChat();
    await (await host.get(Support, "main")).drop("ada");
    expect(await storedMessages(host, address)).toEqual([]);
  });
});

describe('conversation: "self"', () => {
  const SELF_OPEN = ["/inspect/v1/", "/messengers/telegram/webhook"];

  test.each(["said", "chosen"])("(%s) leaves a stranger the class's own addresses, and no socket", async (how) => {
    conversation = how === "said" ? "self" : () => ({ target: "self" });
    const host = await privateChat();
    const calls = script.calls.length;
    for (const [path, init] of ROUTES) {
      const response = await host.fetch(new Request(`${ROOT}${path}`, init));
      const body = await response.text();
      if (SELF_OPEN.some((route) => path.startsWith(route))) {
        // They check who asks.
        expect([path, [401, 403].includes(response.status)]).toEqual([path, true]);
      } else expect([path, body]).toEqual([path, expect.stringMatching(/^own /)]);
      expect(body).not.toContain("diagnosis");
    }
    await nothingHappened(host, calls);
    for (const path of ["", "/chat", "/inspect/v1/agent", "/messengers/telegram/webhook"]) {
      await expect(host.connect(`/agents/support/main${path}`)).rejects.toThrow("403");
    }
    // Another sub-agent of the same bot is not the chat.
    expect((await host.fetch(`${ROOT}/sub/support/web/get-messages`)).status).toBe(200);
    hasLostItsMessenger = true;
    await host.restart();
    expect(await (await host.fetch(`${ROOT}/get-messages`)).text()).toMatch(/^own /);
  });

  test("is open for those whom the class lets in, who stay connected when the chat begins", async () => {
    conversation = "self";
    opened = (request) => new URL(request.url).searchParams.get("pass") === "staff";
    await import("@chat-adapter/telegram");
    telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
    vi.stubGlobal("fetch", telegram.fetch);
    script = createScript([reply(text(PRIVATE))]);
    const host = open();
    const socket = await host.connect("/agents/support/main?pass=staff");
    await says(host, "Hello");
    expect(socket.closed).toBeUndefined();
    expect(JSON.stringify(socket.frames)).toContain(PRIVATE);
    expect(await (await host.fetch(`${ROOT}/get-messages?pass=staff`)).text()).toContain(PRIVATE);
    expect(asked).toContain("Support/main");
  });
});

describe("who may", () => {
  test("the class opens a chat by what it knows of the request, and its hook for sub-agents is asked after that", async () => {
    const host = await privateChat();
    opened = (request, { className, name }) =>
      className === "Support" && name === CONVERSATION && request.headers.get("Authorization") === "Bearer staff";
    const staff = { Authorization: "Bearer staff" };
    const address = `${ROOT}/sub/support/${CONVERSATION}`;
    expect(await (await host.fetch(`${address}/get-messages`, { headers: staff })).text()).toContain(PRIVATE);
    expect((await host.fetch(`${address}/get-messages`)).status).toBe(403);
    expect(asked).toHaveLength(2);
    const socket = await host.connect(`/agents/support/main/sub/support/${CONVERSATION}`, { headers: staff });
    await host.idle();
    expect(JSON.stringify(socket.frames)).toContain("cf_agent");
  });

  test("the body of a request that the class read is still there for the conversation", async () => {
    const host = await privateChat();
    opened = async (request) => (await request.text()).includes("approve");
    const address = `${ROOT}/sub/support/${CONVERSATION}/approvals`;
    const [pending] = await (await getSubAgentByName(await stub(host), Support, CONVERSATION)).pendingApprovals();
    expect((await host.fetch(`${address}/${pending?.executionId}`, json(decision))).status).toBe(200);
    await host.idle();
    expect(deployed).toEqual(["v2"]);
  });

  test("an operator with the inspection key looks at every chat and below it, and decides", async () => {
    const host = await privateChat();
    const headers = { Authorization: `Bearer ${KEY}` };
    const address = `${ROOT}/sub/support/${CONVERSATION}`;
    for (const view of ["agent", "turns", "inbox", "state"]) {
      expect([view, (await host.fetch(`${address}/inspect/v1/${view}`, { headers })).status]).toEqual([view, 200]);
    }
    expect((await host.fetch(`${address}/sub/support/x/inspect/v1/agent`, { headers })).status).toBe(200);
    expect(asked).toEqual([]);
  });

  test("code of the server reaches a chat by its name", async () => {
    const host = await privateChat();
    const chat = await getSubAgentByName(await stub(host), Support, CONVERSATION);
    expect(JSON.stringify(await chat.getMessages())).toContain(PRIVATE);
    expect(asked).toEqual([]);
  });

  test("webhooks stay open to the provider alone", async () => {
    const host = await privateChat();
    const forged = new FakeTelegram({ token: "1:test", secretToken: "another" });
    const url = `${ROOT}/messengers/telegram/webhook`;
    expect((await host.fetch(forged.says("Hello", { url }))).status).toBe(401);
    await says(host, "And?");
    expect(telegram.texts().at(-1)).toBe(PRIVATE);
  });
});

const stub = (host: Host) => getAgentByName(host.env.Support, "main");
