// Several kinds of client on one conversation: ours, one of the `cf_agent_*` protocol, and pages with the AI SDK alone over
// HTTP and over a WebSocket. Whichever of them asks, stops or decides, and also when the process dies, they end with the same messages.
// A plain page learns what others do only when it asks: it resumes, or is reloaded.
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { createGate, reply, text, toolCall, type TestHost } from "../../src/testing/index.ts";
import { ChatClient } from "../../src/testing/chaos/chat-client.ts";
import type { Network } from "./client-kit.ts";
import { open, scene, stored, type Subject } from "./client-subject.ts";
import { PlainNetwork, type Page } from "./plain-kit.ts";

const ADDRESS = "/agents/subject/a";

/** What a person can see of a conversation. */
const shown = (messages: readonly UIMessage[]) =>
  messages.map(({ id, role, parts }) => [
    id,
    role,
    ...parts.flatMap((part) => {
      if (part.type === "text") return [part.text];
      return "toolCallId" in part ? [`${part.toolCallId} ${part.state}`] : [];
    })
  ]);

class Party {
  readonly ours;
  readonly published: ChatClient;
  readonly #host: TestHost<object>;
  readonly #network: Network;
  readonly #plain: PlainNetwork;

  constructor({ host, network }: { host: TestHost<object>; network: Network }) {
    this.#host = host;
    this.#network = network;
    this.#plain = new PlainNetwork(host);
    this.ours = network.client<Subject>();
    this.published = new ChatClient({ connect: () => host.connect(ADDRESS), fetchMessages: () => stored(host) });
  }

  async plain(over: "http" | "socket"): Promise<Page> {
    return this.#plain.open({ over, address: ADDRESS, messages: await stored(this.#host) });
  }

  async settle(): Promise<void> {
    for (let round = 0; round < 6; round += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      await this.#host.advance(50);
      await this.#network.settle();
    }
  }

  /** All of them show what is stored; pages that were not asking are reloaded first. */
  async agree(...pages: Page[]): Promise<void> {
    await this.settle();
    const truth = shown(await stored(this.#host));
    expect(shown(this.ours.getSnapshot().messages)).toEqual(truth);
    expect(shown(this.published.messages)).toEqual(truth);
    for (const page of pages) expect(shown(page.messages)).toEqual(truth);
    for (const over of ["http", "socket"] as const) {
      const reloaded = await this.plain(over);
      void reloaded.resumeStream();
      await this.settle();
      expect([reloaded.status, shown(reloaded.messages)]).toEqual(["ready", truth]);
    }
  }
}

async function meet(...steps: Parameters<typeof open>) {
  const setting = open(...steps);
  const party = new Party(setting);
  await party.published.open();
  await party.settle();
  return { ...setting, party };
}

test("an answer that one asked for is followed by all, from its first word", async () => {
  const gate = createGate();
  const { party } = await meet(reply(text("first "), gate.wait(), text("second")));
  void party.ours.send("hi");
  await gate.reached;
  const pages = [await party.plain("http"), await party.plain("socket")];
  for (const page of pages) void page.resumeStream();
  await party.settle();
  gate.open();
  await party.agree(...pages);
});

test.each(["http", "socket"] as const)(
  "what a plain page asks over %s is shown to all while it is written",
  async (over) => {
    const gate = createGate();
    const { party } = await meet(reply(text("first "), gate.wait(), text("second")));
    const page = await party.plain(over);
    void page.sendMessage({ text: "hi" });
    await gate.reached;
    await party.settle();
    for (const { messages } of [party.ours.getSnapshot(), party.published]) {
      expect(shown(messages).at(-1)).toContain("first ");
    }
    gate.open();
    await party.agree(page);
  }
);

test.each(["http", "socket"] as const)(
  "ours stops what a plain page asked over %s: both show where it ended",
  async (over) => {
    const gate = createGate();
    const { party } = await meet(reply(text("first "), gate.wait(), text("second")));
    const page = await party.plain(over);
    void page.sendMessage({ text: "hi" });
    await gate.reached;
    await party.settle();
    void party.ours.stop();
    await party.settle();
    expect(page.status).toBe("ready");
    await party.agree(page);
  }
);

test.each(["http", "socket"] as const)(
  "ours decides over a call of a plain page over %s, which finds out when it resumes",
  async (over) => {
    const { party } = await meet(reply(toolCall("mail", { to: "ada" }, { id: "c1" })), reply(text("Sent.")));
    const page = await party.plain(over);
    void page.sendMessage({ text: "hi" });
    await party.settle();
    expect(shown(page.messages).at(-1)).toContain("c1 approval-requested");
    void party.ours.approve("c1");
    await party.settle();
    expect(scene.effects).toEqual(["mail ada"]);
    void page.resumeStream();
    await party.agree(page);
  }
);

test.each(["http", "socket"] as const)(
  "two decide over one call at once, one of them over %s: it runs once",
  async (over) => {
    const { party } = await meet(reply(toolCall("mail", { to: "ada" }, { id: "c1" })), reply(text("Sent.")));
    const page = await party.plain(over);
    void page.sendMessage({ text: "hi" });
    await party.settle();
    const parts = page.messages.at(-1)?.parts ?? [];
    const [id = ""] = parts.flatMap((part) => ("approval" in part && part.approval ? [part.approval.id] : []));
    void party.ours.approve("c1");
    await page.addToolApprovalResponse({ id, approved: true });
    void page.sendMessage();
    await party.settle();
    await party.settle();
    expect(scene.effects).toEqual(["mail ada"]);
    expect(page.status).toBe("ready");
    await party.agree(page);
  }
);

test("the process dies while a plain page is sent an answer: all end with the same one", async () => {
  const gate = createGate();
  const { host, network, party } = await meet(
    reply(text("first "), gate.wait(), text("never")),
    reply(text("second")),
    reply(text("second"))
  );
  const pages = [await party.plain("http"), await party.plain("socket")];
  void pages[0]?.sendMessage({ text: "hi" });
  await gate.reached;
  void pages[1]?.resumeStream();
  await party.settle();
  await host.advance(600);
  await host.restart();
  await network.notice();
  await network.reconnect();
  await party.published.open();
  await host.advance(60_000);
  await party.settle();
  await pages[0]?.resumeStream();
  const [page] = pages;
  await party.agree(...(page ? [page] : []));
});
