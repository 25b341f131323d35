// Bounded text and masked secrets.
import { expect, test } from "vitest";
import { masked, preview, shownText } from "./shown-text.ts";

test("text is cut between characters, and pages join to the whole", () => {
  const whole = "a😀".repeat(10);
  let joined = "";
  for (let page = shownText(whole, 5, 0); ; page = shownText(whole, 5, joined.length)) {
    joined += page.text;
    expect(page.text).not.toMatch(/[\uD800-\uDBFF]$/);
    if (!page.isCut) break;
  }
  expect(joined).toBe(whole);
});

test("markup and control characters stay what they are", () => {
  const hostile = `<script>alert(1)</script>\u001b[31mred`;
  expect(shownText(hostile).text).toBe(hostile);
  expect(preview(`a\n\n  b`)).toBe("a b");
});

const cases: [value: unknown, shown: unknown][] = [
  [{ apiKey: "abc" }, { apiKey: "••••••" }],
  [
    { nested: { password: 5, list: [{ token: "t" }] } },
    { nested: { password: "••••••", list: [{ token: "••••••" }] } }
  ],
  [
    { model: "gpt", hasToken: true, secret: null },
    { model: "gpt", hasToken: true, secret: null }
  ],
  [{ header: "Bearer abcdef" }, { header: "••••••" }],
  [{ name: "sk-proj-1234567890abcdef" }, { name: "••••••" }],
  [{ url: "https://me:pass@host/x?token=abc&a=1" }, { url: "https://••••••@host/x?token=••••••&a=1" }],
  [
    { maxTokens: 500, tokens: ["abc"], accessToken: 5 },
    { maxTokens: 500, tokens: "••••••", accessToken: "••••••" }
  ],
  ["plain text", "plain text"]
];
test.each(cases)("masks what looks like a secret: %j", (value, shown) => expect(masked(value)).toEqual(shown));
