import { expect, test } from "vitest";
import type { SessionMessage } from "./session-message.ts";
import { mayMissFiles, withWholeFiles } from "./whole-files.ts";

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
