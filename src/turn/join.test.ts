// The join between attempts: what listeners see of two streams is one stream of one message.
import type { UIMessageChunk } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldChunks, startFold } from "../model/index.ts";
import { extendingJoin, noJoin, joinAfter, type Join } from "./stream.ts";

const start: UIMessageChunk = { type: "start", messageId: "m" };
const startStep: UIMessageChunk = { type: "start-step" };
const finish: UIMessageChunk[] = [{ type: "finish-step" }, { type: "finish", finishReason: "stop" }];
const textStart = (id: string): UIMessageChunk => ({ type: "text-start", id });
const delta = (id: string, text: string): UIMessageChunk => ({ type: "text-delta", id, delta: text });
const textEnd = (id: string): UIMessageChunk => ({ type: "text-end", id });
const block = (id: string, text: string) => [textStart(id), delta(id, text), textEnd(id)];
const reasoning: UIMessageChunk[] = [
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: "hm" },
  { type: "reasoning-end", id: "r" }
];

const through = (join: Join, chunks: readonly UIMessageChunk[]) => chunks.flatMap((chunk) => join(chunk));

describe("the first stream", () => {
  test("of a turn is not touched", () => {
    const stream = [start, startStep, ...block("0", "a"), ...finish];
    expect(through(noJoin, stream)).toEqual(stream);
  });

  test("of a turn that extends an answer names no message: clients would begin a new one", () => {
    const named: UIMessageChunk = { type: "start", messageId: "m", messageMetadata: { model: "x" } };
    expect(through(extendingJoin, [named, startStep, { type: "start" }])).toEqual([
      { type: "start", messageMetadata: { model: "x" } },
      startStep,
      { type: "start" }
    ]);
  });
});

describe("a later stream", () => {
  test("has no start of its own, and keeps what that said about the message", () => {
    const join = joinAfter(undefined);
    const rest = [startStep, ...block("0", "a"), ...finish];
    expect(through(join, [start, ...rest])).toEqual(rest);
    expect(join({ type: "start", messageId: "m", messageMetadata: { model: "y" } })).toEqual([
      { type: "message-metadata", messageMetadata: { model: "y" } }
    ]);
  });

  test("that goes on with text goes on in the same block and the same step", () => {
    expect(through(joinAfter("0"), [start, startStep, ...block("7", "b"), ...block("8", "c"), ...finish])).toEqual([
      delta("0", "b"),
      textEnd("0"),
      ...block("8", "c"),
      ...finish
    ]);
  });

  test("may use the same id for the block it goes on with, and for the next", () => {
    expect(through(joinAfter("0"), [startStep, ...block("0", "b"), ...block("0", "c")])).toEqual([
      delta("0", "b"),
      textEnd("0"),
      ...block("0", "c")
    ]);
  });

  test.each<[string, UIMessageChunk[]]>([
    ["reasoning", [...reasoning, ...block("1", "b")]],
    ["a call", [{ type: "tool-input-available", toolCallId: "c", toolName: "search", input: {} }]],
    ["nothing", finish],
    ["an error", [{ type: "error", errorText: "no" }]]
  ])("that goes on with %s closes the text first, and then begins its step", (_what, chunks) => {
    expect(through(joinAfter("0"), [start, startStep, ...chunks])).toEqual([textEnd("0"), startStep, ...chunks]);
  });

  test("that has said nothing leaves the text open: the next may go on with it", () => {
    expect(through(joinAfter("0"), [start, startStep])).toEqual([]);
  });

  test("decides once: a later text is a block of its own", () => {
    const stream = [startStep, ...reasoning, ...block("1", "b"), ...finish, startStep, ...block("2", "c")];
    expect(through(joinAfter("0"), stream)).toEqual([textEnd("0"), ...stream]);
  });

  test("may write two blocks at once, whatever their ids", () => {
    const stream = [
      startStep,
      textStart("7"),
      textStart("0"),
      delta("7", "b"),
      delta("0", "x"),
      textEnd("7"),
      textEnd("0")
    ];
    expect(textsOf([...begun, ...through(joinAfter("0"), stream)])).toEqual(["ab", "x"]);
  });
});

const begun = [start, startStep, textStart("0"), delta("0", "a")];

describe("wherever a text is cut, and whatever ids the models use", () => {
  const id = fc.constantFrom("0", "1", "txt");
  const words = fc.array(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 });

  test("both streams together read as the one that was not cut", () => {
    fc.assert(
      fc.property(words, words, fc.nat(), fc.tuple(id, id, id), (first, second, at, [a, b, c]) => {
        const cut = at % (first.length + 1);
        const before = [start, startStep, textStart(a), ...first.slice(0, cut).map((word) => delta(a, word))];
        const after = [start, startStep, textStart(b), ...first.slice(cut).map((word) => delta(b, word)), textEnd(b)];
        const next = [textStart(c), ...second.map((word) => delta(c, word)), textEnd(c), ...finish];
        const joined = [...before, ...through(joinAfter(a), [...after, ...next])];
        const whole = [start, startStep, textStart(a), ...first.map((word) => delta(a, word)), textEnd(a), ...next];
        expect(foldChunks(startFold("m"), joined)).toEqual(foldChunks(startFold("m"), whole));
      })
    );
  });

  test("every block that is opened is closed once, and nothing is written to one that is not open", () => {
    const item = fc.oneof(
      fc.tuple(id, fc.string({ maxLength: 3 })).map(([name, text]) => block(name, text)),
      fc.constant(reasoning),
      fc.constant([...finish.slice(0, 1), startStep])
    );
    fc.assert(
      fc.property(fc.array(item, { maxLength: 6 }), id, (items, open) => {
        const joined = [
          ...block(open, "a").slice(0, 2),
          ...through(joinAfter(open), [start, startStep, ...items.flat(), ...finish])
        ];
        const opened = new Set<string>();
        for (const chunk of joined) {
          if (chunk.type === "text-start") expect(opened.has(chunk.id)).toBe(false);
          if (chunk.type === "text-start") opened.add(chunk.id);
          if (chunk.type === "text-delta") expect(opened.has(chunk.id)).toBe(true);
          if (chunk.type === "text-end") expect(opened.delete(chunk.id)).toBe(true);
        }
        expect([...opened]).toEqual([]);
      })
    );
  });
});

function textsOf(chunks: readonly UIMessageChunk[]): string[] {
  const { message } = foldChunks(startFold("m"), chunks);
  return message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
}
