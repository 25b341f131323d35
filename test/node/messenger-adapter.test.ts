// An adapter of the class's own: what it parses is stored before its webhook is answered, or the webhook is not taken.
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, Think } from "../../src/index.ts";
import {
  chatSdkMessenger,
  defaultChatSdkEvent,
  type MessengerDefinition
} from "../../src/features/messengers/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { OwnAdapter } from "./own-adapter.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

let adapter: OwnAdapter;
let script: Script;
let definition: Partial<MessengerDefinition>;

class Support extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override getActions() {
    const inputSchema = z.object({ script: z.string() });
    return { run: action({ description: "Runs.", inputSchema, kind: "durable-pause", execute: () => "done" }) };
  }
  override getMessengers() {
    const capabilities = { canEditMessages: false };
    const own = { provider: "own", userName: "bot", adapter, verifyWebhook: false, capabilities } as const;
    return { own: chatSdkMessenger({ ...own, ...definition }) };
  }
  async makeChild(): Promise<void> {
    await this.subAgent(Support, "child");
  }
  override onRequest(request: Request) {
    return new Response(`own: ${new URL(request.url).pathname.split("/").at(-1)}`);
  }
}

const URL_OF_AGENT = "http://localhost/agents/support/main";

function open(changes: Partial<MessengerDefinition> = {}) {
  adapter = new OwnAdapter();
  script = createScript([reply(text("Hello, Ada!"))]);
  definition = changes;
  const host = createTestHost({ agents: { Support } });
  const send = (init: RequestInit = { method: "POST" }, path = "/messengers/own/webhook") =>
    host.fetch(`${URL_OF_AGENT}${path}`, init);
  const answered = async () => {
    await host.idle();
    await host.advance(5_000);
  };
  return { host, send, answered };
}

test.each([
  ["cannot be parsed", () => Promise.reject(new Error("users.info failed"))],
  ["is not parsed in five seconds", () => new Promise<never>(() => undefined)]
])("a webhook whose message %s is answered 503 and logged, and taken when it is repeated", async (_when, fails) => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { send, answered } = open();
  const { parse } = adapter;
  adapter.parse = fails;
  const refused = send();
  await answered();
  expect((await refused).status).toBe(503);
  expect(logged.mock.calls.flat().map(String)).toContainEqual(expect.stringContaining('"own" was not stored'));

  adapter.parse = parse;
  expect((await send()).status).toBe(200);
  await answered();
  expect(adapter.posted).toEqual(["Hello, Ada!"]);
});

test("a verifier's own response is the answer, false is 401, GET is 405, and the adapter is never called", async () => {
  const teapot = new Response("not here", { status: 403, headers: { "X-Reason": "blocked" } });
  const { send } = open({ verifyWebhook: () => teapot });
  const refused = await send();
  expect([refused.status, refused.headers.get("X-Reason"), await refused.text()]).toEqual([403, "blocked", "not here"]);
  expect((await send({ method: "GET" })).status).toBe(405);
  expect(adapter.received).toEqual([]);
  const other = open({ verifyWebhook: async () => false });
  expect((await other.send()).status).toBe(401);
  expect(adapter.received).toEqual([]);
});

test("a verifier that reads the body leaves the adapter a readable body", async () => {
  const verifyWebhook = async (request: Request) => (await request.text()) === "signed";
  const { send } = open({ verifyWebhook });
  expect((await send({ method: "POST", body: "signed" })).status).toBe(200);
  expect((await send({ method: "POST", body: "forged" })).status).toBe(401);
  expect(adapter.received).toEqual([{ method: "POST", body: "signed" }]);
});

test("get-messages comes before a messenger's path, and that before onRequest; a sub-agent has no messengers", async () => {
  const { send, host } = open({ path: "/hook" });
  expect(await (await send({}, "/get-messages")).json()).toEqual([]);
  expect(await (await send({ method: "POST" }, "/hook")).text()).toBe("ok");
  expect(await (await send({ method: "POST" }, "/other")).text()).toBe("own: other");
  expect(adapter.received).toHaveLength(1);
  await (await host.get(Support, "main")).makeChild();
  expect(await (await send({ method: "POST" }, "/sub/support/child/hook")).text()).toBe("own: hook");
  expect(adapter.received).toHaveLength(1);

  const shadowed = open({ path: "/get-messages" });
  expect(await (await shadowed.send({}, "/get-messages")).json()).toEqual([]);
  expect(adapter.received).toEqual([]);
});

test("a messenger that names GET is asked by GET, verified like a POST; other methods are 405", async () => {
  const { send } = open({
    methods: ["get", "POST"],
    verifyWebhook: ({ url }) => !url.includes("forged")
  });
  const path = "/messengers/own/webhook?challenge=";
  expect(await (await send({}, `${path}abc`)).text()).toBe("abc");
  expect((await send({}, `${path}forged`)).status).toBe(401);
  const refused = await send({ method: "PUT" });
  expect([refused.status, refused.headers.get("Allow")]).toEqual([405, "GET, POST"]);
  expect(adapter.received).toEqual([{ method: "GET", body: "" }]);
});

test("toEvent makes the event; nothing from it is the built-in one; a throw refuses the webhook, which is repeated", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  let result: "own" | "nothing" | "throw" = "throw";
  const { send, answered } = open({
    toEvent: async (input) => {
      if (result === "throw") throw new Error("not now");
      const event = defaultChatSdkEvent(input);
      if (result === "nothing" || !event.message) return undefined;
      return {
        ...event,
        messengerId: "another",
        message: { ...event.message, text: `${event.message.text}, changed` }
      };
    }
  });
  expect((await send()).status).toBe(503);
  result = "own";
  expect((await send()).status).toBe(200);
  await answered();
  expect(script.calls[0]?.lastUserText).toBe("Hello, changed");
  expect(adapter.posted).toEqual(["Hello, Ada!"]);
  const plain = open({ toEvent: () => undefined });
  await plain.send();
  await plain.answered();
  expect(script.calls[0]?.lastUserText).toBe("Hello");
});

test.each([
  ["says nothing of files", {}, 0],
  ["takes files", { supportsAttachments: true }, 1]
])("a long input is whole before its buttons, with an adapter that %s", async (_what, capabilities, files) => {
  const input = Array.from({ length: 3_000 }, (_, line) => `line ${line}`).join("\n");
  const { host, send } = open({
    capabilities: { canEditMessages: false, ...capabilities },
    conversation: "self",
    delivery: { visibleSoftLimit: 3_000 }
  });
  script = createScript([reply(toolCall("run", { script: input })), reply(text("Well."))]);
  const post = vi.spyOn(adapter, "postMessage");
  await send();
  await host.idle();
  await host.advance(400_000);
  const messages = post.mock.calls.map(([, message]) => JSON.stringify(message));
  expect(messages.filter((one) => one.includes("run-input.txt"))).toHaveLength(files);
  const shown = messages.join("\n").replaceAll("\\n", "\n").replaceAll("\\\\", "");
  const missing = input.split("\n").filter((line) => !shown.includes(`│ ${line}\n`) && !shown.includes(`│ ${line}"`));
  expect(missing.length).toBe(files === 1 ? 3_000 : 0);
  expect(messages.at(-1)).toMatch(/Its input is in the (file|\d+ messages) above/);
  expect(messages.at(-1)).toContain("Approve");
});
