// Messages that take the place of those of a step, on both majors: ai 7 keeps what a step's messages are replaced with,
// ai 6 does not, and callers must not see the difference.
import type { ModelMessage } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { reply, text, toolCall, type PromptPart, type RecordedCall } from "../testing/model/index.ts";
import { unpairedCallIds } from "./message-codec.ts";
import { failure, majors, run, textOf } from "./sdk-majors.test-support.ts";

const said = (content: string): ModelMessage => ({ role: "user", content });

/** The texts and calls of a prompt, in order. */
const outline = (call: RecordedCall | undefined): string =>
  (call?.prompt ?? [])
    .flatMap(({ content }) => (typeof content === "string" ? [content] : content.map(short)))
    .join(", ");

function short(part: PromptPart): string {
  if (part.type === "text") return part.text;
  if (part.type === "tool-call") return `call ${part.toolCallId}`;
  return part.type === "tool-result" ? `result ${part.toolCallId}` : part.type;
}

describe.each(majors)("$name", (major) => {
  const echo = major.module.tool({ inputSchema: z.object({}), execute: async () => "echo" });
  const steps = () => [...["a", "b", "c"].map((id) => reply(toolCall("echo", {}, { id }))), reply(text("done"))];
  const messages = [said("one"), said("two")];

  test("what a step is given holds for it and for all later ones, with what came since", async () => {
    const { model, chunks } = await run(major, {
      steps: steps(),
      messages,
      tools: { echo },
      hooks: {
        rebase: async ({ stepNumber, responseMessages }) =>
          stepNumber === 1 ? [said("short"), ...responseMessages] : undefined
      }
    });
    expect(model.script.calls.map(outline)).toEqual([
      "one, two",
      "short, call a, result a",
      "short, call a, result a, call b, result b",
      "short, call a, result a, call b, result b, call c, result c"
    ]);
    expect(textOf(chunks)).toBe("done");
  });

  test("a second time replaces the first, and each sees what the step would have read", async () => {
    const seen: string[][] = [];
    const { model } = await run(major, {
      steps: steps(),
      messages,
      tools: { echo },
      hooks: {
        rebase: async ({ stepNumber, messages: now, responseMessages }) => {
          seen.push([stepNumber, now.length, responseMessages.length].map(String));
          expect(unpairedCallIds(now)).toEqual([]);
          return stepNumber === 1 || stepNumber === 3 ? [said(`base ${stepNumber}`), ...responseMessages] : undefined;
        }
      }
    });
    expect(seen).toEqual([
      ["0", "2", "0"],
      ["1", "4", "2"],
      ["2", "5", "4"],
      ["3", "7", "6"]
    ]);
    expect(outline(model.script.calls[2])).toMatch(/^base 1, call a/);
    expect(outline(model.script.calls[3])).toMatch(/^base 3, call a.*result c$/);
  });

  test("prepareStep sees it and may have its own for its step", async () => {
    const seen: unknown[] = [];
    const { model } = await run(major, {
      steps: [reply(toolCall("echo", {}, { id: "a" })), reply(text("done"))],
      messages,
      tools: { echo },
      hooks: {
        rebase: async ({ stepNumber }) => (stepNumber === 1 ? [said("short")] : undefined),
        prepareStep: ({ messages: now, stepNumber }) => {
          seen.push(now);
          return stepNumber === 1 ? { messages: [...now, said("more")] } : undefined;
        }
      }
    });
    expect(seen).toEqual([messages, [said("short")]]);
    expect(outline(model.script.calls[1])).toBe("short, more");
  });

  test("a throw fails the call", async () => {
    const { outcome, model } = await run(major, {
      steps: [reply(text("never"))],
      hooks: { rebase: () => Promise.reject(new Error("a bug")) }
    });
    expect(failure(outcome).code).toBe("model-step-hook-failed");
    expect(model.script.callCount).toBe(0);
  });
});
