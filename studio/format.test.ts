import { expect, test } from "vitest";
import type { TurnTimeline } from "../src/features/inspection/index.ts";
import { duration, money, deciderName, printable, turnMarkdown } from "./format.ts";

test.each([
  ["\u001b[31mred\u0007", "␛[31mred␇"],
  ["a\u009b31m\u007f", "a⟨U+009B⟩31m⟨U+007F⟩"],
  ["pay \u202e001\u202c", "pay ⟨U+202E⟩001⟨U+202C⟩"],
  ["in\u200bvisible\ufeff", "in⟨U+200B⟩visible⟨U+FEFF⟩"],
  ["hidden\u{e0041}", "hidden⟨U+E0041⟩"]
])("%j is shown as what it is", (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test("lines, tabs, emoji and other scripts are shown as they are", () => {
  const text = "one\n\ttwo\r\n👩‍💻 ❤️ שלום नमस्ते کتاب‌ها";
  expect(printable(text)).toBe(text);
});

test("a turn as Markdown cannot leave its fences, and carries no escape sequences", () => {
  const words = (text: string) => ({ text, chars: text.length, isCut: false });
  const none = { totalTokens: null, reasoningTokens: null, cachedInputTokens: null };
  const turn: Partial<TurnTimeline> = {
    ...{ turnId: "t", status: "completed", error: null, trigger: "chat", admittedAt: 0, queueMs: 0, cost: null },
    ...{ usage: { inputTokens: 1, outputTokens: 2, ...none }, attempts: [] },
    messages: [{ id: "m", role: "user", parts: [{ type: "text", text: words("```\n# not a title\u001b[2J") }] }]
  };
  const lines = turnMarkdown(turn as TurnTimeline, "subject/a").split("\n");
  const fences = lines.flatMap((line, index) => (line === "````" ? [index] : []));
  expect(lines.slice(fences[0], (fences[1] ?? 0) + 1)).toEqual(["````", "```", "# not a title␛[2J", "````"]);
});

test.each([
  [null, "–"],
  [999, "999 ms"],
  [1500, "1.50 s"],
  [9996, "10.0 s"],
  [59_960, "1 min 0 s"],
  [119_900, "2 min 0 s"],
  [7_200_000, "2.0 h"]
])("%s ms is %s", (ms, shown) => {
  expect(duration(ms)).toBe(shown);
});

test("a currency that is none is written behind the sum", () => {
  expect(money({ amount: 0.5, currency: "credits" })).toBe("0.50 credits");
  expect(money({ amount: 0.00017, currency: "USD" })).toBe("$0.00017");
});

test.each([
  ["ann", "ann"],
  ["telegram:7", "telegram:7"],
  ["unverified:telegram:7", "telegram:7 (not verified)"],
  [null, "a client"]
])("a decision by %j is shown as one by %s", (by, shown) => {
  expect(deciderName(by)).toBe(shown);
});
