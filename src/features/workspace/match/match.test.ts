import fc from "fast-check";
import { expect, test } from "vitest";
import { PatternError } from "../errors.ts";
import { compileGlob } from "./glob.ts";
import { compileRegex } from "./regex.ts";

const GLOBS: readonly [pattern: string, path: string, expected: boolean][] = [
  ["*.ts", "/a.ts", true],
  ["*.ts", "/src/a.ts", false],
  ["**/*.ts", "/a.ts", true],
  ["**/*.ts", "/src/deep/a.ts", true],
  ["**/*", "/", false],
  ["**/*", "/.hidden/file", true],
  ["src/**", "/src/a/b", true],
  ["src/**", "/src", false],
  ["src/**/b.ts", "/src/b.ts", true],
  ["src/**/b.ts", "/src/x/y/b.ts", true],
  ["src/**/b.ts", "/src/xb.ts", false],
  ["a?c", "/abc", true],
  ["a?c", "/a/c", false],
  ["a?c", "/a😀c", true],
  ["[abc].md", "/b.md", true],
  ["[a-c].md", "/d.md", false],
  ["[!x].md", "/x.md", false],
  ["[!x].md", "/y.md", true],
  ["[^x].md", "/x.md", false],
  ["a[!b]c", "/a/c", false],
  ["a[+-9]c", "/a/c", false],
  ["[unclosed", "/[unclosed", true],
  ["{unclosed", "/{unclosed", true],
  ["{*.ts,*.js}", "/a.js", true],
  ["{*.ts,*.js}", "/axjs", false],
  ["src/{a,b/{c,d}}/*.ts", "/src/b/d/x.ts", true],
  ["src/{a,b/{c,d}}/*.ts", "/src/b/e/x.ts", false],
  ["{a,}b", "/b", true],
  ["a.b", "/axb", false],
  ["100%/*", "/100%/x", true],
  ["/x/../y/*", "/y/z", true]
];

test.each(GLOBS)("the glob %s on %s: %s", (pattern, path, expected) => {
  expect(compileGlob(pattern).matches(path)).toBe(expected);
});

test("a pattern without wildcards is one path", () => {
  expect(compileGlob("a/./b//c")).toMatchObject({ path: "/a/b/c" });
  expect(compileGlob("a/*/c").path).toBeUndefined();
});

test("the directory before the first wildcard limits the scan", () => {
  expect(compileGlob("src/deep/*.ts").directory).toBe("/src/deep");
  expect(compileGlob("src/de*/x").directory).toBe("/src");
  expect(compileGlob("*").directory).toBe("/");
  expect(compileGlob("{a,b}/c").directory).toBe("/");
});

test("open braces and stars made to explode are answered at once", () => {
  expect(compileGlob("{".repeat(2_000)).path).toBe(`/${"{".repeat(2_000)}`);
  const path = `/${"a".repeat(4_000)}`;
  expect(compileGlob(`${"*a".repeat(40)}*b`).matches(path)).toBe(false);
  expect(compileGlob(`${"**a".repeat(40)}**b`).matches(path)).toBe(false);
  expect(() => compileGlob("?".repeat(2_000))).toThrow(PatternError);
});

const REGEXES: readonly [pattern: string, text: string, expected: boolean][] = [
  ["abc", "xxabcxx", true],
  ["^abc$", "xabc", false],
  ["^abc$", "abc", true],
  ["a.c", "a😀c", true],
  ["^.$", "😀", true],
  ["colou?r", "color", true],
  ["(foo|bar)+baz", "foobarbaz", true],
  ["\\d{3}-\\d{2,}", "123-4567", true],
  ["\\d{3}-\\d{2,}", "123-4", false],
  ["[^a-z]", "abc", false],
  ["[^a-z]", "abC", true],
  ["[\\w.-]+@[\\w-]+\\.\\w+", "write to a.b@c-d.org", true],
  ["\\bcat\\b", "concatenate", false],
  ["\\bcat\\b", "a cat.", true],
  ["\\bcat\\b", "cat", true],
  ["\\Bcat", "concat", true],
  ["a{,3}", "a{,3}", true],
  ["x{2}", "x", false],
  ["(?:a|b)c", "bc", true],
  ["(?<name>a)b", "ab", true],
  ["[[:alpha:]]+[[:digit:]]", "ab1", true],
  ["\\x41\\u0042\\u{1F600}", "AB😀", true],
  ["[😀-😂]", "😁", true],
  ["[^😀]", "😀", false],
  ["[]a]", "]", true],
  ["[a-]", "-", true],
  ["\\.", "x", false],
  ["", "anything", true],
  ["^$", "", true],
  ["^$", "x", false],
  ["a*?b", "aab", true],
  ["\\s+$", "end  ", true],
  ["function\\s*\\(", "function (", true]
];

test.each(REGEXES)("the expression %s on %j: %s", (pattern, text, expected) => {
  expect(compileRegex(pattern).test(text)).toBe(expected);
});

test("case is ignored on request, also in classes that are negated", () => {
  expect(compileRegex("straße", { ignoreCase: true }).test("STRAßE")).toBe(true);
  expect(compileRegex("[^a]", { ignoreCase: true }).test("A")).toBe(false);
  expect(compileRegex("ABC").test("abc")).toBe(false);
});

test.each([
  "(",
  "a)",
  "[a",
  "*a",
  "a**",
  "a{3,2}",
  "a{2000}",
  "\\",
  "(?=a)",
  "(?<!a)",
  "(a)\\1",
  "[z-a]",
  "\\p",
  "[[:nope:]]"
])("%s is refused with a reason", (pattern) => {
  expect(() => compileRegex(pattern)).toThrow(PatternError);
});

test("expressions made to explode take time in proportion to the text", () => {
  const text = `${"a".repeat(20_000)}!`;
  for (const pattern of ["^(a+)+$", "(a|aa)+$", "^(a*)*b", "(.*)(.*)(.*)(.*)x$", "(a|a)*b", "^(([a-z])+.)+[A-Z]$"]) {
    const automaton = compileRegex(pattern);
    expect(automaton.test(text)).toBe(false);
    expect(automaton.work).toBeLessThan(100_000);
  }
  expect(() => compileRegex("((a{100}){100}){100}")).toThrow(PatternError);
});

test("an expression with endless states keeps few of them", () => {
  const automaton = compileRegex("(a|b)*a(a|b){14}c");
  let state = 7;
  const text = Array.from({ length: 30_000 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state & 0x10000 ? "a" : "b";
  }).join("");
  expect(automaton.test(text)).toBe(false);
  expect(automaton.test(`${text}a${"b".repeat(14)}c`)).toBe(true);
});

test("whatever is made of the common syntax matches as the language's own engine does", () => {
  const atom = fc.constantFrom("a", "b", "c", ".", "[ab]", "[^a]", "\\w", "\\b", "^", "$", "(a|b)", "(?:c|)");
  const quantified = fc.tuple(atom, fc.constantFrom("", "", "*", "+", "?", "{1,2}")).map(([node, quantifier]) =>
    // The language refuses to repeat an assertion; so do people.
    ["^", "$", "\\b"].includes(node) ? node : node + quantifier
  );
  const pattern = fc.array(quantified, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "-", " "), maxLength: 12 });
  fc.assert(
    fc.property(pattern, text, (source, value) => {
      expect(compileRegex(source).test(value)).toBe(new RegExp(source).test(value));
    }),
    { numRuns: 3_000 }
  );
});
