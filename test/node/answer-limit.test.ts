// Answers without end: how much of one is taken, what becomes of the turn then, and what a restart reads of it. Each test
// is named after its promise.
import { tool, type ToolSet, type UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think, type ChatErrorContext, type ChatResponseResult } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { die, endsOf, settleDown } from "./recovery-kit.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { storedMessages, textOf, user } from "../kit/messages.ts";
import { never } from "../kit/time.ts";

// Some of these write twenty megabytes, which takes seconds on a machine that does other things too.
vi.setConfig({ testTimeout: 30_000 });

const MEGABYTE = 1_000_000;
const DEFAULT_LIMIT = 4 * MEGABYTE;
const TOO_LARGE = "error: This answer has reached its limit of size and ends here.";

interface Seen {
  script: ReturnType<typeof createScript>;
  maxAnswerBytes: number | undefined;
  budgetBytes: number | undefined;
  tools: ToolSet;
  errors: { code: unknown; stage: string }[];
  responses: ChatResponseResult[];
  effects: string[];
  /** Called while a restarted process reads what the turn has written. */
  onRead: () => void;
  exhausted: string[];
}

const seen: Seen = {
  script: createScript([]),
  maxAnswerBytes: undefined,
  budgetBytes: undefined,
  tools: {},
  errors: [],
  responses: [],
  effects: [],
  onRead: () => undefined,
  exhausted: []
};

class Writer extends Think {
  constructor(...args: ConstructorParameters<typeof Think>) {
    super(...args);
    if (seen.maxAnswerBytes !== undefined) this.maxAnswerBytes = seen.maxAnswerBytes;
    if (seen.budgetBytes !== undefined) this.hydrationByteBudget = seen.budgetBytes;
  }
  override chatRecovery = {
    onExhausted: ({ reason }: { reason: string }) => void seen.exhausted.push(reason)
  };
  override onStart() {
    const { storage } = this.ctx;
    const sync = storage.sync.bind(storage);
    const watched = async () => {
      await sync();
      seen.effects.push("on disk");
    };
    Object.defineProperty(storage, "sync", { value: watched });
  }
  override repairInterruptedToolPart(part: UIMessage["parts"][number]) {
    seen.onRead();
    return super.repairInterruptedToolPart(part);
  }
  override getModel() {
    return scriptedModel(seen.script);
  }
  override getTools() {
    return seen.tools;
  }
  override onChatError(error: unknown, { stage }: ChatErrorContext) {
    seen.errors.push({ code: Reflect.get(Object(error), "code"), stage });
    return error;
  }
  override async onChatResponse(result: ChatResponseResult) {
    seen.responses.push(result);
  }
}

beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

function open(steps: Step[], settings: Partial<Pick<Seen, "maxAnswerBytes" | "budgetBytes" | "tools">> = {}) {
  const nothing = {
    maxAnswerBytes: undefined,
    budgetBytes: undefined,
    tools: {},
    errors: [],
    responses: [],
    effects: [],
    exhausted: []
  };
  Object.assign(seen, { ...nothing, script: createScript(steps), onRead: () => undefined, ...settings });
  return createTestHost({ agents: { Writer } });
}

const connect = (host: TestHost<object>) => host.connect("/agents/writer/a");
const stored = (host: TestHost<object>) => storedMessages(host, "/agents/writer/a");

/** Pieces of so many characters, each unlike the others. */
const pieces = (count: number, chars: number) =>
  Array.from({ length: count }, (_, index) => text(`${index}:`.padEnd(chars, "x")));

const settledReasons = async (host: TestHost<object>) => {
  const rows = host.sql(Writer, "a", "SELECT body FROM cf_journal WHERE body LIKE '%turn-settled%' ORDER BY last");
  return rows.map(({ body }) => /"reason":(null|"[^"]*")/.exec(String(body).split("turn-settled")[1] ?? "")?.[1]);
};

describe("an answer without end", () => {
  test("ends at 4 MB with what it has and a named reason, and the next question is answered", async () => {
    const host = open([reply(...pieces(100, 100_000)), reply(text("two"))]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual([TOO_LARGE]);
    expect(seen.errors).toEqual([{ code: "answer-too-large", stage: "stream" }]);
    expect(await settledReasons(host)).toEqual(['"answer_too_large"']);
    const answer = textOf((await stored(host))[1]);
    expect(answer).toHaveLength(DEFAULT_LIMIT);
    expect(answer.startsWith("0:xxx")).toBe(true);
    expect(answer).toContain("39:xxx");
    expect(answer).not.toContain("40:");
    expect(seen.responses).toMatchObject([{ status: "error" }]);
    ask(socket, "r2");
    await host.idle();
    expect(textOf((await stored(host)).at(-1))).toBe("two");
    expect(seen.script.callCount).toBe(2);
  });

  test("in one piece is cut where it reaches the limit, between two characters", async () => {
    const host = open([reply(text("é".repeat(30)), text("😀".repeat(30)))], { maxAnswerBytes: 70 });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual([TOO_LARGE]);
    expect(textOf((await stored(host))[1])).toBe(`${"é".repeat(30)}😀😀`);
  });

  test("of exactly the limit is complete", async () => {
    const host = open([reply(text("12345"), text("67890"))], { maxAnswerBytes: 10 });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(textOf((await stored(host))[1])).toBe("1234567890");
  });

  test("as the input of a tool ends the turn, and the tool does not run", async () => {
    const write = tool({
      inputSchema: z.object({ content: z.string() }),
      execute: async () => {
        seen.effects.push("written");
        return "ok";
      }
    });
    const host = open(
      [reply(text("I write. "), toolCall("write", { content: "y".repeat(2_000) })), reply(text("no"))],
      {
        maxAnswerBytes: 1_000,
        tools: { write }
      }
    );
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual([TOO_LARGE]);
    expect(seen.effects).toEqual([]);
    expect(textOf((await stored(host))[1])).toBe("I write. ");
    expect(seen.script.callCount).toBe(1);
  });

  test("is counted over the steps of a turn", async () => {
    const look = tool({ inputSchema: z.object({}), execute: async () => "seen" });
    const steps = Array.from({ length: 9 }, (_, n) =>
      reply(text("z".repeat(40)), toolCall("look", {}, { id: `c${n}` }))
    );
    const host = open(steps, { maxAnswerBytes: 100, tools: { look } });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual([TOO_LARGE]);
    expect(seen.script.callCount).toBe(3);
  });

  test("is counted over a restart: what was kept counts", async () => {
    const host = open([reply(text("a".repeat(60)), stall()), reply(text("b".repeat(60)))], { maxAnswerBytes: 100 });
    ask(await connect(host), "r1");
    await die(host);
    await settleDown(host);
    expect(await settledReasons(host)).toEqual(['"answer_too_large"']);
    expect(textOf((await stored(host))[1])).toBe(`${"a".repeat(60)}${"b".repeat(40)}`);
  });

  test("that was cut off above the limit ends there, with the beginning of it, and is not asked for again", async () => {
    const host = open([reply(...pieces(60, 100_000), stall()), reply(text("never"))], { maxAnswerBytes: Infinity });
    ask(await connect(host), "r1");
    await die(host);
    seen.maxAnswerBytes = DEFAULT_LIMIT;
    await settleDown(host);
    expect(seen.script.callCount).toBe(1);
    expect(await settledReasons(host)).toEqual(['"answer_too_large"']);
    expect(seen.errors).toEqual([{ code: "answer-too-large", stage: "stream" }]);
    expect(textOf((await stored(host))[1])).toHaveLength(DEFAULT_LIMIT);
  });

  test.each([0, -1, Number.NaN, Infinity])("has no limit where the class sets %s", async (maxAnswerBytes) => {
    const host = open([reply(...pieces(50, 100_000))], { maxAnswerBytes });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(textOf((await stored(host))[1])).toHaveLength(50 * 100_000);
    expect(framesOf(socket).length).toBeGreaterThan(50);
  });
});

describe("an answer of more than 1.8 MB", () => {
  const long = (length: number) => reply(...pieces(length / 100_000, 100_000));

  async function askAll(host: TestHost<object>, count: number): Promise<void> {
    const socket = await connect(host);
    for (let turn = 0; turn < count; turn += 1) {
      ask(socket, `r${turn}`);
      await host.idle();
    }
  }

  const lengths = (messages: UIMessage[]) =>
    messages.filter(({ role }) => role === "assistant").map((message) => textOf(message).length);

  test("is shown whole to every client, now and after a restart, and to the model in short", async () => {
    const host = open([long(3 * MEGABYTE), reply(text("two")), reply(text("three"))]);
    await askAll(host, 2);
    expect(JSON.stringify(seen.script.calls[1]?.prompt).length).toBeLessThan(10_000);
    expect(JSON.stringify(seen.script.calls[1]?.prompt)).toContain("[text of 3000000 chars, shortened] 0:xxx");
    await host.restart();
    expect(lengths(await stored(host))).toEqual([3 * MEGABYTE, 3]);
    const later = await connect(host);
    await host.idle();
    const shown = framesOf(later).findLast(({ messages }) => messages)?.messages ?? [];
    expect(shown).toEqual(await stored(host));
    expect(shown[1]).not.toHaveProperty("metadata");
    // What a client posts back is what it was shown: nothing is edited by it.
    ask(later, "r2", { messages: [...shown, user("u-r2")] });
    await host.idle();
    expect(lengths(await stored(host))).toEqual([3 * MEGABYTE, 3, 5]);
  });

  test("is one of many: the newest are shown whole, as far as the budget of the view goes", async () => {
    const host = open(
      Array.from({ length: 4 }, () => long(2 * MEGABYTE)),
      { budgetBytes: 7 * MEGABYTE }
    );
    await askAll(host, 4);
    const [first, ...others] = lengths(await stored(host));
    expect(others).toEqual([2 * MEGABYTE, 2 * MEGABYTE, 2 * MEGABYTE]);
    expect(first).toBeLessThan(1_000);
  });

  test("is replayed up to 16 MiB of its stream, and then shown whole", async () => {
    const host = open([long(20 * MEGABYTE)], { maxAnswerBytes: 0 });
    await askAll(host, 1);
    const later = await connect(host);
    const known = framesOf(later).length;
    later.send({ type: "cf_agent_stream_resume_ack", id: "r0" });
    await host.idle();
    const frames = framesOf(later).slice(known);
    const replayed = frames.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
    expect(replayed).toBeGreaterThan(15 * MEGABYTE);
    expect(replayed).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(endsOf(later, "r0")).toEqual(["completed"]);
    expect(lengths(frames.at(-1)?.messages ?? [])).toEqual([20 * MEGABYTE]);
  });

  test("is whole also where it is the input of a tool, and its output stays short", async () => {
    const write = tool({
      inputSchema: z.object({ content: z.string() }),
      execute: async () => ({ log: "y".repeat(9_000) })
    });
    const content = "x".repeat(2 * MEGABYTE);
    const host = open([reply(toolCall("write", { content }, { id: "c1" })), reply(text("Written."))], {
      tools: { write }
    });
    await askAll(host, 1);
    await host.restart();
    const part = (await stored(host))[1]?.parts.find((each) => each.type === "tool-write");
    expect(part).toMatchObject({ input: { content }, state: "output-available" });
    expect(JSON.stringify(Reflect.get(Object(part), "output")).length).toBeLessThan(2_000);
  });
});

describe("a process that dies while it reads a large partial answer", () => {
  const hang = tool({ inputSchema: z.object({}), execute: () => never<string>() });
  const partial = () => reply(...pieces(15, 100_000), toolCall("hang", {}, { id: "c1" }));
  const opening = (host: TestHost<object>) =>
    host.sql(Writer, "a", "SELECT count(*) AS rows FROM cf_journal WHERE body LIKE '%recovery-started%'");

  /** Started again and again, so many processes die while they read. The last restart is left to the caller. */
  async function dieReading(host: TestHost<object>, times: number): Promise<void> {
    let deaths = 0;
    seen.onRead = () => {
      deaths += 1;
      host.kill();
    };
    while (deaths < times) {
      if (host.crashed) await host.restart();
      else await host.advance(10_000);
    }
    seen.onRead = () => undefined;
  }

  /** How the turn ended, as a client that comes later reads it. */
  async function reportedEnds(host: TestHost<object>): Promise<string[]> {
    const socket = await connect(host);
    socket.send({ type: "cf_agent_stream_resume_ack", id: "r1" });
    await host.idle();
    return endsOf(socket, "r1");
  }

  test("is counted before it reads: the third time, the turn is given up with one small write, unread", async () => {
    const host = open([partial(), reply(text("never"))], { tools: { hang } });
    ask(await connect(host), "r1");
    await die(host);
    await dieReading(host, 3);
    expect(opening(host)).toEqual([{ rows: 3 }]);
    let reads = 0;
    seen.onRead = () => (reads += 1);
    const before = host.counts.rowsWritten;
    await host.restart();
    await settleDown(host);
    expect(seen.exhausted).toEqual(["out_of_memory"]);
    expect(reads).toBe(0);
    expect(seen.script.callCount).toBe(1);
    // The outcome, what stays known of the turn, the conversation's row and that the hook was called; the wake that
    // guarded the turn.
    expect(host.counts.rowsWritten - before).toBeLessThanOrEqual(7);
    const [{ bytes } = { bytes: 0 }] = host.sql(
      Writer,
      "a",
      "SELECT size_bytes AS bytes FROM cf_journal ORDER BY last DESC"
    );
    expect(Number(bytes)).toBeLessThan(1_000);
    expect(await reportedEnds(host)).toEqual([expect.stringMatching(/^error: The assistant was interrupted/)]);
    ask(await connect(host), "r2");
    await host.idle();
    expect(textOf((await stored(host)).at(-1))).toBe("never");
  });

  test("twice, and not the third time: the answer goes on where it stopped", async () => {
    const host = open([partial(), reply(text("and on"))], { tools: { hang } });
    ask(await connect(host), "r1");
    await die(host);
    await dieReading(host, 2);
    await host.restart();
    await settleDown(host);
    expect(seen.exhausted).toEqual([]);
    const answer = textOf((await stored(host)).at(-1));
    expect([answer.length, answer.slice(-6)]).toEqual([15 * 100_000 + 6, "and on"]);
  });

  test("of a turn that was told to stop: it ends as stopped, without being read a fourth time", async () => {
    const host = open([partial()], { tools: { hang } });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.advance(2_000);
    // The process dies before it can obey.
    host.crashAfterWrite(2);
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.idle();
    await host.restart();
    await dieReading(host, 3);
    let reads = 0;
    seen.onRead = () => (reads += 1);
    await host.restart();
    await settleDown(host);
    expect(reads).toBe(0);
    expect(await reportedEnds(host)).toEqual(["aborted"]);
  });

  test("has on disk that it will read before it reads: what is only written is lost with the memory", async () => {
    const host = open([partial(), reply(text("and on"))], { tools: { hang } });
    ask(await connect(host), "r1");
    await die(host);
    seen.effects.length = 0;
    seen.onRead = () => seen.effects.push(`read after ${JSON.stringify(opening(host))}`);
    await settleDown(host);
    expect(seen.effects).toEqual(["on disk", 'read after [{"rows":1}]']);
  });

  test("costs nothing where the partial answer is small: nothing is recorded about it", async () => {
    const host = open([reply(text("a few words "), toolCall("hang", {}, { id: "c1" })), reply(text("and on"))], {
      tools: { hang }
    });
    ask(await connect(host), "r1");
    await die(host);
    await settleDown(host);
    expect(opening(host)).toEqual([{ rows: 0 }]);
    expect(textOf((await stored(host)).at(-1))).toBe("a few words and on");
  });
});
