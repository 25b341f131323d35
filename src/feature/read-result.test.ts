import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_PAGE_CHARS, pageOf, READ_RESULT, readResultTool, type ResultReader } from "./read-result.ts";

const OPTIONS = { toolCallId: "c", messages: [], context: undefined };
const read = (readers: ResultReader[], input: unknown): unknown =>
  readResultTool(readers)[READ_RESULT]?.execute?.(input, OPTIONS);

describe("pages of a result", () => {
  test("are at most 20,000 characters, and name the next one", () => {
    const whole = "x".repeat(MAX_PAGE_CHARS + 5);
    expect(pageOf("c1", whole, { from: 0, length: 1e9 })).toEqual({
      id: "c1",
      from: 0,
      totalChars: MAX_PAGE_CHARS + 5,
      text: "x".repeat(MAX_PAGE_CHARS),
      next: MAX_PAGE_CHARS
    });
    expect(pageOf("c1", whole, { from: MAX_PAGE_CHARS, length: 10 })).toEqual({
      id: "c1",
      from: MAX_PAGE_CHARS,
      totalChars: MAX_PAGE_CHARS + 5,
      text: "xxxxx"
    });
    expect(pageOf("c1", whole, { from: 1e9, length: 10 })).toMatchObject({ text: "" });
  });

  test("of anything but a text are pages of its JSON", () => {
    expect(pageOf("c1", { a: [1] }, { from: 0, length: 100 }).text).toBe('{"a":[1]}');
    expect(pageOf("c1", undefined, { from: 0, length: 100 }).text).toBe("");
  });

  test("joined are the whole, each of whole characters, wherever one begins", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(20), fc.nat(40), (whole, length, start) => {
        const first = pageOf("c", whole, { from: start, length });
        expect(first.from).toBeGreaterThanOrEqual(Math.min(start, whole.length) - 1);
        const texts = [whole.slice(0, first.from), first.text];
        for (let { next } = first; next !== undefined;) {
          const page = pageOf("c", whole, { from: next, length });
          expect(page.from).toBe(next);
          expect(page.text.isWellFormed()).toBe(true);
          texts.push(page.text);
          next = page.next;
        }
        expect(texts.join("")).toBe(whole);
      })
    );
  });
});

describe("the tool", () => {
  const known =
    (known: string): ResultReader =>
    (id, from, length) =>
      id === known ? { id, from, length } : undefined;

  test("is not there when nothing can be read", () => {
    expect(readResultTool([])).toEqual({});
  });

  test("asks every kind of result in turn, and answers nonsense in words", () => {
    const readers = [known("c1"), known("result_1")];
    expect(read(readers, { id: "c1" })).toEqual({ id: "c1", from: 0, length: MAX_PAGE_CHARS });
    expect(read(readers, { id: "result_1", from: 7.9, length: 3 })).toEqual({ id: "result_1", from: 7, length: 3 });
    expect(read(readers, { id: "c1", from: "abc", length: -1 })).toMatchObject({ from: 0, length: MAX_PAGE_CHARS });
    for (const input of [{ id: "c2" }, { id: 5 }, {}]) {
      expect(read(readers, input)).toMatchObject({ error: { name: "ResultGone" } });
    }
  });
});
