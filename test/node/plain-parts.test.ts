// What plain pages send and are sent beside text: attachments, data parts, and parts that only the newer major knows.
import type { UIMessageChunk } from "ai";
import { describe, expect, test } from "vitest";
import { Think } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  source,
  text,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import type { Feature } from "../../src/feature/feature.ts";
import { answerText, expectAsStored, PlainNetwork, postChat, settle, WAYS, type PageInit } from "./plain-kit.ts";
import { storedMessages, user } from "../kit/messages.ts";

let script: Script;

/** Sources below this address are chunks: the model of a test has no other way to write one. */
const CHUNK = "https://chunk.example/?";

const spelledOut: Feature = {
  name: "spelled-out",
  inTurn: () => ({
    annotate: (chunk) =>
      chunk.type === "source-url" && chunk.url.startsWith(CHUNK)
        ? (JSON.parse(decodeURIComponent(chunk.url.slice(CHUNK.length))) as UIMessageChunk)
        : chunk
  })
};

class Chat extends Think {
  override getModel() {
    return installedModel(script);
  }
  override getFeatures() {
    return [() => spelledOut];
  }
}

function open(...steps: Step[]) {
  script = createScript(steps);
  const host = createTestHost({ agents: { Chat } });
  return { host, network: new PlainNetwork(host) };
}

const chunk = (value: object) => source(CHUNK + encodeURIComponent(JSON.stringify(value)));
const PNG = "data:image/png;base64,iVBORw0KGgo=";
const NEWER: readonly object[] = [
  { type: "custom", kind: "maker.thing", providerMetadata: { maker: { a: 1 } } },
  { type: "reasoning-file", url: PNG, mediaType: "image/png" },
  { type: "steering-message", id: "s1", parts: [] }
];
/** Without the call that it belongs to, it is an error for a page. */
const DECISION = { type: "tool-approval-response", approvalId: "none", approved: true };

describe.each(WAYS)("a page with %s", (_name, way) => {
  test("sends a file with its question: it is stored, and the model is given it", async () => {
    const { host, network } = open(reply(text("A cat.")));
    const page = network.open(way);
    await page.sendMessage({
      text: "What is this?",
      files: [{ type: "file", mediaType: "image/png", filename: "cat.png", url: PNG }]
    });
    expect(answerText(page)).toBe("A cat.");
    await expectAsStored(page, host);
    expect((await storedMessages(host))[0]?.parts).toContainEqual(
      expect.objectContaining({ type: "file", filename: "cat.png" })
    );
    expect(JSON.stringify(script.calls[0]?.prompt)).toContain("image/png");
  });

  test("sends a data part with its question: it is stored as it is", async () => {
    const { host, network } = open(reply(text("Oslo.")));
    const page = network.open(way);
    await page.sendMessage({
      role: "user",
      parts: [
        { type: "text", text: "Where am I?" },
        { type: "data-place", id: "p1", data: { latitude: 59.9 } }
      ]
    });
    await expectAsStored(page, host);
    expect((await storedMessages(host))[0]?.parts).toContainEqual({
      type: "data-place",
      id: "p1",
      data: { latitude: 59.9 }
    });
  });

  test("is sent data parts: updated by their id, and the same after it comes back; a transient one is shown once", async () => {
    const gate = createGate();
    const { host, network } = open(
      reply(
        chunk({ type: "data-progress", id: "p1", data: 10 }),
        chunk({ type: "data-blink", data: "now", transient: true }),
        text("Almost."),
        gate.wait(),
        chunk({ type: "data-progress", id: "p1", data: 100 })
      )
    );
    const data: unknown[] = [];
    const init: PageInit = { ...way, onData: (part) => void data.push([part.type, part.data]) };
    const page = network.open(init);
    const asked = page.sendMessage({ text: "hi" });
    await gate.reached;
    await settle(host);
    expect(data).toEqual([
      ["data-progress", 10],
      ["data-blink", "now"]
    ]);
    const later = network.open({ ...way, messages: await storedMessages(host) });
    const resumed = later.resumeStream();
    await settle(host);
    gate.open();
    await Promise.all([asked, resumed]);
    for (const one of [page, later]) {
      await expectAsStored(one, host);
      expect(one.messages.at(-1)?.parts).toContainEqual({ type: "data-progress", id: "p1", data: 100 });
    }
  });

  test("an answer with parts that only ai 7 knows reaches it to the end, also when it comes back", async () => {
    const gate = createGate();
    const { host, network } = open(reply(...NEWER.map(chunk), text("first "), gate.wait(), text("second")));
    const page = network.open(way);
    const asked = page.sendMessage({ text: "hi" });
    await gate.reached;
    await settle(host);
    const later = network.open({ ...way, messages: await storedMessages(host) });
    const resumed = later.resumeStream();
    await settle(host);
    gate.open();
    await Promise.all([asked, resumed]);
    for (const one of [page, later]) expect([one.status, answerText(one)]).toEqual(["ready", "first second"]);
  });
});

describe("parts that only ai 7 knows", () => {
  const SENT = [...NEWER, DECISION];
  const types = async (headers: HeadersInit) => {
    const { host } = open(reply(...SENT.map(chunk), text("words")));
    const question = user("u1", "hi");
    const body = await (await postChat(host, { messages: [question] }, { headers })).text();
    return SENT.flatMap((part) =>
      "type" in part && body.includes(`"type":"${String(part.type)}"`) ? [part.type] : []
    );
  };

  test("are not sent over HTTP, where a client of ai 6 may read", async () => {
    expect(await types({})).toEqual([]);
  });

  test("are sent over HTTP to a client that says it has ai 7", async () => {
    expect(await types({ "X-AI-SDK-Major": "7" })).toEqual(SENT.map((part) => "type" in part && part.type));
  });

  test("are shown by a page over a WebSocket, which only ai 7 has", async () => {
    const { network } = open(reply(...NEWER.map(chunk), text("words")));
    const page = network.open({ over: "socket" });
    await page.sendMessage({ text: "hi" });
    expect(page.messages.at(-1)?.parts).toContainEqual(expect.objectContaining({ type: "custom" }));
  });
});
