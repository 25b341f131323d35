// What a provider may send, at the level where people meet it: frames and stored messages. Whatever it is, the turn ends
// once, at once, and the conversation goes on. The suite runs on both majors of the SDK.
import { readFileSync } from "node:fs";
import { tool, type LanguageModel, type UIMessage } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import { normalisePart } from "../../src/model/normalise-part.ts";
import { createTestHost, type TestSocket } from "../../src/testing/index.ts";
import { IS_AI_6 } from "../../src/testing/model/installed-model.test-support.ts";
import {
  Breaks,
  callingParts,
  fieldsOf,
  finish,
  misbehavingModel,
  plainAnswer,
  spokenParts,
  text,
  toolCall,
  withWrong,
  WRONG_VALUES,
  type Answer,
  type Field,
  type MisbehavingModel,
  type Part
} from "./misbehaving-model.ts";
import { ask, type Frame, framesOf } from "../kit/frames.ts";
import { textOf, user } from "../kit/messages.ts";

afterEach(() => void vi.restoreAllMocks());

let current: MisbehavingModel;

class Chat extends Think {
  override getModel(): LanguageModel {
    return current.model;
  }
  override getTools() {
    return {
      note: tool({ inputSchema: z.object({ what: z.string() }), execute: async ({ what }) => `noted ${what}` })
    };
  }
  /** The newest message, or an empty question. */
  newest(): UIMessage {
    return this.getMessages().at(-1) ?? user("none");
  }
}

/** A conversation with one client. */
class Talk {
  readonly #host = createTestHost({ agents: { Chat } });
  #socket: Promise<TestSocket> | undefined;
  /** What clients received at the end of the newest turn. */
  errorText: string | undefined;

  /** Asks a model that answers like this; the turn must be over when nothing is left to do. Returns its outcome. */
  async ask(id: string, answers: readonly Answer[]): Promise<string | undefined> {
    const socket = await (this.#socket ??= this.#host.connect("/agents/chat/a"));
    const before = socket.frames.length;
    current = misbehavingModel(answers);
    ask(socket, id);
    await this.#host.idle();
    const frames = framesOf(socket)
      .slice(before)
      .filter((frame) => frame.id === id);
    const ends = frames.filter(({ done }) => done === true);
    expect(ends, "ends").toHaveLength(1);
    expect(current.prompts.length, "calls of the model").toBeLessThanOrEqual(answers.length);
    const answer = await this.answer();
    expect(answer.role === "assistant" ? textOf(answer) : "", "what is stored of what was shown").toBe(shown(frames));
    this.errorText = ends[0]?.body;
    return ends[0]?.outcome;
  }

  async answer(): Promise<UIMessage> {
    return (await this.#host.get(Chat, "a")).newest();
  }

  /** A model that behaves is asked, with everything in its prompt that the others have said. */
  async goesOn(): Promise<void> {
    expect(await this.ask("last", [plainAnswer("fine")]), "the next turn").toBe("completed");
    expect(() => JSON.stringify(current.prompts), "its prompt").not.toThrow();
  }
}

/** The text of the chunks that were shown. */
function shown(frames: readonly Frame[]): string {
  const chunks = frames.flatMap(({ body, done }) => (body && !done ? [JSON.parse(body)] : []));
  return chunks.map(({ type, delta }) => (type === "text-delta" ? delta : "")).join("");
}

/** Every field is tried with a third of the values, each in turn: normalise-part.test.ts tries all with all. */
const valuesFor = (field: Field) => WRONG_VALUES.filter((_value, index) => index % 3 === fields.indexOf(field) % 3);

/** One conversation in which the field is wrong in each of these ways, one turn after the other. */
async function survives(field: Field): Promise<void> {
  const talk = new Talk();
  for (const [value, make] of valuesFor(field)) {
    const answers = [withWrong(field, make()), plainAnswer("done")];
    const outcome = await talk.ask(value, answers).catch((error: unknown) => {
      throw new Error(`${field.name} is ${value}: ${error instanceof Error ? error.message : ""}`, { cause: error });
    });
    expect(outcome, `${field.name} is ${value}`).toBe("completed");
  }
  await talk.goesOn();
}

/** Without its last part a stream was cut off, which is another story. */
const fields = [spokenParts, callingParts].flatMap((answer) =>
  fieldsOf(answer).filter(({ index, path }) => index !== answer.length - 1 || path[0] !== "type")
);
const groups = Object.entries(Object.groupBy(fields, ({ name }) => name.split(".")[0] ?? ""));

describe("a value from a provider", () => {
  test("is shown and stored when nothing is wrong with it", async () => {
    const talk = new Talk();
    expect(await talk.ask("r1", [spokenParts])).toBe("completed");
    expect((await talk.answer()).parts.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["reasoning", "text", "source-url", "source-document", "file"])
    );
    expect(await talk.ask("r2", [callingParts, plainAnswer("done")])).toBe("completed");
    expect((await talk.answer()).parts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "dynamic-tool", toolName: "webSearch", output: { hits: 1 } }),
        expect.objectContaining({ type: "tool-note", output: "noted it" })
      ])
    );
    await talk.goesOn();
  });

  test.each(groups)(
    "wrong in any field: the turn ends once, with what was shown (part %s)",
    async (_name, group = []) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      vi.spyOn(console, "warn").mockImplementation(() => {});
      for (const field of group) await survives(field);
    }
  );

  test("wrong in any field and any way becomes a part that can be stored, or none", () => {
    for (const field of fields) {
      for (const [value, make] of WRONG_VALUES) {
        const part = normalisePart(withWrong(field, make())[field.index], IS_AI_6 ? "v3" : "v4");
        if (part === undefined) continue;
        const {
          rawValue: _own,
          id: _id,
          toolCallId: _callId,
          ...rest
        } = { rawValue: 0, id: 0, toolCallId: 0, ...part };
        expect(() => JSON.stringify(rest), `${field.name} is ${value}`).not.toThrow();
        expect(containsNaN(rest), `${field.name} is ${value}`).toBe(false);
      }
    }
  });
});

function containsNaN(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  return typeof value === "object" && value !== null && Object.values(value).some(containsNaN);
}

const hostile = (fields: object) => Object.assign(new Error("sk-secret at 10.0.0.1"), fields);
const trap = () =>
  new Proxy(new Error("trap"), {
    get: () => {
      throw new Error("get");
    }
  });
/** Nothing of it can be read. */
const closed = () => new Proxy({}, { get: () => raise(new Error("get")), ownKeys: () => raise(new Error("keys")) });
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

/** What a provider may fail with. */
const ERRORS: ReadonlyArray<readonly [string, () => unknown]> = [
  ["undefined", () => undefined],
  ["null", () => null],
  ["a number", () => Number.NaN],
  ["a text", () => "sk-secret at 10.0.0.1"],
  ["a big integer", () => 10n],
  ["a symbol", () => Symbol("s")],
  ["a function", () => () => 1],
  ["an object without a prototype", () => Object.create(null)],
  ["an error", () => hostile({})],
  ["an error without a message", () => new Error()],
  ["an error whose message is no text", () => hostile({ message: 5 })],
  ["an error that is its own cause", () => ((error) => hostile(Object.assign(error, { cause: error })))(new Error())],
  ["an error with an odd status", () => hostile({ statusCode: Number.NaN, isRetryable: "yes" })],
  ["an error with a huge text", () => new Error("x".repeat(1_000_000))],
  ["an error whose getters throw", trap],
  ["a revoked proxy", revoked]
];

const deltas = (words: string): Part[] => [
  { type: "text-start", id: "t1" },
  { type: "text-delta", id: "t1", delta: words }
];

const completes: ReadonlyArray<readonly [string, readonly Answer[]]> = [
  ["sends what is no part", [[null, 5, "text", [], {}, { type: 5 }, undefined, ...plainAnswer("hi")]]],
  ["sends parts of unknown types", [[{ type: "banana" }, { type: "__proto__" }, ...plainAnswer("hi")]]],
  ["sends a part that cannot be looked at", [[closed(), ...plainAnswer("hi")]]],
  ["sends frozen parts", [plainAnswer("hi").map((part) => Object.freeze(part))]],
  ["sends no finish reason", [[...text("hi"), { type: "finish", usage: undefined }]]],
  [
    "sends negative and broken token counts",
    [[...text("hi"), { ...finish("stop"), usage: { inputTokens: { total: -5 }, outputTokens: { total: 1.5 } } }]]
  ],
  ["finishes twice", [[...plainAnswer("hi"), finish("stop")]]],
  ["goes on after the end", [[...plainAnswer("hi"), ...text("more"), finish("stop")]]],
  ["opens no block", [[{ type: "text-delta", id: "x", delta: "hi" }, finish("stop")]]],
  ["closes a block twice", [[...text("hi"), { type: "text-end", id: "t1" }, finish("stop")]]],
  ["never closes a block", [[...deltas("hi"), finish("stop")]]],
  ["uses a block again", [[...text("hi"), ...text("ho"), finish("stop")]]],
  [
    "sends a result without a call",
    [[{ type: "tool-result", toolCallId: "x", toolName: "y", result: 1 }, ...plainAnswer("hi")]]
  ],
  [
    "asks for approval of no call",
    [[{ type: "tool-approval-request", approvalId: "a", toolCallId: "x" }, ...plainAnswer("hi")]]
  ],
  [
    "streams input of no call",
    [[{ type: "tool-input-delta", id: "x", delta: "{" }, { type: "tool-input-end", id: "x" }, ...plainAnswer("hi")]]
  ],
  [
    "announces a call and never makes it",
    [[{ type: "tool-input-start", id: "x", toolName: "note" }, ...plainAnswer("hi")]]
  ],
  ["calls a tool that does not exist", [[...toolCall("x", "nothing", {}), finish("tool-calls")], plainAnswer("hi")]],
  [
    "calls a tool without a name",
    [[{ type: "tool-call", toolCallId: "x", input: "{}" }, finish("tool-calls")], plainAnswer("hi")]
  ],
  [
    "writes an input that is no JSON",
    [
      [{ type: "tool-call", toolCallId: "x", toolName: "note", input: "{oops" }, finish("tool-calls")],
      plainAnswer("hi")
    ]
  ],
  [
    "writes an input as an object",
    [
      [{ type: "tool-call", toolCallId: "x", toolName: "note", input: { what: "it" } }, finish("tool-calls")],
      plainAnswer("hi")
    ]
  ],
  ["says nothing", [[finish("stop")]]],
  [
    "splits a character",
    [
      [
        ...deltas("\ud83d"),
        { type: "text-delta", id: "t1", delta: "\ude00" },
        { type: "text-end", id: "t1" },
        finish("stop")
      ]
    ]
  ]
];

const failsAtOnce: ReadonlyArray<readonly [string, readonly Answer[]]> = [
  ...ERRORS.flatMap(([name, error]): [string, readonly Answer[]][] => [
    [`refuses the call with ${name}`, [() => Promise.reject(error())]],
    [`throws ${name}`, [() => raise(error())]],
    [`breaks its stream with ${name}`, [[...deltas("hi"), new Breaks(error())]]],
    [`sends ${name} as an error`, [[...deltas("hi"), { type: "error", error: error() }, finish("error")]]]
  ]),
  ["answers nothing", [() => undefined]],
  ["answers without a stream", [() => ({})]],
  ["answers with something else than a stream", [() => ({ stream: plainAnswer("hi") })]],
  ["fails in its finish reason", [[...text("hi"), finish("error")]]]
];

function raise(error: unknown): never {
  throw error;
}

describe("a provider that misbehaves", () => {
  test.each(completes)("and %s: the turn completes", async (_what, answers) => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const talk = new Talk();
    expect(await talk.ask("r1", answers)).toBe("completed");
    await talk.goesOn();
  });

  test.each(failsAtOnce)("and %s: the turn fails once, with what was shown and a safe text", async (_what, answers) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const talk = new Talk();
    expect(await talk.ask("r1", answers)).toBe("error");
    expect(talk.errorText).toBe("The model could not answer.");
    await talk.goesOn();
  });

  test("was tried as often as docs/durability.md says", () => {
    const values = fields.reduce((sum, field) => sum + valuesFor(field).length, 0);
    const tried = values + completes.length + failsAtOnce.length;
    const page = readFileSync(new URL("../../docs/durability.md", import.meta.url), "utf8");
    const row = page.split("\n").find((line) => line.startsWith("| bad model behaviours"));
    expect(row).toContain(`${tried.toLocaleString("en")} with \`ai\` ${IS_AI_6 ? 6 : 7}`);
  });
});
