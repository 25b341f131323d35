// What is promised of channels and messengers beyond one provider: several bots of one agent, several threads of one
// conversation, sub-agents, notices, recovered turns.
import { tool } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { action, defineChannels, messengerChannel, type ReplyAttachment, type Think } from "../../src/index.ts";
import { createGate, reply, stall, text, toolCall, type Step } from "../../src/testing/index.ts";
import {
  answered,
  asksSlack,
  asksTelegram,
  attach,
  BASE,
  bot,
  Clerk,
  Hub,
  look,
  nothing,
  open,
  secondBot,
  slack,
  slackTexts,
  systemOf,
  telegram,
  toolsOf,
  world
} from "./messenger-hub.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

// ── Several bots ──

test("two Telegram bots of one agent both answer, with their own duplicates and subscriptions", async () => {
  const host = await open(
    Array.from({ length: 4 }, (_, index) => reply(text(`Answer ${index}.`))),
    {
      messengers: (options) => ({ telegram: bot(options), second: secondBot(options) }),
      definition: { respondTo: ["mention", "subscribed-thread"] }
    }
  );
  // Both are sent the same updates of the same messages of the same group, each twice.
  const say = async (said: string) => {
    for (const name of ["telegram", "second"] as const) {
      const webhook = world[name].says(said, { chatId: -100, chatType: "group", url: `${BASE}/${name}/webhook` });
      const again = webhook.clone() as Request;
      for (const request of [webhook, again]) {
        expect((await host.fetch(request)).status).toBe(200);
        await answered(host);
      }
    }
  };
  const shown = () => [world.telegram.texts(-100), world.second.texts(-100)];
  await say("@support_bot hello");
  // The first bot follows the thread from now on; the second was not mentioned in it.
  await say("and who else?");
  expect(shown()).toEqual([["Answer 0.", "Answer 1."], []]);
  await say("@second_bot hello");
  expect(shown()).toEqual([["Answer 0.", "Answer 1.", "Answer 2."], ["Answer 3."]]);
});

// ── Stages ──

test("a reply is accepted, streaming from its first visible text on, and completed at its end", async () => {
  const slow = createGate();
  const end = createGate();
  const words = "A text that is long enough to be shown before its end comes";
  const host = await open([reply(slow.wait(), text(words), end.wait(), text("."))]);
  const stages = () =>
    host.sql<{ stage: string }>(
      Hub,
      "main",
      `SELECT CASE WHEN settled_at IS NOT NULL THEN 'completed' WHEN payload ->> '$.posts' = '[]' THEN 'accepted'
         ELSE 'streaming' END AS stage FROM cf_work WHERE kind = 'messenger-reply'`
    );
  await asksSlack(host, "Hello");
  await answered(host);
  expect([stages(), slack().texts()]).toEqual([[{ stage: "accepted" }], []]);
  slow.open();
  await answered(host);
  expect([stages(), slack().texts()]).toEqual([[{ stage: "streaming" }], [words]]);
  end.open();
  await answered(host);
  expect([stages(), slack().texts()]).toEqual([[{ stage: "completed" }], [`${words}.`]]);
});

// ── Interrupted turns ──

test("a cancelled turn posts the interrupted text below its beginning, which is never made to look complete", async () => {
  const words = "The beginning of an answer that is never going to be complete";
  const host = await open([reply(text(words), stall())], {
    definition: { conversation: "self", delivery: { interruptedResponseText: "Interrupted." } }
  });
  await asksSlack(host, "Hello");
  await answered(host);
  await (await host.get(Hub, "main")).cancelAllChats("enough");
  await answered(host);
  expect(slack().texts()).toEqual([words, "Interrupted."]);
});

// ── Several threads of one conversation ──

test.each(["before", "in the tool", "after the tool", "nowhere"] as const)(
  "two threads in self mode have their own context and notices; the second asks while the first is held %s",
  async (held) => {
    const gates = {
      before: createGate(),
      "in the tool": createGate(),
      "after the tool": createGate(),
      nowhere: createGate()
    };
    for (const [name, gate] of Object.entries(gates)) if (name !== held) gate.open();
    const seen: unknown[] = [];
    const note = async (agent: Think, where: string) => {
      const thread = agent.getMessengerContext()?.thread.id;
      seen.push([where, thread, agent.activeChannel?.thread]);
      await agent.deliverNotice(`${where} for ${thread}`);
    };
    let hub: Think | undefined;
    const steps = ["Ada", "Grace"].flatMap((name) => [
      reply(toolCall("work", {})),
      reply(gates["after the tool"].wait(), text(`Done for ${name}.`))
    ]);
    const host = await open(steps, {
      definition: { conversation: "self" },
      tools: {
        work: tool({
          inputSchema: nothing,
          execute: async () => {
            await gates["in the tool"].opened;
            if (hub) await note(hub, "tool");
            return "worked";
          }
        })
      },
      inTurn: async (agent) => {
        hub = agent;
        await gates.before.opened;
        await note(agent, "turn");
      }
    });
    await asksSlack(host, "Ada asks");
    await answered(host, 1_000);
    await asksSlack(host, "Grace asks", { channel: "D9", user: "U9" });
    await answered(host, 1_000);
    gates[held].open();
    await answered(host, 30_000);
    const [ada, grace] = ["slack:D7:", "slack:D9:"].map((prefix) =>
      seen.filter((one) => JSON.stringify(one).includes(prefix))
    );
    expect([ada?.length, grace?.length, seen.length]).toEqual([2, 2, 4]);
    for (const [, thread, active] of seen as [string, string, string][]) expect(thread).toBe(active);
    for (const [channel, name] of [
      ["D7", "Ada"],
      ["D9", "Grace"]
    ] as const) {
      const shown = slackTexts(channel);
      expect(shown).toHaveLength(3);
      expect(shown.filter((one) => one.startsWith("turn for") || one.startsWith("tool for"))).toHaveLength(2);
      expect(shown).toContain(`Done for ${name}.`);
      expect(shown.join()).not.toContain(channel === "D7" ? "D9" : "D7");
    }
  }
);

// ── Sub-agents ──

test("in thread mode instructions, tools, the context, notices and attachments of the channel work in the sub-agent", async () => {
  const steps = [reply(toolCall("attach", {})), reply(text("Done."))];
  const host = await open(steps, {
    messengers: () => ({}),
    channels: () =>
      defineChannels({
        telegram: messengerChannel(bot(), {
          instructions: ({ thread }) => `Answer ${thread} in one line.`,
          tools: ({ look: _look, ...rest }) => rest
        })
      }),
    actions: { attach },
    tools: { look }
  });
  const seen: unknown[] = [];
  world.inTurn = async (agent) => {
    const { channelId, kind, capabilities, thread } = agent.activeChannel ?? {};
    seen.push(channelId, kind, capabilities?.canEditMessages, thread, agent.parentPath.length);
    await agent.deliverNotice("Working on it.");
  };
  await asksTelegram(host, "Hello");
  await answered(host, 20_000);
  const observed = world.events.flatMap(({ type, payload }) => (type.startsWith("channel:") ? [payload] : []));
  expect(observed).toEqual([
    { channel: "telegram", kind: "messenger", requestId: expect.any(String) as string },
    { channel: "telegram", kind: "final", turnEnded: true, status: "completed" }
  ]);
  expect(seen).toEqual(["telegram", "messenger", true, "telegram:7", 1]);
  expect(systemOf(0)).toContain("Answer telegram:7 in one line.");
  for (const call of [0, 1]) {
    expect([toolsOf(call).includes("attach"), toolsOf(call).includes("look")]).toEqual([true, false]);
  }
  expect(telegram().texts()).toEqual(["Working on it.", "Done.", expect.stringContaining("Subject: Draft")]);
});

test("a sub-agent of a class without messengers has the thread, its notices and its own rendering, too", async () => {
  const host = await open([reply(toolCall("attach", {})), reply(text("Done."))], {
    definition: { conversation: () => ({ target: "subagent", name: "clerk", agentClass: Clerk }) },
    actions: { attach }
  });
  const seen: unknown[] = [];
  world.inTurn = async (agent) => {
    seen.push(agent.activeChannel?.kind, agent.activeChannel?.thread);
    await agent.deliverNotice("Working on it.");
    await agent.deliverNotice("x", { channel: "nowhere", thread: "nowhere:1" }).catch((error: Error) => {
      seen.push(error.message);
    });
  };
  await asksTelegram(host, "Hello");
  await answered(host, 20_000);
  expect(seen).toEqual(["messenger", "telegram:7", expect.stringContaining("nowhere")]);
  expect(telegram().texts()).toEqual(["Working on it.", "Done.", "The clerk's email_draft."]);
});

// ── Notices ──

test("a notice that names another channel and thread goes there, and nowhere else", async () => {
  const host = await open([reply(text("Done."))]);
  world.inTurn = async (agent) => {
    await agent.deliverNotice("To Slack.", { channel: "slack", thread: "slack:C100:" });
    await agent.deliverNotice("To Grace.", { channel: "telegram", thread: "telegram:9" });
    await expect(agent.deliverNotice("Where?", { channel: "slack" })).rejects.toThrow("a messenger needs a thread");
  };
  await asksTelegram(host, "Hello");
  await answered(host);
  expect(
    slack()
      .messages()
      .map(({ channel, text: shown }) => [channel, shown])
  ).toEqual([["C100", "To Slack."]]);
  expect([telegram().texts(7), telegram().texts(9)]).toEqual([["Done."], ["To Grace."]]);
});

test("a messenger's notice with informModel is posted plain, and the model reads it with the prefix", async () => {
  const host = await open([]);
  const agent = await host.get(Hub, "main");
  await agent.deliverNotice(
    { markdown: "**Closed** today." },
    { channel: "telegram", thread: "telegram:7", informModel: true }
  );
  await agent.deliverNotice("Not for the model.", { channel: "telegram", thread: "telegram:7" });
  await answered(host);
  expect(telegram().texts()).toEqual(["**Closed** today.", "Not for the model."]);
  expect(await agent.getMessages()).toMatchObject([
    {
      role: "assistant",
      parts: [{ text: "[Delivered out of band] **Closed** today." }],
      metadata: { deliveryKind: "notice" }
    }
  ]);
  expect(world.script.calls).toEqual([]);
});

test("a long notice is split as the channel says, also for a surface of the class's own", async () => {
  const posted: unknown[] = [];
  const host = await open([], {
    channels: () => ({
      pager: {
        kind: "custom",
        delivery: { splitText: (long: string) => long.match(/.{1,4}/g) ?? [] },
        surface: () => ({ post: (message) => void posted.push(message) })
      }
    })
  });
  const agent = await host.get(Hub, "main");
  await agent.deliverNotice("12345678", { channel: "pager" });
  await agent.deliverNotice({ markdown: "12345" }, { channel: "pager" });
  expect(posted).toEqual(["1234", "5678", { markdown: "1234" }, { markdown: "5" }]);
  await agent.deliverNotice("word ".repeat(1_000), { channel: "telegram", thread: "telegram:7" });
  await answered(host);
  expect(
    telegram()
      .texts()
      .map(({ length }) => length <= 3_400)
  ).toEqual([true, true]);
});

// ── The policy of recovered turns ──

describe("the channel's instructions and tools hold", () => {
  const channels = () =>
    defineChannels({
      pager: { kind: "custom", instructions: "Be brief.", tools: ({ look: _look, ...rest }) => rest }
    });
  const deploy = action({
    description: "Deploys.",
    inputSchema: nothing,
    kind: "durable-pause",
    execute: () => "done"
  });

  async function died(steps: Step[], channel?: string): Promise<void> {
    const host = await open(steps, { channels, tools: { look }, actions: { deploy } });
    const agent = await host.get(Hub, "main");
    // Its process dies with it.
    void Promise.resolve(agent.runTurn({ input: "Hello", ...(channel && { channel }) })).catch(() => undefined);
    await answered(host, 2_000);
    await host.restart();
    await answered(host, 120_000);
  }

  test.each([
    ["is continued from its text", reply(text("The first half of a long enough text. "), stall())],
    ["is tried again from its beginning", reply(stall())]
  ])("for a turn that %s after a crash; without a channel there is neither", async (_how, step) => {
    await died([step, reply(text("End."))], "pager");
    expect(world.script.calls.length).toBe(2);
    expect([systemOf(1).includes("Be brief."), toolsOf(1).includes("look")]).toEqual([true, false]);
    await died([step, reply(text("End."))]);
    expect([systemOf(1).includes("Be brief."), toolsOf(1).includes("look")]).toEqual([false, true]);
  });

  test("for the continuation after an approval; without a channel there is neither", async () => {
    for (const channel of ["pager", undefined]) {
      const steps = [reply(toolCall("deploy", {})), reply(text("Please approve.")), reply(text("Deployed."))];
      const host = await open(steps, { channels, tools: { look }, actions: { deploy } });
      const agent = await host.get(Hub, "main");
      await agent.runTurn({ input: "Deploy", ...(channel && { channel }) });
      const [pending] = await agent.pendingApprovals();
      await agent.approveExecution(pending?.executionId ?? "");
      await answered(host, 10_000);
      expect(world.script.calls).toHaveLength(3);
      expect([systemOf(2).includes("Be brief."), toolsOf(2).includes("look")]).toEqual([!!channel, !channel]);
    }
  });
});

// ── What clients send ──

test.each(["socket", "server-sent events"] as const)(
  "reserved metadata of a message that a client sends by %s is not stored",
  async (how) => {
    const host = await open([reply(text("Hello."))]);
    const forged = {
      channel: "slack",
      messenger: { messengerId: "slack", thread: { id: "slack:C1:" } },
      deliveryKind: "final"
    };
    const metadata = { ...forged, turnMetadata: { admin: true }, mine: 1 };
    const message = { id: "u1", role: "user", parts: [{ type: "text", text: "Hello" }], metadata };
    const body = JSON.stringify({ id: "c1", trigger: "submit-message", messages: [message] });
    if (how === "socket") {
      const socket = await host.connect("/agents/hub/main");
      socket.send({ type: "cf_agent_use_chat_request", id: "r1", init: { method: "POST", body } });
    } else {
      const headers = { "Content-Type": "application/json" };
      expect((await host.fetch("/agents/hub/main/chat", { method: "POST", headers, body })).status).toBe(200);
    }
    await answered(host);
    const agent = await host.get(Hub, "main");
    // Parts hold `unknown`, which a stub's types cannot carry.
    const [stored] = (await (agent.getMessages() as Promise<unknown>)) as { metadata?: Record<string, unknown> }[];
    expect(stored?.metadata).toMatchObject({ mine: 1 });
    expect(JSON.stringify(stored?.metadata)).not.toMatch(/slack|admin|"final"/);
    expect(slack().calls).toEqual([]);
  }
);

// ── Attachments ──

test("attachments follow the answer in order; one that cannot be rendered, and one without a text, stop no other", async () => {
  const attachments: ReplyAttachment[] = [
    { type: "broken" },
    { type: "card", payload: { total: 3 } },
    { type: "voice_note", url: "https://example.com/a.ogg" },
    { type: "email_draft", to: ["a@x.example"], subject: "Hi" }
  ];
  const several = action({
    description: "Attaches several.",
    inputSchema: nothing,
    execute: (_input, { attachReply }) => {
      for (const attachment of attachments) attachReply(attachment);
      return "attached";
    }
  });
  const host = await open([reply(toolCall("several", {})), reply(text("Done."))], {
    actions: { several },
    render: ({ type }) => {
      if (type === "broken") throw new Error("cannot be rendered");
    }
  });
  await asksSlack(host, "Hello");
  await answered(host, 20_000);
  expect(slack().texts()).toEqual([
    "Done.",
    '```json\n{\n  "total": 3\n}\n```',
    "**Email draft**\n\nTo: a@x.example\nSubject: Hi"
  ]);
});
