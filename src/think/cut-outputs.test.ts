import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { CutOutputs } from "../feature/read-result.ts";

const LONG = "0123456789".repeat(100);
const ALL_OLD = { keepRecent: 0, step: 1, areNamed: true };
const SOME_PAGE = [0, 20_000] as const;

const called = (id: string, output: unknown, metadata?: object): UIMessage => ({
  id: `m-${id}`,
  role: "assistant",
  parts: [{ type: "tool-fetch", toolCallId: id, state: "output-available", input: {}, output }],
  ...(metadata && { metadata })
});
const shownOf = (cut: CutOutputs, history: UIMessage[], options: Partial<typeof ALL_OLD> = {}) =>
  cut
    .show(history, { ...ALL_OLD, ...options })
    .map(({ parts: [part] }) => Reflect.get(part ?? {}, "output") as unknown);

describe("an output that is too old to be shown whole", () => {
  test("names its call, within the limit, and is read from the stored message", () => {
    const cut = new CutOutputs();
    const [shown] = shownOf(cut, [called("c1", LONG)]);
    expect(shown).toMatch(/truncated 1000 chars; read_result with id "c1" gives the whole\]$/);
    expect(String(shown).length).toBeLessThanOrEqual(500);
    const stored = called("c1", `${LONG}!`);
    const read = cut.reader((id) => (id === "m-c1" ? stored : undefined));
    expect(read("c1", ...SOME_PAGE)).toMatchObject({ id: "c1", totalChars: 1_001, text: `${LONG}!` });
    expect(read("c2", ...SOME_PAGE)).toBeUndefined();
  });

  test("that is not stored yet is read as it was given", () => {
    const cut = new CutOutputs();
    shownOf(cut, [called("c1", { LONG })]);
    expect(cut.reader(() => undefined)("c1", 9, 10)).toMatchObject({ from: 9, text: LONG.slice(0, 10), next: 19 });
  });

  test("is not named to a model without the tool, and the first of two calls with one id is meant", () => {
    const cut = new CutOutputs();
    const [shown] = shownOf(cut, [called("c1", `${LONG}A`), { ...called("c1", `${LONG}B`), id: "other" }], {
      areNamed: false
    });
    expect(shown).toMatch(/\[truncated 1001 chars\]$/);
    expect(cut.reader(() => undefined)("c1", 1_000, 1)).toMatchObject({ text: "A" });
  });
});

describe("an output that did not fit into its row", () => {
  const notes = { compactedToolOutputs: ["c1"] };

  test.each<[string, unknown, unknown]>([
    ["text", "start... [truncated 9 chars]", 'start... [truncated 9 chars; read_result with id "c1" gives the whole]'],
    ["object", { a: "x" }, { a: "x", __rest: 'read_result with id "c1" gives the whole' }]
  ])("names its call also while it is recent: %s", (_name, output, expected) => {
    const cut = new CutOutputs();
    expect(shownOf(cut, [called("c1", output, notes)], { keepRecent: 4 })).toEqual([expected]);
    const read = cut.reader(() => called("c1", "all of it"));
    expect(read("c1", ...SOME_PAGE)).toMatchObject({ text: "all of it" });
  });

  test("and is old is cut once more and named once; unreadable notes name nothing", () => {
    const cut = new CutOutputs();
    const [shown] = shownOf(cut, [called("c1", `${LONG}... [truncated 5000 chars]`, notes)]);
    expect(String(shown).split("read_result")).toHaveLength(2);
    const none = new CutOutputs();
    shownOf(none, [
      called("c1", "short", { compactedToolOutputs: "c1" }),
      called("c2", "short", { compactedToolOutputs: [5] })
    ]);
    expect(none.isEmpty).toBe(true);
  });
});

test("a history of which nothing was cut is the same objects", () => {
  const history = [called("c1", "short"), called("c2", { a: 1 })];
  const cut = new CutOutputs();
  expect(cut.show(history, ALL_OLD).every((message, index) => message === history[index])).toBe(true);
  expect(cut.isEmpty).toBe(true);
});
