import fc from "fast-check";
import { expect, test } from "vitest";
import { entryKey } from "./tools.ts";

test.each([
  ["the slug of a title", ["anything", "How to Deploy!"], "how-to-deploy"],
  ["a title's first sixty characters", ["anything", "a".repeat(80)], "a".repeat(60)],
  ["a title in another alphabet", ["anything", "部署"], /^entry-[a-z0-9]+$/],
  ["a blank title is none", ["Hello there", "  "], /^hello-there-[a-z0-9]+$/],
  ["no title", ["Hello, world"], /^hello-world-[a-z0-9]+$/],
  ["no title and no Latin letters", ["こんにちは"], /^entry-[a-z0-9]+$/]
] as const)("the key of an entry: %s", (_name, [content, title], expected) => {
  expect(entryKey(content, title)).toMatch(expected instanceof RegExp ? expected : new RegExp(`^${expected}$`));
});

test("the hash is FNV-1a of 32 bits", () => {
  // Known values of the function: "a" is e40c292c, the empty text 811c9dc5.
  expect(entryKey("a")).toBe(`a-${(0xe40c292c).toString(36)}`);
  expect(entryKey("")).toBe(`entry-${(0x811c9dc5).toString(36)}`);
});

test("texts without a title that begin alike have keys of their own", () => {
  const start = "x".repeat(60);
  expect(entryKey(`${start}1`)).not.toBe(entryKey(`${start}2`));
  expect(entryKey("早上好")).not.toBe(entryKey("晚上好"));
});

test("a key is stable and plain", () => {
  fc.assert(
    fc.property(fc.string(), fc.option(fc.string(), { nil: undefined }), (content, title) => {
      const key = entryKey(content, title);
      expect(key).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(entryKey(content, title)).toBe(key);
    })
  );
});
