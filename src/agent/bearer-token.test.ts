// Which requests carry a token, and that no part, repetition or absence of it is taken for it.
import { expect, test } from "vitest";
import { hasBearerToken } from "./bearer-token.ts";

const asking = (authorization?: string) =>
  new Request("http://localhost/", authorization === undefined ? {} : { headers: { Authorization: authorization } });

test.each([
  ["Bearer abab", "abab", true],
  ["bearer abab", "abab", true],
  ["Bearer ab", "abab", false],
  ["Bearer a", "aaaa", false],
  ["Bearer aba", "abab", false],
  ["Bearer ababa", "abab", false],
  ["Bearer abababab", "abab", false],
  ["Bearer ABAB", "abab", false],
  ["Basic abab", "abab", false],
  ["abab", "abab", false],
  ["Bearer undefined", undefined, false],
  ["Bearer ", "", false],
  [undefined, undefined, false],
  [undefined, "", false],
  [undefined, "abab", false]
])("%j against the token %j: %j", (authorization, token, isIt) => {
  expect(hasBearerToken(asking(authorization), token)).toBe(isIt);
});
