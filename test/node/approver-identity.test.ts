// An identity of a messenger comes from that messenger alone. The class lets one Telegram user decide, and has opened the
// chat to the web; clients then claim to be that user, by every way in which a decision can be sent.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, Think, type ApprovalAuthorizationContext, type ApprovalCaller } from "../../src/index.ts";
import type { Messengers } from "../../src/features/messengers/definition.ts";
import telegramMessenger from "../../src/features/messengers/telegram.ts";
import { FakeTelegram } from "../../src/testing/messengers/index.ts";
import { createScript, createTestHost, reply, scriptedModel, text, toolCall } from "../../src/testing/index.ts";

const KEY = "an-inspection-key-of-enough-length";
const WEBHOOK = "http://localhost/agents/support/main/messengers/telegram/webhook";
const ROOT = "/agents/support/main";

let telegram: FakeTelegram;
let deployed: string[] = [];
let contexts: ApprovalAuthorizationContext[] = [];
let mayDecide: (context: ApprovalAuthorizationContext) => boolean;
let identify: (caller: ApprovalCaller) => string | undefined;
let conversation: "thread" | "self" = "thread";

class Support extends Think {
  static override callables = ["decideFor"];

  override getModel() {
    const steps = [reply(toolCall("deploy", { ref: "v2" }, { id: "c1" })), ...Array(9).fill(reply(text("Well.")))];
    return scriptedModel((this.#script ??= createScript(steps)));
  }
  #script: ReturnType<typeof createScript> | undefined;

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
    const options = {
      token: "1:test",
      userName: "support_bot",
      secretToken: "secret",
      apiUrl: "https://telegram.test"
    };
    return { telegram: telegramMessenger({ ...options, conversation }) };
  }

  override authorizeMessengerConversation() {
    return true;
  }

  override authorizeApproval(context: ApprovalAuthorizationContext) {
    contexts.push(context);
    return mayDecide(context);
  }

  override identifyApprover(caller: ApprovalCaller) {
    return identify(caller);
  }

  /** What a class should not do: a client's word, handed on by code of the server. */
  decideFor(executionId: string, by: string) {
    return this.approveExecution(executionId, { by });
  }
}

const open = () => createTestHost({ agents: { Support }, env: { EVERTHINK_INSPECTION_KEY: KEY } });
type Host = ReturnType<typeof open>;

const address = () => (conversation === "self" ? ROOT : `${ROOT}/sub/support/messenger:telegram:telegram:7`);

async function parked(): Promise<{ host: Host; executionId: string; inputHash: string }> {
  await import("@chat-adapter/telegram");
  telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
  vi.stubGlobal("fetch", telegram.fetch);
  const host = open();
  await host.fetch(telegram.says("Deploy v2", { url: WEBHOOK }));
  await host.idle();
  await host.advance(5_000);
  const [waiting] = await (
    await host.fetch(`http://localhost${address()}/approvals`)
  ).json<{ executionId: string; inputHash: string }[]>();
  expect(waiting).toBeDefined();
  return { host, executionId: waiting?.executionId ?? "", inputHash: waiting?.inputHash ?? "" };
}

const json = (body: object, headers: object = {}) => ({
  method: "POST",
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json", ...headers }
});

type Claim = (host: Host, executionId: string, by: string) => Promise<unknown>;

const call = (method: string, args: (executionId: string, by: string) => unknown[]): Claim => {
  return async (host, executionId, by) => {
    const socket = await host.connect(address());
    await host.idle();
    socket.send({ type: "rpc", id: "1", method, args: args(executionId, by) });
    await host.idle();
  };
};

const CLAIMS: readonly [string, Claim][] = [
  [
    "over HTTP",
    (host, executionId, by) =>
      host.fetch(`http://localhost${address()}/approvals/${executionId}`, json({ decision: "approve", by }))
  ],
  [
    "with the inspection key",
    (host, executionId, by) =>
      host.fetch(
        `http://localhost${address()}/inspect/v1/decide`,
        json({ id: executionId, decision: "approve", by }, { Authorization: `Bearer ${KEY}` })
      )
  ],
  ["by a callable of the package", call("approveExecution", (executionId, by) => [executionId, { by }])],
  ["through a callable of the class", call("decideFor", (executionId, by) => [executionId, by])]
];

beforeEach(() => {
  deployed = [];
  contexts = [];
  conversation = "thread";
  mayDecide = ({ by }) => by === "telegram:7";
  identify = () => undefined;
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const press = async (host: Host, options: object = {}) => {
  await host.fetch(telegram.presses("Approve", { url: WEBHOOK, ...options }));
  await host.idle();
  await host.advance(5_000);
};

describe.each(["thread", "self"] as const)("conversation: %j", (where) => {
  beforeEach(() => {
    conversation = where;
  });

  test.each(CLAIMS)("a client that claims %s to be the Telegram user is refused; the user is not", async (_, claim) => {
    const { host, executionId } = await parked();
    await claim(host, executionId, "telegram:7");
    await host.idle();
    expect(deployed).toEqual([]);
    expect(contexts).toMatchObject([
      { by: null, approver: { surface: "web", id: "telegram:7", verified: false }, decision: "approve" }
    ]);
    await press(host);
    expect(deployed).toEqual(["v2"]);
    expect(contexts.at(-1)).toMatchObject({
      by: "telegram:7",
      approver: { surface: "telegram", id: "7", verified: true }
    });
  });
});

test.each(CLAIMS)("a claim %s that the class accepts is recorded and shown as a claim", async (_, claim) => {
  mayDecide = () => true;
  const { host, executionId } = await parked();
  await claim(host, executionId, "telegram:7");
  await host.idle();
  await host.advance(5_000);
  expect(deployed).toEqual(["v2"]);
  const headers = { Authorization: `Bearer ${KEY}` };
  const inbox = await host.fetch(`http://localhost${address()}/inspect/v1/inbox`, { headers });
  expect(await inbox.json()).toMatchObject({ decided: [{ approved: true, by: "unverified:telegram:7" }] });
  // The question in the chat, and nothing there that reads as the user.
  expect(telegram.texts().join("\n")).toContain("Approved by telegram:7 (not verified).");
});

test("a user of the application whose name looks like a messenger's is not that user", async () => {
  identify = ({ request, connection }) => (request || connection ? "telegram:7" : undefined);
  const { host, executionId } = await parked();
  const [, overHttp] = CLAIMS[0] ?? [];
  await overHttp?.(host, executionId, "");
  expect(deployed).toEqual([]);
  expect(contexts).toMatchObject([
    { by: "app:telegram:7", approver: { surface: "app", id: "telegram:7", verified: true } }
  ]);
});

test("a name that the class knows takes the place of the client's claim", async () => {
  identify = () => "ann";
  mayDecide = ({ by }) => by === "ann";
  const { host, executionId } = await parked();
  const [, overHttp] = CLAIMS[0] ?? [];
  await overHttp?.(host, executionId, "telegram:7");
  await host.idle();
  expect([deployed, contexts[0]?.approver]).toEqual([["v2"], { surface: "app", id: "ann", verified: true }]);
});

test("while the class cannot say who it is, what the client claims is not taken in its place", async () => {
  identify = ({ request }) => {
    if (request) throw new Error("The directory is down.");
    return undefined;
  };
  const { host, executionId } = await parked();
  const [, overHttp] = CLAIMS[0] ?? [];
  await overHttp?.(host, executionId, "telegram:7");
  expect([deployed, contexts]).toEqual([[], [expect.objectContaining({ by: null, approver: null })]]);
});

test("another user of the same chat is refused by the press", async () => {
  const { host } = await parked();
  await press(host, { from: { id: 9, first_name: "Grace" } });
  expect(deployed).toEqual([]);
  expect(contexts).toMatchObject([{ by: "telegram:9", approver: { id: "9" } }]);
});

describe("a conversation in an agent of a class that does not have the messenger", () => {
  class Desk extends Support {
    override getMessengers() {
      return {};
    }
  }

  class Shop extends Think {
    override getModel() {
      return scriptedModel([]);
    }

    override getMessengers() {
      const options = { token: "1:test", userName: "shop_bot", secretToken: "secret", apiUrl: "https://telegram.test" };
      const target = () => ({ target: "subagent" as const, agentClass: Desk, name: "ada" });
      return { shop: telegramMessenger({ ...options, conversation: target }) };
    }

    override authorizeMessengerConversation() {
      return true;
    }
  }

  const hook = "http://localhost/agents/shop/main/messengers/shop/webhook";
  const approvals = "http://localhost/agents/shop/main/sub/desk/ada/approvals";

  async function asked() {
    await import("@chat-adapter/telegram");
    telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
    vi.stubGlobal("fetch", telegram.fetch);
    const host = createTestHost({ agents: { Shop, Desk } });
    await host.fetch(telegram.says("Deploy v2", { url: hook }));
    await host.idle();
    await host.advance(5_000);
    await host.restart();
    const [waiting] = await (await host.fetch(approvals)).json<{ executionId: string }[]>();
    return { host, executionId: waiting?.executionId ?? "" };
  }

  test("a user of the application whose name looks like that messenger's is not that user; the press is", async () => {
    mayDecide = ({ by }) => by === "shop:7";
    identify = ({ request }) => (request ? "shop:7" : undefined);
    const { host, executionId } = await asked();
    const claimed = await host.fetch(`${approvals}/${executionId}`, json({ decision: "approve" }));
    expect([claimed.status, deployed]).toEqual([409, []]);
    expect(contexts).toMatchObject([{ by: "app:shop:7", approver: { surface: "app", id: "shop:7", verified: true } }]);
    await host.fetch(telegram.presses("Approve", { url: hook }));
    await host.idle();
    await host.advance(5_000);
    expect(deployed).toEqual(["v2"]);
    expect(contexts.at(-1)).toMatchObject({ by: "shop:7", approver: { surface: "shop", id: "7", verified: true } });
  });
});
