// Large conversations and large values: what a start reads does not depend on what is stored, and nothing large is lost
// on its way to the model, to clients and over a restart.
import { StatementSync } from "node:sqlite";
import { tool, type ToolSet, type UIMessage } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  type RecordedCall,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { framesOf, sendChat } from "../kit/frames.ts";
import { message, storedMessages } from "../kit/messages.ts";

const MEGABYTE = 1_000_000;
const HISTORY_MEGABYTES = 200;
/** 200 MB are written before they are read. */
const TIMEOUT_MS = 60_000;

let script = createScript([]);
let tools: ToolSet = {};

class Archive extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override getTools() {
    return tools;
  }
  override async onRequest() {
    return new Response("awake");
  }
  async fill(from: number, count: number) {
    await this.addMessages(Array.from({ length: count }, (_, index) => page(from + index)));
  }
  /** As the store has it, uncut, as JSON. */
  async whole(messageId: string): Promise<string> {
    return JSON.stringify(await this.session.getMessage(messageId));
  }
}

/** A message of a megabyte. */
function page(number: number): UIMessage {
  const line = `Page ${number} of a conversation that has been going on for years. `;
  const role = number % 2 === 0 ? "user" : "assistant";
  return message(role, `page-${number}`, line.repeat(MEGABYTE / line.length));
}

function open(steps: Step[] = [], toolSet: ToolSet = {}) {
  [script, tools] = [createScript(steps), toolSet];
  return createTestHost({ agents: { Archive } });
}

const connect = (host: TestHost<object>) => host.connect("/agents/archive/a");

function ask(socket: TestSocket, id: string, parts: UIMessage["parts"]): void {
  const messages = [{ id: `u-${id}`, role: "user", parts }];
  sendChat(socket, id, messages);
}

const stored = (host: TestHost<object>) => storedMessages(host, "/agents/archive/a");

/** A message as the store has it, uncut. */
async function whole(host: TestHost<object>, messageId: string | undefined): Promise<UIMessage> {
  return JSON.parse(await (await host.get(Archive, "a")).whole(messageId ?? "")) as UIMessage;
}

/** The newest list a client was sent. */
function shown(socket: TestSocket): UIMessage[] {
  const frames = framesOf(socket);
  return frames.findLast(({ type }) => type === "cf_agent_chat_messages")?.messages ?? [];
}

interface Reads {
  rows: number;
  bytes: number;
}

/** What SQLite hands out while the work goes on. */
async function readsOf(work: () => Promise<unknown>): Promise<Reads> {
  const reads: Reads = { rows: 0, bytes: 0 };
  const all = StatementSync.prototype.all;
  const spy = vi.spyOn(StatementSync.prototype, "all").mockImplementation(function (this: StatementSync, ...values) {
    const rows = all.apply(this, values);
    for (const row of rows) {
      reads.rows += 1;
      for (const value of Object.values(row)) reads.bytes += sizeOf(value);
    }
    return rows;
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return reads;
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  return value instanceof Uint8Array ? value.byteLength : 8;
}

describe(`a conversation of ${HISTORY_MEGABYTES} MB`, () => {
  const wake = (host: TestHost<object>) => host.fetch("/agents/archive/a/wake");

  test(
    "starts with as few reads as one of a single message, and shows the newest part of it",
    async () => {
      const small = open();
      const large = open([reply(text("Still here."))]);
      for (const [host, count] of [
        [small, 1],
        [large, HISTORY_MEGABYTES]
      ] as const) {
        const agent = await host.get(Archive, "a");
        for (let from = 0; from < count; from += 10) await agent.fill(from, Math.min(10, count - from));
        await host.restart();
      }
      const few = await readsOf(() => wake(small));
      const many = await readsOf(() => wake(large));
      expect(many.rows).toBe(few.rows);
      // A number may have more digits.
      expect(Math.abs(many.bytes - few.bytes)).toBeLessThan(100);
      expect(many.rows).toBeLessThanOrEqual(20);
      expect(many.bytes).toBeLessThan(20_000);

      await large.restart();
      const connected = await readsOf(() => connect(large));
      // The window of clients and the model, with some room for what goes with it.
      expect(connected.bytes).toBeLessThan(2 * 24 * 1024 * 1024);
      const socket = await connect(large);
      await large.idle();
      expect(shown(socket).at(-1)?.id).toBe(`page-${HISTORY_MEGABYTES - 1}`);
      expect(shown(socket).length).toBeLessThan(30);
      ask(socket, "r1", [{ type: "text", text: "Are you there?" }]);
      await large.idle();
      expect(JSON.stringify(script.calls[0]?.prompt).length).toBeLessThan(30 * MEGABYTE);
      expect(await whole(large, "page-0")).toEqual(page(0));
    },
    TIMEOUT_MS
  );
});

describe("a tool output of 2 MB", () => {
  const long = `begin ${"0123456789".repeat(200_000)} end`;
  const dump = { dump: tool({ inputSchema: z.object({}), execute: async () => ({ log: long }) }) };
  const resultIn = (call: RecordedCall | undefined) =>
    JSON.stringify(call?.prompt.filter(({ role }) => role === "tool"));

  test("reaches the model whole in its turn, is kept whole, and is shown shortened to clients and later turns", async () => {
    const host = open([reply(toolCall("dump", {}, { id: "c1" })), reply(text("Read.")), reply(text("Yes."))], dump);
    const socket = await connect(host);
    ask(socket, "r1", [{ type: "text", text: "dump" }]);
    await host.idle();
    expect(resultIn(script.calls[1])).toContain(long);
    await host.restart();

    const [, answer] = await stored(host);
    expect(JSON.stringify(answer).length).toBeLessThan(1_800_000);
    expect(JSON.stringify(answer)).toContain("begin 0123");
    const late = await connect(host);
    await host.idle();
    expect(shown(late)).toEqual(await stored(host));
    const { parts } = await whole(host, answer?.id);
    expect(parts).toContainEqual(expect.objectContaining({ toolCallId: "c1", output: { log: long } }));

    ask(late, "r2", [{ type: "text", text: "And?" }]);
    await host.idle();
    expect(resultIn(script.calls[2])).toContain("begin 0123");
    expect(resultIn(script.calls[2]).length).toBeLessThan(1_800_000);
  });

  test("survives a death behind it: the recovered turn shows it to the model whole, and the tool runs once", async () => {
    let runs = 0;
    const counted = { dump: tool({ inputSchema: z.object({}), execute: async () => ({ log: long, run: ++runs }) }) };
    const steps = [reply(toolCall("dump", {}, { id: "c1" })), reply(stall()), reply(text("Read."))];
    const host = open(steps, counted);
    ask(await connect(host), "r1", [{ type: "text", text: "dump" }]);
    await host.advance(2_000);
    await host.restart();
    const late = await connect(host);
    await host.advance(60_000);
    expect(runs).toBe(1);
    expect(script.callCount).toBe(3);
    expect(resultIn(script.calls[2])).toContain(long);
    const replayed = late.frames.map((frame) => JSON.stringify(frame)).join("");
    expect(replayed).toContain("begin 0123");
    await host.restart();
    const [, answer] = await stored(host);
    const { parts } = await whole(host, answer?.id);
    expect(parts).toContainEqual(expect.objectContaining({ toolCallId: "c1", output: { log: long, run: 1 } }));
  });
});

describe.each([1, 5])("an image of %i MB in a question", (megabytes) => {
  const url = `data:image/png;base64,${Buffer.alloc(megabytes * MEGABYTE, 7).toString("base64")}`;
  const picture: UIMessage["parts"] = [
    { type: "file", mediaType: "image/png", url },
    { type: "text", text: "What is this?" }
  ];
  test("is kept whole over a restart", async () => {
    const host = open([reply(text("A seven."))]);
    ask(await connect(host), "r1", picture);
    await host.idle();
    await host.restart();
    expect((await whole(host, "u-r1")).parts).toEqual(picture);
  });

  test("is sent to the model, also with the next question after a restart", async () => {
    const host = open([reply(text("A seven.")), reply(text("Still a seven."))]);
    ask(await connect(host), "r1", picture);
    await host.idle();
    expect(sentBytes(script.calls[0])).toBe(megabytes * MEGABYTE);
    await host.restart();
    ask(await connect(host), "r2", [{ type: "text", text: "Look again." }]);
    await host.idle();
    expect(sentBytes(script.calls[1])).toBe(megabytes * MEGABYTE);
  });

  test("is shown to a client that connects after a restart", async () => {
    const host = open([reply(text("A seven."))]);
    ask(await connect(host), "r1", picture);
    await host.idle();
    await host.restart();
    const late = await connect(host);
    await host.idle();
    // Compared by hand: a difference of megabytes is nothing to print.
    expect(JSON.stringify(shown(late)[0]?.parts) === JSON.stringify(picture)).toBe(true);
    expect(JSON.stringify((await stored(host))[0]?.parts) === JSON.stringify(picture)).toBe(true);
  });

  test("is sent again when the turn is recovered", async () => {
    const host = open([reply(stall()), reply(text("A seven."))]);
    ask(await connect(host), "r1", picture);
    await host.advance(2_000);
    await host.restart();
    await host.advance(60_000);
    expect(script.callCount).toBe(2);
    expect(sentBytes(script.calls[1])).toBe(megabytes * MEGABYTE);
  });
});

/** The size of all files in a prompt, given as bytes, base64 or data URLs. */
function sentBytes(call: RecordedCall | undefined): number {
  const parts = (call?.prompt ?? []).flatMap(({ content }) => (typeof content === "string" ? [] : [...content]));
  const files = parts.filter(({ type }) => type === "file");
  return files.reduce((sum, part) => sum + dataBytes(Reflect.get(part, "data")), 0);
}

function dataBytes(data: unknown): number {
  if (data instanceof Uint8Array) return data.byteLength;
  if (data instanceof URL) return dataBytes(data.href);
  if (typeof data === "string") return Buffer.from(data.replace(/^data:.*?,/, ""), "base64").byteLength;
  if (typeof data !== "object" || data === null) return 0;
  return dataBytes(Reflect.get(data, "data") ?? Reflect.get(data, "url"));
}
