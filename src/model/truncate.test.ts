import type { UIMessage } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { truncateOldMessages, truncationBoundary } from "./truncate.ts";
import {
  MAX_TRUNCATE_DEPTH,
  nameTheRest,
  REST_FIELD,
  truncateText,
  truncateToolOutput,
  truncateWithRest
} from "../util/truncate-value.ts";

const sizeOf = (value: unknown) => (typeof value === "string" ? value.length : JSON.stringify(value).length);

describe("a value that is cut and says where the rest is", () => {
  const rest = 'ask with id "call_1"';

  test.each<[string, unknown, unknown]>([
    ["a text", "x".repeat(900), expect.stringMatching(/^x+\.\.\. \[truncated 900 chars; ask with id "call_1"\]$/)],
    ["an object", { a: "x".repeat(900), b: 1 }, { a: expect.stringMatching(/^x+\.\.\. /), b: 1, [REST_FIELD]: rest }],
    [
      "a list that lost items",
      Array.from({ length: 90 }, () => "twelve chars"),
      expect.arrayContaining([expect.stringContaining(rest)])
    ],
    ["a list of two", ["x".repeat(900), 1], [expect.stringMatching(/^x+/), 1, `... [${rest}]`]]
  ])("is within the limit all the same: %s", (_name, value, expected) => {
    const cut = truncateWithRest(value, 500, rest);
    expect(cut).toEqual(expected);
    expect(sizeOf(cut)).toBeLessThanOrEqual(500);
  });

  test("whatever it is, it is within the limit, keeps its kind, and says it once", () => {
    const values = fc.oneof(fc.string({ minLength: 300 }), fc.array(fc.string({ minLength: 20 })), fc.object());
    fc.assert(
      fc.property(values, fc.integer({ min: 200, max: 600 }), (value, limit) => {
        const cut = truncateWithRest(value, limit, rest);
        if (sizeOf(value) <= limit) return void expect(cut).toBe(value);
        expect(sizeOf(cut)).toBeLessThanOrEqual(limit);
        expect(Array.isArray(cut)).toBe(Array.isArray(value));
        expect(typeof cut).toBe(typeof value);
        expect(JSON.stringify(cut).split(JSON.stringify(rest).slice(1, -1))).toHaveLength(2);
      }),
      { numRuns: 300 }
    );
  });

  test("does not say so when that would take half of what may be shown, or when it is whole", () => {
    expect(truncateWithRest("x".repeat(900), 100, rest)).toBe(truncateToolOutput("x".repeat(900), 100));
    expect(truncateWithRest("short", 100, rest)).toBe("short");
    expect(nameTheRest(5, rest)).toBe(5);
  });
});

describe("a value", () => {
  test("within the limit is the same value", () => {
    const value = { a: [1, 2, 3] };
    expect(truncateToolOutput(value, 500)).toBe(value);
  });

  test("never exceeds the limit and keeps its kind", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 80, max: 600 }), (value, limit) => {
        const result = truncateToolOutput(value, limit);
        expect(Array.isArray(result)).toBe(Array.isArray(value));
        expect(typeof result).toBe(typeof value);
        if (typeof value === "string" || typeof value === "object") expect(sizeOf(result)).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 300 }
    );
  });

  test("big ones of every kind do, too", () => {
    const long = "x".repeat(5000);
    const wide = Object.fromEntries(Array.from({ length: 200 }, (_unused, index) => [`key${index}`, long]));
    let deep: unknown = long;
    for (let level = 0; level < 20; level += 1) deep = { deep };
    for (const value of [
      long,
      [long],
      { long },
      { a: long, b: [long, long] },
      Array.from({ length: 500 }, () => long),
      wide,
      deep,
      [deep]
    ]) {
      const result = truncateToolOutput(value, 500);
      expect(sizeOf(result)).toBeLessThanOrEqual(500);
      expect(Array.isArray(result)).toBe(Array.isArray(value));
      expect(typeof result).toBe(typeof value);
    }
  });

  test("text ends in a note of its length and in whole characters", () => {
    expect(truncateText("a".repeat(1000), 100)).toBe(`${"a".repeat(74)}... [truncated 1000 chars]`);
    expect(truncateText("x".repeat(100), 5)).toBe("... [");
    const cut = truncateText(`${"a".repeat(71)}${"😀".repeat(100)}`, 100);
    expect(cut.isWellFormed()).toBe(true);
  });

  test("an object keeps its keys while they fit", () => {
    const result = truncateToolOutput({ title: "t", body: "x".repeat(5000), count: 3 }, 500);
    expect(result).toMatchObject({
      title: "t",
      count: 3,
      body: expect.stringMatching(/^x+\.\.\. \[truncated 5000 chars\]$/)
    });
  });

  test("an object whose keys alone are too long says so", () => {
    const result = truncateToolOutput(
      Object.fromEntries(Array.from({ length: 300 }, (_unused, index) => [`key${index}`, index])),
      200
    );
    expect(result).toMatchObject({ __truncated: true, __truncatedChars: expect.any(Number) });
  });

  test("a list loses items at its end and says so", () => {
    const result = truncateToolOutput(
      Array.from({ length: 1000 }, (_unused, index) => index),
      500
    );
    expect((result as unknown[]).slice(0, 4)).toEqual([0, 1, 2, 3]);
    expect((result as unknown[]).at(-1)).toMatch(/truncated/);
  });

  test("is not followed deeper than the limit", () => {
    let value: unknown = "x".repeat(2000);
    for (let level = 0; level < MAX_TRUNCATE_DEPTH + 2; level += 1) value = [value];
    expect(JSON.stringify(truncateToolOutput(value, 500))).not.toContain("xxx");
  });
});

describe("old messages", () => {
  const message = (index: number): UIMessage => ({
    id: `m${index}`,
    role: "assistant",
    parts: [
      { type: "text", text: "t".repeat(20_000) },
      {
        type: "tool-read",
        toolCallId: `c${index}`,
        state: "output-available",
        input: { key: index % 2 },
        output: { body: "x".repeat(3000) }
      }
    ]
  });
  const history = (count: number) => Array.from({ length: count }, (_unused, index) => message(index));
  const isWhole = (candidate: UIMessage) => JSON.stringify(candidate).length > 20_000;

  test.each([
    [0, 0],
    [4, 0],
    [11, 0],
    [12, 8],
    [19, 8],
    [20, 16],
    [100, 96]
  ])("of %i messages, the first %i are truncated", (count, boundary) => {
    expect(truncationBoundary(count, {})).toBe(boundary);
    const shown = truncateOldMessages(history(count));
    expect(shown.filter((candidate) => !isWhole(candidate))).toHaveLength(boundary);
    expect(shown.slice(boundary).every(isWhole)).toBe(true);
  });

  test("the prompt only grows at its end between two moves of the boundary", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), (count) => {
        const before = truncateOldMessages(history(count)).map((shown) => JSON.stringify(shown));
        const after = truncateOldMessages(history(count + 1)).map((shown) => JSON.stringify(shown));
        if (truncationBoundary(count, {}) === truncationBoundary(count + 1, {}))
          expect(after.slice(0, count)).toEqual(before);
      })
    );
  });

  test("the newest four are always whole", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 }), fc.nat(50), (count, offset) => {
        expect(count - truncationBoundary(count, { offset })).toBeGreaterThanOrEqual(Math.min(4, count));
      })
    );
  });

  test("a window into the history truncates the same messages as the whole", () => {
    const whole = truncateOldMessages(history(40));
    expect(truncateOldMessages(history(40).slice(13), { offset: 13 })).toEqual(whole.slice(13));
  });

  test("are cut as documented, and the stored ones are not touched", () => {
    const stored = history(30);
    const before = JSON.stringify(stored);
    const [first] = truncateOldMessages(stored);
    expect(JSON.stringify(stored)).toBe(before);
    expect(first?.parts[0]).toMatchObject({ text: `${"t".repeat(10_000)}... [truncated 20000 chars]` });
    const [, call] = first?.parts ?? [];
    expect(JSON.stringify(call && "output" in call && call.output).length).toBeLessThanOrEqual(500);
  });

  test("the newest old output of each exempt key stays whole, within a total", () => {
    const keepOutput = ({ input }: { input: unknown }) => JSON.stringify(input);
    const whole = (shown: UIMessage[]) =>
      shown
        .flatMap((candidate) =>
          candidate.parts.filter((part) => "output" in part && JSON.stringify(part.output).length > 500)
        )
        .map((part) => "toolCallId" in part && part.toolCallId);
    expect(whole(truncateOldMessages(history(20), { keepOutput }).slice(0, 16))).toEqual(["c14", "c15"]);
    expect(whole(truncateOldMessages(history(20), { keepOutput, maxKeptChars: 4000 }).slice(0, 16))).toEqual(["c15"]);
  });

  test("limits are settings", () => {
    const shown = truncateOldMessages(history(6), { keepRecent: 1, step: 1, maxTextChars: 10, maxOutputChars: 100 });
    expect(shown.filter((candidate) => !isWhole(candidate))).toHaveLength(5);
    expect(shown[0]?.parts[0]).toMatchObject({ text: "tttttttttt... [truncated 20000 chars]" });
  });
});
