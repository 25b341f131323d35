// What must hold for every answer, wherever its process died.
import type { UIMessage, UIMessageChunk } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  asMessagePart,
  closeOpenParts,
  foldChunks,
  isSettledToolPart,
  isToolPart,
  startFold,
  type ToolPart
} from "../model/index.ts";
import {
  anyAnswer,
  beginAndDie,
  isInterrupted,
  leave,
  rescue,
  serverAnswers,
  textOfParts,
  toolParts,
  write,
  type Left,
  type Plan,
  type Written
} from "./answer-scripts.test-support.ts";
import type { RecoveredPartial } from "./partial.ts";
import { noJoin, joinAfter } from "./stream.ts";

const RUNS = { numRuns: 300 };

/** Every answer, cut everywhere. */
function everywhere(answers: fc.Arbitrary<Plan>, check: (events: Written[], all: Written[]) => void): void {
  fc.assert(
    fc.property(answers, fc.nat(), (plan, at) => {
      const all = write(plan);
      check(all.slice(0, at % (all.length + 1)), all);
    }),
    RUNS
  );
}

describe("wherever the process died", () => {
  test("all text that was written is kept, and nothing is added to it", () => {
    everywhere(anyAnswer, (events) => {
      const left = rescue(leave(events));
      expect(textOfParts(left.fold.message)).toBe(textOfParts(foldOf(events)));
      const steps = rescue(leave(events), { wholeSteps: true });
      expect(textOfParts(foldOf(events)).startsWith(textOfParts(steps.fold.message))).toBe(true);
    });
  });

  test.each([false, true])("every recorded outcome reaches its call (whole steps: %s)", (wholeSteps) => {
    everywhere(anyAnswer, (events) => {
      const left = leave(events);
      const parts = toolParts(rescue(left, { wholeSteps }).fold.message);
      for (const { callId, outcome, input } of left.calls.values()) {
        if (outcome?.kind === "output") {
          const settled = { state: "output-available", output: outcome.output, input };
          expect(parts.filter(({ toolCallId }) => toolCallId === callId)).toMatchObject([settled]);
        }
        if (outcome?.kind === "error") {
          const settled = { state: "output-error", errorText: outcome.errorText, input };
          expect(parts.filter(({ toolCallId }) => toolCallId === callId)).toMatchObject([settled]);
        }
      }
    });
  });

  test("no call is left open but those that wait for the user or a client", () => {
    everywhere(anyAnswer, (events) => {
      const left = rescue(leave(events));
      const open = toolParts(left.fold.message).filter((part) => !isSettledToolPart(part));
      const asked = open.filter(
        ({ state, toolName }) =>
          state === "approval-requested" || (state === "input-available" && toolName === "locate")
      );
      expect(open).toEqual(asked);
      expect(left.progress === "awaiting").toBe(open.length > 0);
    });
  });

  test("exactly the calls that had started here and had no outcome are unknown, with the input they ran with", () => {
    everywhere(anyAnswer, (events) => {
      const left = leave(events);
      const { unknownCalls, fold } = rescue(left);
      const cutOff = [...left.calls.values()].filter(
        ({ executor, state }) => executor === "server" && state === "input-available"
      );
      expect(unknownCalls).toEqual(cutOff.map(({ callId }) => callId));
      for (const { callId, input } of cutOff) {
        const part = toolParts(fold.message).find(({ toolCallId }) => toolCallId === callId);
        expect(part && isInterrupted(part) && part.input).toEqual(input);
      }
    });
  });

  test("a call that had not started is not told of as a result, unless later content depends on its place", () => {
    everywhere(anyAnswer, (events) => {
      const left = leave(events);
      const { fold, keeps } = rescue(left);
      const settledLast = left.chunks.at(keeps - 1)?.body ?? "";
      const orphans = toolParts(fold.message).filter(
        (part) => isInterrupted(part) && ![...left.calls.keys()].some((id) => id === part.toolCallId)
      );
      if (orphans.length > 0) expect(settledLast).toMatch(/"type":"(tool-(output|input-available)|finish|text-)/);
    });
  });

  test("reasoning that has led to nothing is not kept: it is thought again", () => {
    everywhere(serverAnswers(6), (events) => {
      const left = leave(events);
      const { keeps, repairs } = rescue(left);
      const last = left.chunks[keeps - 1]?.body ?? "";
      if (repairs.length === 0) expect(last).not.toContain('"type":"reasoning-');
    });
  });

  test("a call stays with the reasoning that led to it, even if only its record is left", () => {
    everywhere(serverAnswers(0), (events, all) => {
      const { message } = rescue(leave(events)).fold;
      const said = normal(message.parts);
      const calls = said.findLastIndex(({ kind }) => kind === "tool") + 1;
      expect(said.slice(0, calls).map(({ kind }) => kind)).toEqual(
        normal(foldOf(all).parts)
          .slice(0, calls)
          .map(({ kind }) => kind)
      );
    });
  });

  test("what is there of it says how far it came", () => {
    everywhere(serverAnswers(6), (events, all) => {
      const { progress, fold } = rescue(leave(events));
      const hasContent = fold.message.parts.some(({ type }) => type !== "step-start");
      expect(progress).toBe(events.length === all.length ? "finished" : hasContent ? "partial" : "nothing");
    });
  });

  test("the repairs lead from the kept chunks to the message: readers see what is stored", () => {
    everywhere(anyAnswer, (events) => {
      const left = leave(events);
      const { fold, repairs, keeps } = rescue(left);
      const kept = left.chunks.filter(({ seq }) => seq < keeps).map(({ body }): UIMessageChunk => JSON.parse(body));
      expect(shown(foldChunks(startFold("m"), [...kept, ...repairs]).message)).toEqual(shown(fold.message));
    });
  });
});

describe("a process that dies again right after the next attempt began", () => {
  test("finds the same message, with nothing more to repair", () => {
    everywhere(anyAnswer, (events) => {
      const left = leave(events);
      const first = rescue(left);
      const after = beginAndDie(left, first);
      const second = rescue(after);
      expect(second.fold.message).toEqual(first.fold.message);
      expect([second.repairs, second.unknownCalls, second.progress]).toEqual([[], [], first.progress]);
      expect(second.openTextId).toBe(first.openTextId);
      expect(after.chunks.filter(({ seq }) => seq >= second.keeps)).toEqual([]);
    });
  });
});

describe("a process that dies again right after it began anew from whole steps", () => {
  test("finds the same text and the same results, with nothing more to repair", () => {
    everywhere(anyAnswer, (events) => {
      const left = leave(events);
      const first = rescue(left, { wholeSteps: true });
      const second = rescue(beginAndDie(left, first));
      expect(toolParts(second.fold.message)).toEqual(toolParts(first.fold.message));
      expect(textOfParts(second.fold.message)).toBe(textOfParts(first.fold.message));
      expect([second.repairs, second.unknownCalls]).toEqual([[], []]);
    });
  });
});

describe("a model that goes on from there", () => {
  test("ends in the message that was not interrupted, but for calls that were cut off", () => {
    everywhere(serverAnswers(0), (events, all) => {
      const left = rescue(leave(events));
      const whole = foldOf(all);
      const join = left.progress === "nothing" ? noJoin : joinAfter(left.openTextId);
      const rest = goOn(whole, left).flatMap((chunk) => join(chunk));
      const joined = foldChunks(left.fold, rest).message;
      const cutOff = new Map(
        toolParts(left.fold.message)
          .filter(isInterrupted)
          .map((part) => [part.toolCallId, part])
      );
      const parts = whole.parts.map((part) => {
        const replaced = isToolPart(part) ? cutOff.get(part.toolCallId) : undefined;
        return replaced ? asMessagePart(replaced) : part;
      });
      expect(normal(joined.parts)).toEqual(normal(parts));
    });
  });

  test("after two deaths too", () => {
    fc.assert(
      fc.property(serverAnswers(0), fc.nat(), fc.nat(), (plan, first, second) => {
        const all = write(plan);
        const left = leave(all.slice(0, first % all.length));
        const found = rescue(left);
        const join = found.progress === "nothing" ? noJoin : joinAfter(found.openTextId);
        const rest = goOn(foldOf(all), found).flatMap((chunk) => join(chunk));
        const again = dieLater(beginAndDie(left, found), rest.slice(0, second % (rest.length + 1)));
        const refound = rescue(again);
        expect(textOfParts(foldOf(all)).startsWith(textOfParts(refound.fold.message))).toBe(true);
        const joined = refound.progress === "nothing" ? noJoin : joinAfter(refound.openTextId);
        const end = goOn(foldOf(all), refound).flatMap((chunk) => joined(chunk));
        expect(textOfParts(foldChunks(refound.fold, end).message)).toBe(textOfParts(foldOf(all)));
      }),
      RUNS
    );
  });
});

describe("damage", () => {
  const bodies = fc.constantFrom("", "{", "null", "7", "[]", "{}", '{"type":7}', '{"type":"text-delta"}');

  test("is skipped: recoverPartial never throws, and settles everything that ran here, with its input", () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.option(bodies)), { maxLength: 4 });
    fc.assert(
      fc.property(anyAnswer, fc.nat(), damage, fc.boolean(), (plan, at, damaged, wholeSteps) => {
        const all = write(plan);
        const left = leave(all.slice(0, at % (all.length + 1)));
        const chunks = damaged.reduce((state, [index, body]) => damagedAt(state, index, body), left.chunks);
        const found = rescue({ ...left, chunks }, { wholeSteps });
        const open = toolParts(found.fold.message).filter((part) => !isSettledToolPart(part));
        for (const { toolCallId } of open) {
          const waits = [...left.calls.values()].find(({ callId }) => callId === toolCallId);
          if (waits)
            expect(["client", "approval-requested"]).toContain(waits.executor === "client" ? "client" : waits.state);
        }
        const inputs = new Map(toolParts(found.fold.message).map(({ toolCallId, input }) => [toolCallId, input]));
        for (const { callId, input } of left.calls.values()) expect(inputs.get(callId)).toEqual(input);
        const second = rescue(beginAndDie({ ...left, chunks }, found));
        expect(toolParts(second.fold.message)).toEqual(toolParts(found.fold.message));
        expect(textOfParts(second.fold.message)).toBe(textOfParts(found.fold.message));
        expect([second.repairs, second.unknownCalls]).toEqual([[], []]);
      }),
      RUNS
    );
  });
});

describe("limits", () => {
  test("are not crossed: what stays is the beginning of what would stay without them, and reading stops there", () => {
    fc.assert(
      fc.property(anyAnswer, fc.nat(), fc.nat(60), fc.nat(2_000), (plan, at, answerBytes, heldChars) => {
        const all = write(plan);
        const left = leave(all.slice(0, at % (all.length + 1)));
        let read = 0;
        function* reading() {
          for (const chunk of left.chunks) {
            read += 1;
            yield chunk;
          }
        }
        const whole = rescue(left);
        const limited = rescue(left, { chunks: reading(), limits: { answerBytes: answerBytes + 1, heldChars } });
        const [text, wholeText] = [limited, whole].map(({ fold }) => textOfParts(fold.message));
        expect(wholeText?.startsWith(text ?? "")).toBe(true);
        expect(limited.answerBytes).toBeLessThanOrEqual(answerBytes + 1);
        expect(limited.keeps).toBeLessThanOrEqual(read);
        if (limited.isTooLarge) return;
        expect(read).toBe(left.chunks.length);
        expect(limited).toEqual(whole);
      }),
      RUNS
    );
  });
});

function damagedAt(chunks: Left["chunks"], index: number, body: string | null): Left["chunks"] {
  const at = index % Math.max(chunks.length, 1);
  return chunks.flatMap((chunk, other) => (other !== at ? [chunk] : body === null ? [] : [{ ...chunk, body }]));
}

function dieLater(left: Left, chunks: readonly UIMessageChunk[]): Left {
  const added = chunks.map((chunk, index) => ({ seq: left.nextChunk + index, body: JSON.stringify(chunk) }));
  // The calls of this attempt are beside the point: what was not recorded is asked for again.
  return { ...left, chunks: [...left.chunks, ...added], nextChunk: left.nextChunk + chunks.length };
}

function foldOf(events: readonly Written[]): UIMessage {
  return foldChunks(
    startFold("m"),
    events.flatMap(({ chunk }) => chunk ?? [])
  ).message;
}

/** As readers know it, who do not know which texts are still open. */
function shown(message: UIMessage): UIMessage {
  return closeOpenParts(message);
}

/** A model that knows what it wants to say, and says what is missing. */
function goOn(whole: UIMessage, { fold: { message } }: RecoveredPartial): UIMessageChunk[] {
  const said = normal(message.parts);
  const wanted = normal(whole.parts);
  const last = said.at(-1);
  const cut = wanted[said.length - 1];
  const rest = last && cut && last.kind !== "tool" && cut.kind !== "tool" ? cut.text.slice(last.text.length) : "";
  const first: Said[] = cut && cut.kind !== "tool" && rest !== "" ? [{ ...cut, text: rest }] : [];
  return [
    { type: "start", messageId: "m" },
    { type: "start-step" },
    ...[...first, ...wanted.slice(said.length)].flatMap((one, index) => say(one, `n${index}`)),
    { type: "finish-step" },
    { type: "finish", finishReason: "stop" }
  ];
}

function say(one: Said, id: string): UIMessageChunk[] {
  if (one.kind !== "tool") {
    const { kind, text } = one;
    return [
      { type: `${kind}-start`, id },
      { type: `${kind}-delta`, id, delta: text },
      { type: `${kind}-end`, id }
    ];
  }
  const { type, toolCallId, toolName, input, output, errorText } = one.tool;
  const dynamic = type === "dynamic-tool" && { dynamic: true };
  return [
    { type: "tool-input-available", toolCallId, toolName, input, ...dynamic },
    errorText === undefined
      ? { type: "tool-output-available", toolCallId, output }
      : { type: "tool-output-error", toolCallId, errorText }
  ];
}

type Said =
  { readonly kind: "text" | "reasoning"; readonly text: string } | { readonly kind: "tool"; readonly tool: ToolPart };

/** What a message says, however it is cut into steps and blocks. */
function normal(parts: UIMessage["parts"]): Said[] {
  const said: Said[] = [];
  for (const part of parts) {
    const last = said.at(-1);
    if (isToolPart(part)) said.push({ kind: "tool", tool: part });
    else if ((part.type !== "text" && part.type !== "reasoning") || part.text === "") continue;
    else if (last?.kind === part.type) said.splice(-1, 1, { kind: part.type, text: last.text + part.text });
    else said.push({ kind: part.type, text: part.text });
  }
  return said;
}
