import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, test, vi } from "vitest";
import { tablesOf } from "../host/schema.ts";
import { evict, evictableValues } from "./media-eviction.ts";
import { MediaEvictor, type EvictionSummary, type MediaEvictorInit } from "./media-evictor.ts";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";
import { openTestSession, text } from "./session.test-support.ts";

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...new Uint8Array(60_000)]);
const PNG_URL = `data:image/png;base64,${Buffer.from(PNG).toString("base64")}`;
const image: SessionMessagePart = { type: "file", mediaType: "image/png", url: PNG_URL };
const picture = (id: string): SessionMessage => ({ id, role: "user", parts: [{ type: "text", text: "see" }, image] });

const RULE = { minChars: 100 };

describe("what is evicted", () => {
  const long = "x".repeat(200);
  const message: SessionMessage = {
    id: "m/1",
    role: "assistant",
    parts: [
      { type: "text", text: long },
      { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(200)}` },
      { type: "file", mediaType: "image/png", url: `https://example.com/${long}` },
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA" },
      { type: "file", mediaType: "x", url: `data:;base64,${"A".repeat(200)}` },
      {
        type: "tool-a",
        toolCallId: "c",
        state: "output-available",
        input: { a: long },
        output: { a: [long, "short"], b: 1 }
      },
      { type: "tool-a", toolCallId: "d", state: "output-error", errorText: long }
    ]
  };

  it("is data URLs and long strings in outputs, named by message, number and kind", () => {
    expect(
      evictableValues(message, RULE).map(({ name, mediaType, sizeBytes }) => [name, mediaType, sizeBytes])
    ).toEqual([
      ["/attachments/evicted/m%2F1-0.png", "image/png", 150],
      ["/attachments/evicted/m%2F1-1.bin", "", 150],
      ["/attachments/evicted/m%2F1-2.txt", undefined, 200]
    ]);
  });

  it("leaves a marker and the shape of everything", () => {
    const evicted = evict(message, RULE, ["/a.png", undefined, undefined]);
    expect(evicted.parts[1]).toEqual({ type: "text", text: "[evicted image/png, 150 bytes; preserved at /a.png]" });
    expect(evicted.parts[4]).toEqual({ type: "text", text: "[evicted 150 bytes]" });
    expect(evicted.parts[5]).toMatchObject({
      input: { a: long },
      output: { a: ["[evicted 200 bytes]", "short"], b: 1 }
    });
    for (const index of [0, 2, 3, 6]) expect(evicted.parts[index]).toBe(message.parts[index]);
    expect(evictableValues(evicted, RULE)).toEqual([]);
    expect(evict(evicted, RULE, [])).toBe(evicted);
  });

  it("is no output that is still worked with", () => {
    const keeps = ({ toolName, input }: { toolName: string; input: unknown }) =>
      toolName === "a" && JSON.stringify(input) === JSON.stringify({ a: long });
    expect(evictableValues(message, { ...RULE, keeps })).toHaveLength(2);
    expect(evict(message, { ...RULE, keeps }, []).parts[5]).toBe(message.parts[5]);
  });

  it("goes eight levels deep", () => {
    const nest = (depth: number): unknown => (depth === 0 ? long : { in: nest(depth - 1) });
    const part = (depth: number) => ({
      type: "tool-a",
      toolCallId: "c",
      state: "output-available",
      output: nest(depth)
    });
    expect(evictableValues({ ...message, parts: [part(8)] }, RULE)).toHaveLength(1);
    expect(evictableValues({ ...message, parts: [part(9)] }, RULE)).toHaveLength(0);
  });

  it("does not overwrite what an earlier eviction of the same message kept", () => {
    const once = evict(message, RULE, ["/attachments/evicted/m%2F1-0.png", undefined, undefined]);
    const again = { ...once, parts: [...once.parts, message.parts[1]!] };
    expect(evictableValues(again, RULE)[0]?.name).toBe("/attachments/evicted/m%2F1-1.png");
  });
});

function open(init: Partial<MediaEvictorInit> = {}) {
  const session = openTestSession(new DatabaseSync(":memory:"));
  const summaries: EvictionSummary[] = [];
  const deferred: (() => Promise<void>)[] = [];
  const files = new Map<string, Uint8Array>();
  const evictor = new MediaEvictor({
    store: session.store,
    options: true,
    preserve: (bytes, _mediaType, name) => {
      files.set(name, bytes);
      return name;
    },
    defer: (work) => void deferred.push(work),
    onEvicted: (summary) => summaries.push(summary),
    ...init
  });
  const settle = async () => {
    for (let work = deferred.shift(); work !== undefined; work = deferred.shift()) await work();
  };
  return { ...session, evictor, summaries, deferred, files, settle };
}

describe("the evictor", () => {
  it("keeps the bytes, then rewrites the row, and leaves the last eight messages alone", async () => {
    const { store, settle, files, summaries } = open();
    store.appendMessage(picture("p1"));
    for (let index = 0; index < 7; index += 1) store.appendMessage(text(`m${index}`));
    await settle();
    expect(store.getMessage("p1")).toEqual(picture("p1"));
    store.appendMessage(text("m7"));
    await settle();
    expect(files).toEqual(new Map([["/attachments/evicted/p1-0.png", PNG]]));
    expect(store.getMessage("p1")?.parts).toEqual([
      { type: "text", text: "see" },
      { type: "text", text: `[evicted image/png, ${PNG.length} bytes; preserved at /attachments/evicted/p1-0.png]` }
    ]);
    const bytes = PNG.length;
    expect(summaries).toEqual([{ messages: 1, parts: 1, bytes, externalizedBytes: bytes }]);
    const stats = store.getHistoryRowStats();
    expect(store.totals().bytes).toBe(stats.reduce((sum, each) => sum + each.bytes, 0));
  });

  it("never keeps fewer than four, and does nothing twice", async () => {
    const { store, settle, evictor, sql } = open({ options: { keepRecentMessages: 0 } });
    for (let index = 0; index < 6; index += 1) store.appendMessage(picture(`p${index}`));
    await settle();
    const kept = store.getHistory().map(({ parts }) => parts[1]?.type);
    expect(kept).toEqual(["text", "text", "file", "file", "file", "file"]);
    sql.reset();
    evictor.force();
    await settle();
    expect(sql.rowsWritten).toBe(0);
  });

  it("drains a backlog by itself, some rows at a time, one event per pass", async () => {
    const { store, settle, summaries } = open({ options: { maxRowsPerPass: 3 } });
    for (let index = 0; index < 18; index += 1) store.appendMessage(picture(`p${index}`));
    await settle();
    expect(summaries.map(({ messages }) => messages)).toEqual([3, 3, 3, 1]);
  });

  it("never looks through a conversation of text, nor again at what it cannot evict", async () => {
    const { store, deferred, settle, sql } = open({ options: { maxRowsPerPass: 1 } });
    for (let index = 0; index < 50; index += 1) store.appendMessage(text(`m${index}`));
    expect(deferred).toEqual([]);
    for (let index = 0; index < 5; index += 1) store.appendMessage(text(`long${index}`, "user", "x".repeat(40_000)));
    for (let index = 0; index < 20; index += 1) {
      store.appendMessage(text(`after${index}`));
      await settle();
    }
    sql.reset();
    store.appendMessage(text("last"));
    await settle();
    expect(sql.statements.join()).not.toContain("RECURSIVE");
  });

  it("that fails to keep a value leaves the row, and tries again after the next message", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    let isBroken = true;
    const { store, settle } = open({
      preserve: (_bytes, _mediaType, name) => {
        if (isBroken) throw new Error("full");
        return name;
      }
    });
    store.appendMessage(picture("p1"));
    for (let index = 0; index < 8; index += 1) store.appendMessage(text(`m${index}`));
    await settle();
    expect(store.getMessage("p1")).toEqual(picture("p1"));
    expect(warn).toHaveBeenCalled();
    isBroken = false;
    store.appendMessage(text("next"));
    await settle();
    expect(store.getMessage("p1")).not.toEqual(picture("p1"));
    warn.mockRestore();
  });

  it("does not overwrite a message that changed while its values were kept", async () => {
    const held: { store?: ReturnType<typeof open>["store"] } = {};
    const { store, settle } = open({
      preserve: async (_bytes, _mediaType, name) => {
        held.store?.updateMessage(text("p1", "user", "changed"));
        return name;
      }
    });
    held.store = store;
    store.appendMessage(picture("p1"));
    for (let index = 0; index < 8; index += 1) store.appendMessage(text(`m${index}`));
    await settle();
    expect(store.getMessage("p1")).toEqual(text("p1", "user", "changed"));
  });

  it("does nothing when it is off", async () => {
    const { store, settle, evictor } = open({ options: false });
    for (let index = 0; index < 20; index += 1) store.appendMessage(picture(`p${index}`));
    evictor.force();
    await settle();
    expect(store.getMessage("p0")).toEqual(picture("p0"));
  });
});

test("kept as a blob, an evicted output is noted with its call, and not when it is kept elsewhere or dropped", async () => {
  const output = { log: "x".repeat(40_000) };
  const called: SessionMessage = {
    id: "p1",
    role: "assistant",
    parts: [{ type: "tool-a", toolCallId: "c1", state: "output-available", input: {}, output }],
    metadata: { own: 1 }
  };
  const none = { preserve: undefined };
  for (const [init, expected] of [
    [none, { own: 1, compactedToolOutputs: ["c1"] }],
    [{}, { own: 1 }],
    [{ ...none, options: { externalizeToWorkspace: false } }, { own: 1 }]
  ] as const) {
    const { store, settle } = open(init as Partial<MediaEvictorInit>);
    store.appendMessage(called);
    for (let index = 0; index < 8; index += 1) store.appendMessage(text(`m${index}`));
    await settle();
    expect(JSON.stringify(store.getShown("p1")?.parts)).toContain("[evicted 40000 bytes");
    expect(store.getShown("p1")?.metadata).toEqual(expected);
    if (init === none) expect(store.getMessage("p1")).toEqual(called);
  }
});

test("kept as a blob, an evicted value comes back with the whole message, is released with it, and can be dropped", async () => {
  const session = openTestSession(new DatabaseSync(":memory:"));
  const { store, memory } = session;
  const work: (() => Promise<void>)[] = [];
  const evictor = new MediaEvictor({
    store,
    options: { keepRecentMessages: 4 },
    defer: (each) => void work.push(each),
    onEvicted: () => undefined
  });
  store.appendMessage(picture("p1"));
  for (let index = 0; index < 4; index += 1) store.appendMessage(text(`m${index}`));
  await evictor.run();
  expect(store.getHistory()[0]?.parts[1]).toEqual({ type: "text", text: `[evicted image/png, ${PNG.length} bytes]` });
  expect(store.getMessage("p1")).toEqual(picture("p1"));
  const shown = store.getShown("p1")!;
  store.updateMessage({ ...shown, parts: [{ type: "text", text: "look" }, ...shown.parts.slice(1)] });
  expect(store.getMessage("p1")?.parts).toEqual([{ type: "text", text: "look" }, image]);
  expect(store.getShown("p1")?.parts[1]?.type).toBe("text");
  store.clearMessages();
  expect(memory.all("SELECT * FROM cf_blobs")).toEqual([]);

  const dropping = openTestSession(new DatabaseSync(":memory:"));
  const dropper = new MediaEvictor({
    store: dropping.store,
    options: { keepRecentMessages: 4, externalizeToWorkspace: false },
    defer: () => undefined,
    onEvicted: () => undefined
  });
  dropping.store.appendMessage(picture("p1"));
  for (let index = 0; index < 4; index += 1) dropping.store.appendMessage(text(`m${index}`));
  await dropper.run();
  expect(dropping.store.getMessage("p1")?.parts[1]?.type).toBe("text");
  expect(tablesOf(dropping.memory)).not.toContain("cf_blobs");
});
