// What the panel says about tokens.
import { expect, test } from "vitest";
import { tokensText } from "./tokens-text.ts";

test.each([
  [{ input: 2_238, output: 144 }, false, "2,238 in · 144 out"],
  [{ input: 0, output: 3 }, true, "0 in · 3 out"],
  [{ input: 0, output: 0 }, false, "no tokens yet"],
  [{ input: 0, output: 0 }, true, "none since opened"]
])("tokens are counted since the page was opened, and earlier ones are not denied (%#)", (tokens, isReopened, text) => {
  expect(tokensText(tokens, isReopened)).toBe(text);
});
