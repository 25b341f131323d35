import type { UIMessage, UIMessageChunk } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../util/json.ts";
import { anyStream } from "./chunk-scripts.test-support.ts";
import {
  closeOpenParts,
  continueFold,
  foldChunk,
  foldChunks,
  foldedMessage,
  resumeFold,
  startFold,
  type FoldChunk,
  type MessageFold
} from "./message-fold.ts";
import { majors, readAll } from "./sdk-majors.test-support.ts";

const fold = (...chunks: FoldChunk[]) => foldedMessage(foldChunks(startFold("m"), chunks)).parts;
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** The reader leaves the name of static tools to the type; stored parts carry it too. */
function withoutToolNames(message: UIMessage): unknown {
  return asJson({
    ...message,
    parts: message.parts.map((part) => (part.type.startsWith("tool-") ? { ...part, toolName: undefined } : part))
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

describe("the fold", () => {
  test.each(majors)("builds what the reader of $name builds, after every chunk it reports", async ({ module }) => {
    await fc.assert(
      fc.asyncProperty(anyStream, async (chunks) => {
        const stream = new ReadableStream<UIMessageChunk>({
          start(controller) {
            for (const chunk of chunks) controller.enqueue(structuredClone(chunk));
            controller.close();
          }
        });
        const read = (await readAll(module.readUIMessageStream({ stream }))).map(withoutToolNames);
        const seen = new Set<string>();
        let state = startFold("");
        for (const chunk of chunks) {
          state = foldChunk(state, chunk);
          seen.add(canonicalJson(withoutToolNames(foldedMessage(state))));
        }
        expect(withoutToolNames(foldedMessage(state))).toEqual(read.at(-1));
        expect(read.map(canonicalJson).filter((reported) => !seen.has(reported))).toEqual([]);
      }),
      { numRuns: 60 }
    );
  });

  test("is the same in one go and in pieces, also through JSON", () => {
    fc.assert(
      fc.property(anyStream, fc.nat(), (chunks, at) => {
        const cut = at % (chunks.length + 1);
        const whole = foldChunks(startFold("m"), chunks);
        const prefix = foldChunks(startFold("m"), chunks.slice(0, cut));
        expect(foldChunks(prefix, chunks.slice(cut))).toEqual(whole);
        // The state is JSON, so this is what a restart reads back.
        const reloaded = asJson(prefix) as MessageFold;
        expect(foldChunks(reloaded, chunks.slice(cut))).toEqual(asJson(whole));
      })
    );
  });

  test("does not care how deltas were cut", () => {
    const split = (chunk: UIMessageChunk): UIMessageChunk[] => {
      if (chunk.type === "text-delta" || chunk.type === "reasoning-delta") {
        return [...chunk.delta].map((delta) => ({ ...chunk, delta }));
      }
      if (chunk.type !== "tool-input-delta") return [chunk];
      return [...chunk.inputTextDelta].map((inputTextDelta) => ({ ...chunk, inputTextDelta }));
    };
    fc.assert(
      fc.property(anyStream, (chunks) => {
        expect(foldChunks(startFold("m"), chunks.flatMap(split))).toEqual(foldChunks(startFold("m"), chunks));
      })
    );
  });

  test("does not regress when a provider repeats earlier tool chunks", () => {
    fc.assert(
      fc.property(anyStream, fc.array(fc.nat(), { maxLength: 6 }), (chunks, picks) => {
        const whole = foldChunks(startFold("m"), chunks);
        const tools = chunks.filter((chunk) => chunk.type.startsWith("tool-input"));
        const repeated = tools.length === 0 ? [] : picks.flatMap((pick) => tools[pick % tools.length] ?? []);
        expect(foldChunks(whole, repeated)).toBe(whole);
        expect(
          foldChunks(
            startFold("m"),
            chunks.flatMap((chunk) =>
              chunk.type.startsWith("tool-") && chunk.type !== "tool-input-delta" ? [chunk, chunk] : [chunk]
            )
          )
        ).toEqual(whole);
      })
    );
  });

  test("never changes what it was given, and shares what did not change", () => {
    fc.assert(
      fc.property(anyStream, (chunks) => {
        let state = deepFreeze(startFold("m"));
        for (const chunk of chunks) {
          const next = deepFreeze(foldChunk(state, deepFreeze(chunk)));
          const changed = next.message.parts.filter((part, index) => part !== state.message.parts[index]);
          expect(changed.length).toBeLessThanOrEqual(1);
          state = next;
        }
      })
    );
  });
});

describe("text and reasoning", () => {
  test("a delta or an end without a start does not throw: a delta opens a part", () => {
    expect(fold({ type: "reasoning-delta", id: "r", delta: "a" }, { type: "text-end", id: "x" })).toEqual([
      { type: "reasoning", id: "r", text: "a", state: "streaming" }
    ]);
  });

  test("reasoning keeps metadata from start, delta and end, per provider", () => {
    const parts = fold(
      {
        type: "reasoning-start",
        id: "r",
        providerMetadata: { openai: { itemId: "rs_1", reasoningEncryptedContent: null } }
      },
      { type: "reasoning-delta", id: "r", delta: "", providerMetadata: { anthropic: { signature: "sig" } } },
      { type: "reasoning-end", id: "r", providerMetadata: { openai: { reasoningEncryptedContent: "gAAA" } } }
    );
    expect(parts).toMatchObject([
      {
        state: "done",
        providerMetadata: {
          openai: { itemId: "rs_1", reasoningEncryptedContent: "gAAA" },
          anthropic: { signature: "sig" }
        }
      }
    ]);
  });

  test("a resumed message goes on in its open part, a continued one does not", () => {
    const half = foldedMessage(
      foldChunks(startFold("m"), [
        { type: "start-step" },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Hel" }
      ])
    );
    const rest: UIMessageChunk[] = [
      { type: "text-delta", id: "t", delta: "lo" },
      { type: "text-end", id: "t" }
    ];
    expect(foldChunks(resumeFold(half), rest).message.parts).toEqual([
      { type: "step-start" },
      { type: "text", text: "Hello", state: "done" }
    ]);
    const continued = foldChunks(continueFold(half), [
      { type: "start" },
      { type: "start-step" },
      { type: "text-start", id: "t" },
      ...rest
    ]);
    expect(continued.message).toMatchObject({
      id: "m",
      parts: [
        { type: "step-start" },
        { type: "text", text: "Hel", state: "done" },
        { type: "step-start" },
        { type: "text", text: "lo", state: "done" }
      ]
    });
  });

  test("closing marks open parts as done and returns a closed message as it is", () => {
    const closed = closeOpenParts({
      id: "m",
      role: "assistant",
      parts: [{ type: "text", text: "a", state: "streaming" }]
    });
    expect(closed.parts).toEqual([{ type: "text", text: "a", state: "done" }]);
    expect(closeOpenParts(closed)).toBe(closed);
  });
});

describe("tools", () => {
  const available = (input: unknown): UIMessageChunk => ({
    type: "tool-input-available",
    toolCallId: "c",
    toolName: "t",
    input
  });
  const output = (value: unknown): UIMessageChunk => ({
    type: "tool-output-available",
    toolCallId: "c",
    output: value
  });
  const asked: UIMessageChunk = { type: "tool-approval-request", approvalId: "a", toolCallId: "c" };

  test.each([
    [{ a: 1 }, { a: 1 }],
    ['{"a":1}', { a: 1 }],
    [null, {}],
    ["", {}],
    [[1], {}],
    ["not json", {}],
    [7, {}]
  ])("input %j is stored as the object %j", (input, stored) => {
    expect(fold(available(input))).toMatchObject([
      { type: "tool-t", toolName: "t", state: "input-available", input: stored }
    ]);
  });

  test("an input that is still streaming shows its value so far", () => {
    expect(
      fold(
        { type: "tool-input-start", toolCallId: "c", toolName: "t" },
        { type: "tool-input-delta", toolCallId: "c", inputTextDelta: '{"city": "Par' }
      )
    ).toEqual([
      {
        type: "tool-t",
        toolCallId: "c",
        toolName: "t",
        state: "input-streaming",
        rawInput: '{"city": "Par',
        input: { city: "Par" }
      }
    ]);
  });

  test("the first outcome wins", () => {
    const parts = fold(available({}), output(1), output(2), {
      type: "tool-output-error",
      toolCallId: "c",
      errorText: "late"
    });
    expect(parts).toMatchObject([{ state: "output-available", output: 1 }]);
  });

  test("a preliminary output is replaced", () => {
    const parts = fold(available({}), { ...output(1), preliminary: true } as UIMessageChunk, output(2));
    expect(parts).toEqual([
      { type: "tool-t", toolCallId: "c", toolName: "t", state: "output-available", input: {}, output: 2 }
    ]);
  });

  test("an input error settles the call, unless it is settled", () => {
    const broken: UIMessageChunk = {
      type: "tool-input-error",
      toolCallId: "c",
      toolName: "t",
      input: "{bad",
      errorText: "bad"
    };
    expect(fold(broken)).toMatchObject([{ state: "output-error", errorText: "bad", input: {}, rawInput: "{bad" }]);
    expect(fold(available({}), output(1), broken)).toMatchObject([{ state: "output-available", output: 1 }]);
  });

  test("a request for approval does not ask again once it was answered or settled", () => {
    const answered: UIMessageChunk = { type: "tool-approval-response", approvalId: "a", approved: true };
    expect(fold(available({}), asked, answered, asked)).toMatchObject([
      { state: "approval-responded", approval: { id: "a", approved: true } }
    ]);
    expect(fold(available({}), output(1), asked)).toMatchObject([{ state: "output-available" }]);
  });

  test("a grant is not turned into a denial, a refusal is", () => {
    const answer = (approved: boolean): UIMessageChunk => ({
      type: "tool-approval-response",
      approvalId: "a",
      approved,
      reason: "r"
    });
    const denied: UIMessageChunk = { type: "tool-output-denied", toolCallId: "c" };
    expect(fold(available({}), asked, answer(true), denied)).toMatchObject([{ state: "approval-responded" }]);
    expect(fold(available({}), asked, answer(false), denied)).toMatchObject([
      { state: "output-denied", approval: { approved: false, reason: "r" } }
    ]);
  });

  test("descriptors go where the next prompt does not see them", () => {
    const descriptor = { action: "pay" };
    const request: FoldChunk = { ...asked, approvalDescriptor: descriptor } as FoldChunk;
    expect(fold(available({}), request)).toMatchObject([{ approval: { id: "a", descriptor } }]);
    const paused: FoldChunk = { ...output({ status: "paused" }), approvalDescriptor: descriptor } as FoldChunk;
    const [part] = fold(available({}), paused);
    expect(part).toMatchObject({ approvalDescriptor: descriptor });
    expect(part).not.toHaveProperty("approval");
  });

  test("a dynamic tool is a dynamic-tool part", () => {
    expect(fold({ ...available({}), dynamic: true } as UIMessageChunk, output(1))).toMatchObject([
      { type: "dynamic-tool", toolName: "t", output: 1 }
    ]);
  });

  test("an outcome of a call this message does not hold is ignored", () => {
    const before = startFold("m");
    expect(foldChunk(before, output(1))).toBe(before);
  });

  test("an approved call of the message being continued is settled in place", () => {
    const message = foldChunks(startFold("m"), [{ type: "start-step" }, available({ a: 1 }), asked]).message;
    const after = foldChunks(continueFold(message), [{ type: "start" }, output("ran"), { type: "start-step" }]);
    expect(after.message.parts).toMatchObject([
      { type: "step-start" },
      { state: "output-available", output: "ran" },
      { type: "step-start" }
    ]);
  });

  test("result metadata is kept apart from call metadata", () => {
    const parts = fold(
      { ...available({}), providerMetadata: { google: { thoughtSignature: "s" } } } as UIMessageChunk,
      { ...output(1), providerMetadata: { anthropic: { caller: "x" } } } as UIMessageChunk
    );
    expect(parts).toMatchObject([
      {
        callProviderMetadata: { google: { thoughtSignature: "s" } },
        resultProviderMetadata: { anthropic: { caller: "x" } }
      }
    ]);
  });
});

describe("everything else", () => {
  test("data parts with one type and id are one part; transient ones are not kept", () => {
    expect(
      fold(
        { type: "data-a", id: "1", data: 1 },
        { type: "data-a", id: "1", data: 2 },
        { type: "data-a", data: 3 },
        { type: "data-b", data: 4, transient: true }
      )
    ).toEqual([
      { type: "data-a", id: "1", data: 2 },
      { type: "data-a", data: 3 }
    ]);
  });

  test("metadata of start, message-metadata and finish is merged in order", () => {
    const { message } = foldChunks(startFold("m"), [
      { type: "start", messageMetadata: { a: 1, b: 1 } },
      { type: "message-metadata", messageMetadata: { b: 2 } },
      { type: "finish", messageMetadata: { c: 3 } },
      { type: "message-metadata", messageMetadata: "not an object" }
    ]);
    expect(message.metadata).toEqual({ a: 1, b: 2, c: 3 });
  });

  test("the provider's message id is adopted, and a start without one keeps ours", () => {
    expect(foldChunks(startFold("m"), [{ type: "start", messageId: "theirs" }]).message.id).toBe("theirs");
    expect(foldChunks(startFold("m"), [{ type: "start" }]).message.id).toBe("m");
  });

  test("a reset step loses its parts and no others", () => {
    const parts = fold(
      { type: "start-step" },
      { type: "text-start", id: "1" },
      { type: "start-step" },
      { type: "text-start", id: "2" },
      { type: "reset-step" }
    );
    expect(parts).toHaveLength(3);
  });

  test("chunks of a later release are ignored", () => {
    const before = startFold("m");
    // A chunk type this version does not know.
    expect(foldChunk(before, { type: "hologram" } as object as UIMessageChunk)).toBe(before);
  });
});
