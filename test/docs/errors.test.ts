// docs/errors.md and the type `ThinkErrorCode` name every error of the package: neither may be older than the classes.
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { QueueFullError } from "../../src/turn/errors.ts";
import { Assistant } from "./examples/errors.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

interface ErrorClass {
  readonly name: string;
  readonly base: string;
  readonly codes: readonly string[];
}

const sources = globSync("src/**/*.{ts,tsx}", { cwd: root })
  .filter((path) => !/\.(test|test-support|fixtures)\.tsx?$/.test(path))
  .map(read);
const declared = sources.flatMap(errorClasses);
const bases = new Set(["ThinkError", ...declared.filter(({ codes }) => codes.length === 0).map(({ name }) => name)]);
const errors = declared.filter(({ base, codes }) => bases.has(base) && codes.length > 0);

/** Each class of a file that extends another, with the codes it can have. */
function errorClasses(source: string): ErrorClass[] {
  return [...source.matchAll(/class (\w+)(?:<[^>]*>)? extends (\w+) \{(?:\}|[\s\S]*?\n\})/g)].map(
    ([body, name = "", base = ""]) => {
      const code = /\bcode: (?:"([^"]+)"|`([^`]+)`)/.exec(body);
      const literal = code?.[1] === undefined ? [] : [code[1]];
      return { name, base, codes: code?.[2] === undefined ? literal : composed(code[2], { body, source }) };
    }
  );
}

/** A code that ends in a reason: the reasons are the members of the union the constructor takes. */
function composed(template: string, { body, source }: { body: string; source: string }): string[] {
  const [, prefix = "", parameter = ""] = /^([a-z-]+)\$\{(\w+)\}$/.exec(template) ?? [];
  const [, type = ""] = new RegExp(`readonly ${parameter}: (\\w+)`).exec(body) ?? [];
  const [, union = ""] = new RegExp(`type ${type} =([^;]+);`).exec(source) ?? [];
  return [...union.matchAll(/"([^"]+)"/g)].map(([, reason]) => `${prefix}${reason}`);
}

const pairs = errors.flatMap(({ name, codes }) => codes.map((code) => `${code} ${name}`)).toSorted();
const rows = [...read("docs/errors.md").matchAll(/^\| `([a-z-]+)` \| `(\w+)` \| (.+?) \| (.+?) \|$/gm)];

test("the table has one row for each code of each error class, and no other", () => {
  expect(errors.length).toBeGreaterThan(100);
  expect(rows.map(([, code, name]) => `${code} ${name}`).toSorted()).toEqual(pairs);
});

test("the type of codes has exactly those", () => {
  const listed = [...read("src/error-codes.ts").matchAll(/\| "([^"]+)"/g)].map(([, code]) => code);
  const codes = errors.flatMap((one) => one.codes).toSorted();
  expect(listed).toEqual([...new Set(codes)]);
});

test("no error is thrown under the base class, without a name of its own", () => {
  expect(sources.filter((source) => /new ThinkError\(/.test(source))).toEqual([]);
});

test("the example tells a busy agent from a broken one", () => {
  const shown = (error: unknown) => Assistant.prototype.onChatError.call(undefined, error);
  expect(shown(new QueueFullError(10))).toMatchObject({ message: "I am busy. Please try again in a minute." });
  const other = new Error("other");
  expect(shown(other)).toBe(other);
});
