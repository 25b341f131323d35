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
import { ask, die, endsOf, framesOf, settleDown, textOf } from "./recovery-kit.ts";

const MEGABYTE = 1_000_000;
const DEFAULT_LIMIT = 4 * MEGABYTE;
const TOO_LARGE = "error: This answer has reached its limit of size and ends here.";

interface Seen {
  script: ReturnType<typeof createScript>;
  maxAnswerBytes: number | undefined;
  tools: ToolSet;
  errors: { code: unknown; stage: string }[];
  responses: ChatResponseResult[];
  effects: string[];
}

const seen: Seen = {
  script: createScript([]),
  maxAnswerBytes: undefined,
  tools: {},
  errors: [],
  responses: [],
  effects: []
};

class Writer extends Think {
  constructor(...args: ConstructorParameters<typeof Think>) {
    super(...args);
    if (seen.maxAnswerBytes !== undefined) this.maxAnswerBytes = seen.maxAnswerBytes;
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

function open(steps: Step[], settings: Partial<Pick<Seen, "maxAnswerBytes" | "tools">> = {}) {
  const script = createScript(steps);
  Object.assign(seen, { maxAnswerBytes: undefined, tools: {}, errors: [], responses: [], effects: [], ...settings });
  seen.script = script;
  return createTestHost({ agents: { Writer } });
}

const connect = (host: TestHost<object>) => host.connect("/agents/writer/a");
const stored = async (host: TestHost<object>) =>
  (await host.fetch("/agents/writer/a/get-messages")).json() as Promise<UIMessage[]>;

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
    const host = open([reply(text("I write. "), toolCall("write", { content: "y".repeat(2_000) })), reply(text("no"))], {
      maxAnswerBytes: 1_000,
      tools: { write }
    });
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
    const steps = Array.from({ length: 9 }, (_, n) => reply(text("z".repeat(40)), toolCall("look", {}, { id: `c${n}` })));
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
