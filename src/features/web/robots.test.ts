import { expect, test } from "vitest";
import { isAllowedBy } from "./robots.ts";

const GROUPS = `
# a comment
User-agent: *
Disallow: /private/
Allow: /private/open
Crawl-delay: 10

User-agent: other
User-agent: Everthink
Disallow: /
Allow: /docs # only these
Allow: /$
Disallow: /docs/*.pdf$

Sitemap: https://example.com/map.xml
`;

test.each([
  ["everthink", "/", true],
  ["everthink", "/a", false],
  ["everthink", "/docs/a", true],
  ["everthink", "/docs/a.pdf", false],
  ["everthink", "/docs/a.pdf?x", true],
  ["EVERTHINK", "/a", false],
  ["other", "/a", false],
  ["third", "/a", true],
  ["third", "/private/a", false],
  ["third", "/private/open/a", true],
  ["third", "/privately", true]
])("%s may fetch %s: %s", (robot, path, isAllowed) => {
  expect(isAllowedBy(GROUPS, robot, path)).toBe(isAllowed);
});

test.each([
  ["", "/a", true],
  ["Disallow: /", "/a", true],
  ["User-agent: *\nDisallow:", "/a", true],
  ["User-agent: *\r\nDisallow: /a\rAllow: /a", "/a", true],
  ["User-agent: *\nAllow: /a\n\nUser-agent: *\nDisallow: /", "/a", true],
  ["User-agent: *\nAllow: /a\n\nUser-agent: *\nDisallow: /", "/b", false],
  ["user-AGENT : everthink\nDISALLOW : /x", "/x", false],
  ["User-agent: *\nDisallow: *.php", "/a/b.php?c", false],
  ["User-agent: *\nDisallow: /*/b/*/d", "/a/b/c/d", false],
  ["User-agent: *\nDisallow: /a*$", "/a/b", false],
  ["\0\u2028<html>User-agent: *", "/a", true]
])("%j: %s", (text, path, isAllowed) => {
  expect(isAllowedBy(text, "everthink", path)).toBe(isAllowed);
});

test("a rule that is too long is cut where it refuses, and left out where it allows", () => {
  const path = `/${"a".repeat(2_000)}`;
  expect(isAllowedBy(`User-agent: *\nDisallow: ${path}x`, "everthink", path)).toBe(false);
  expect(isAllowedBy(`User-agent: *\nDisallow: /\nAllow: ${path}x`, "everthink", path)).toBe(false);
});

test("a file made to take long does not", () => {
  const rules = `User-agent: *\n${`Disallow: ${"*a".repeat(499)}$\n`.repeat(2_000)}`;
  const started = performance.now();
  expect(isAllowedBy(rules, "everthink", `/${"a".repeat(4_000)}b`)).toBe(true);
  expect(performance.now() - started).toBeLessThan(5_000);
});
