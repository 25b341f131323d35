import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withoutEmpty } from "./empty-content.ts";

const said = { type: "text", text: "Hi" };
const blank = { type: "text", text: " \n" };
const thought = { type: "reasoning", text: "Hm" };
const redacted = { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "x" } } };
const call = { type: "tool-call", toolCallId: "c", toolName: "t", input: {} };
const file = { type: "file", mediaType: "image/png", data: "" };
const signature = { type: "text", text: "", providerOptions: { google: { thoughtSignature: "s" } } };
const result = (output: object) => ({ type: "tool-result", toolCallId: "c", toolName: "t", output });
const nothing = result({ type: "text", value: "" });

describe("of a message", () => {
  test.each<[string, object[], object[] | undefined]>([
    ["words stay", [said, file], [said, file]],
    ["blank text goes", [blank, said, { type: "text", text: "" }], [said]],
    ["a file stays without its blank text", [file, blank], [file]],
    ["a call stays without its blank text", [blank, call], [call]],
    ["a thought stays before words", [thought, said], [thought, said]],
    ["a thought stays before a call", [thought, blank, call], [thought, call]],
    ["a thought that leads to nothing goes", [said, thought, blank], [said]],
    ["a thought alone goes, and the message", [thought], undefined],
    ["a thought and a blank text go, and the message", [thought, blank], undefined],
    ["a withheld thought stays before words", [redacted, said], [redacted, said]],
    ["an empty thought goes", [{ type: "reasoning", text: "" }, said], [said]],
    ["Gemini's signature stays behind words", [said, signature], [said, signature]],
    ["Gemini's signature of a blank text stays", [said, { ...signature, text: " " }], [said, signature]],
    ["Gemini's signature alone goes, and the message", [thought, signature], undefined],
    ["blank text goes, whichever item it is", [{ ...blank, providerOptions: { openai: { itemId: "i" } } }], undefined],
    ["a result without words stays", [nothing], [nothing]],
    ["a result of an empty list becomes one without words", [result({ type: "content", value: [] })], [nothing]],
    ["a result of blank texts becomes one without words", [result({ type: "content", value: [blank] })], [nothing]],
    [
      "blank texts of a result go",
      [result({ type: "content", value: [blank, said] })],
      [result({ type: "content", value: [said] })]
    ],
    ["nothing is left without parts", [], undefined]
  ])("%s", (_name, content, left) => {
    const messages = [{ role: "assistant", content }];
    expect(withoutEmpty(messages)).toEqual(left === undefined ? [] : [{ role: "assistant", content: left }]);
  });
});

test("a blank string is no message, any other stays", () => {
  const system = { role: "system", content: "Be kind." };
  expect(withoutEmpty([{ role: "system", content: " " }, system])).toEqual([system]);
});

const parts = fc.array(fc.constantFrom<object>(said, blank, thought, redacted, call, file, signature, nothing));
const prompt = fc.array(
  fc.record({ role: fc.constantFrom("user", "assistant"), content: fc.oneof(parts, fc.constantFrom("", " ", "Hi")) })
);

test("calls, results, files and words are never lost, and what is left has nothing empty", () => {
  const kept = (messages: { content: string | object[] }[]) =>
    messages.flatMap(({ content }): (string | object)[] =>
      typeof content === "string" ? (content === "Hi" ? [content] : []) : content.filter((part) => stays.has(part))
    );
  const stays = new Set<object>([said, call, file, nothing]);
  fc.assert(
    fc.property(prompt, (messages) => {
      const left = withoutEmpty(messages);
      expect(kept(left)).toEqual(kept(messages));
      expect(left.every(({ content }) => content.length > 0 && content !== " ")).toBe(true);
      // Nothing more is left out the second time, and the list is the same object then.
      expect(withoutEmpty(left)).toBe(left);
    })
  );
});
