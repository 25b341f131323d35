import { describe, expect, test } from "vitest";
import type { SessionMessage } from "./session-message.ts";
import { isCutForPeople, mayMissFiles, withWholeFiles, withWholeParts } from "./whole-files.ts";

const file = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" };
const marker = { type: "text", text: "[evicted image/png, 3 bytes]" };
const long = { type: "data-log", data: "x".repeat(50) };
const cut = { type: "data-log", data: "xx…" };
const message = (parts: SessionMessage["parts"], metadata?: object): SessionMessage => ({
  id: "m",
  role: "user",
  parts,
  ...(metadata && { metadata })
});

test("files come back, other values stay cut, and the notes say what still is", () => {
  const shown = message([marker, cut], { compactedParts: [0, 1], mood: "calm" });
  expect(mayMissFiles(shown)).toBe(true);
  expect(withWholeFiles(shown, message([file, long]))).toEqual(
    message([file, cut], { mood: "calm", compactedParts: [1] })
  );
});

test("with the last note gone, so is the metadata that was made for it", () => {
  const whole = withWholeFiles(message([marker], { compactedParts: [0] }), message([file]));
  expect(whole).toEqual(message([file]));
  expect(mayMissFiles(whole)).toBe(false);
});

test("a message that misses no file is the same object", () => {
  const shown = message([cut], { compactedParts: [0] });
  expect(withWholeFiles(shown, message([long]))).toBe(shown);
  expect(mayMissFiles(message([file]))).toBe(false);
});

describe("for people", () => {
  const call = (values: object) => ({ type: "tool-write", toolCallId: "c1", state: "output-available", ...values });

  test("texts and inputs come back, outputs of tools stay cut, and the notes say what still is", () => {
    const shown = message(
      [{ type: "text", text: "[text of 9 chars, shortened] a..." }, call({ input: "cut", output: "cut" }), file],
      { compactedTextParts: [0], compactedParts: [1], compactedToolOutputs: ["c1"], mood: "calm" }
    );
    const whole = message([{ type: "text", text: "abcdefghi" }, call({ input: "whole", output: "whole" }), file], {
      mood: "calm"
    });
    expect(isCutForPeople(shown)).toBe(true);
    const restored = withWholeParts(shown, whole);
    expect(restored).toEqual(
      message([{ type: "text", text: "abcdefghi" }, call({ input: "whole", output: "cut" }), file], {
        compactedToolOutputs: ["c1"],
        mood: "calm"
      })
    );
    expect(isCutForPeople(restored)).toBe(false);
  });

  test("a message of which only the head was shown is shown whole", () => {
    const whole = message([file, long, long]);
    expect(withWholeParts(message([file, marker], { compactedMessage: true }), whole)).toBe(whole);
  });

  test("a model gets the files and not the texts", () => {
    const shown = message([marker, { type: "text", text: "[shortened]" }], {
      compactedParts: [0],
      compactedTextParts: [1]
    });
    const whole = message([file, { type: "text", text: "a long text" }]);
    expect(withWholeFiles(shown, whole)).toEqual(
      message([file, { type: "text", text: "[shortened]" }], { compactedTextParts: [1] })
    );
  });

  test("a message that was not cut, or only outputs of its tools, is the same object", () => {
    const shown = message([file], { compactedToolOutputs: ["c1"] });
    expect(isCutForPeople(shown)).toBe(false);
    expect(withWholeParts(shown, message([file]))).toBe(shown);
  });
});
