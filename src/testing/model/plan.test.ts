import fc from "fast-check";
import { expect, test } from "vitest";
import { reasoning, text, toolCall } from "./content.ts";
import { planReply, type AnswerPlans, type PlannedStep } from "./plan.ts";
import type { PromptMessage, PromptPart } from "./recorded-call.ts";

const STEPS: readonly PlannedStep[] = [
  { reasoning: "Hm.", text: "Looking.", calls: [{ tool: "a", input: { n: 1 } }, { tool: "b" }] },
  { text: "Done." }
];
const PLANS: AnswerPlans = { why: STEPS, "": [{ text: "silence" }] };
const ALL = 1_000;

const user = (words: string): PromptMessage => ({ role: "user", content: [{ type: "text", text: words }] });
const said = (...content: PromptPart[]): PromptMessage => ({ role: "assistant", content });
const words = (value: string): PromptPart => ({ type: "text", text: value });
const thought = (value: string): PromptPart => ({ type: "reasoning", text: value });
const call = (toolName: string): PromptPart => ({ type: "tool-call", toolCallId: toolName, toolName, input: {} });
const results: PromptMessage = { role: "tool", content: [] };
const goOn = user("Continue your previous response.");

const parts = (...prompt: PromptMessage[]) =>
  planReply(PLANS, prompt, ALL).parts.map((part) => (part.kind === "tool-call" ? { ...part, id: undefined } : part));
const [a, b] = [toolCall("a", { n: 1 }), toolCall("b", {})];

test.each<[string, PromptMessage[], readonly unknown[]]>([
  ["a question is answered from the start", [user("why")], [reasoning("Hm."), text("Looking."), a, b]],
  ["words that are there are not repeated", [user("why"), said(words("Look")), goOn], [text("ing."), a, b]],
  [
    "thoughts that led nowhere and are gone are thought again",
    [user("why"), goOn],
    [reasoning("Hm."), text("Looking."), a, b]
  ],
  ["kept thoughts are finished", [user("why"), said(thought("H")), goOn], [reasoning("m."), text("Looking."), a, b]],
  ["only the missing of two calls is made", [user("why"), said(words("Looking."), call("a")), results, goOn], [b]],
  [
    "with all results the next step comes",
    [user("why"), said(words("Looking."), call("b"), call("a")), results],
    [text("Done.")]
  ],
  [
    "words behind a call belong to the next step",
    [user("why"), said(words("Looking."), call("a"), call("b")), results, said(words("Do")), goOn],
    [text("ne.")]
  ],
  [
    "an answer that is complete has no rest",
    [user("why"), said(words("Looking."), call("a"), call("b")), results, said(words("Done.")), goOn],
    []
  ],
  [
    "an earlier question and its answer do not count",
    [user("why"), said(words("x")), user(""), goOn],
    [text("silence")]
  ]
])("%s", (_name, prompt, expected) => {
  expect(parts(...prompt)).toEqual(expected);
});

test("an answer that left the plan is a mistake that is reported to the test", () => {
  expect(() => parts(user("why"), said(words("Nonsense")))).toThrow("which the plan does not at this place");
  expect(() => parts(user("why"), said(call("c")))).toThrow('calls "c"');
  expect(() => parts(user("who"))).toThrow("no planned question");
});

test("no two calls have the same id", () => {
  const ids = [1, 2].flatMap(() =>
    planReply(PLANS, [user("why")], ALL).parts.flatMap((part) => (part.kind === "tool-call" ? [part.id] : []))
  );
  expect(new Set(ids).size).toBe(4);
});

test("cut anywhere, what was said and the rest are the whole", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(), fc.integer({ min: 1, max: 9 }), (whole, at, pieceLength) => {
      const cut = at % (whole.length + 1);
      const prompt = [user("q"), ...(cut === 0 ? [] : [said(words(whole.slice(0, cut)))]), goOn];
      const rest = planReply({ q: [{ text: whole }] }, prompt, pieceLength).parts;
      const told = rest.map((part) => (part.kind === "text" ? part.delta : "")).join("");
      expect(whole.slice(0, cut) + told).toBe(whole);
    })
  );
});
