// docs/errors.md and the type `ThinkErrorCode` name every error of the package: neither may be older than the classes and tables.
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { turnErrors } from "../../src/turn/errors.ts";
import { Assistant } from "./examples/errors.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

interface DeclaredError {
  readonly name: string;
  readonly base: string;
  readonly codes: readonly string[];
}

const sources = globSync("src/**/*.{ts,tsx}", { cwd: root })
  .filter((path) => !/\.(test|test-support|fixtures)\.tsx?$/.test(path))
  .map(read);
const declared = sources.flatMap((source) => [...errorClasses(source), ...tableRows(source)]);
const bases = new Set(["ThinkError", ...declared.filter(({ codes }) => codes.length === 0).map(({ name }) => name)]);
const errors = declared.filter(({ base, codes }) => bases.has(base) && codes.length > 0);

/** Each class of a file that extends another, with the codes it can have. */
function errorClasses(source: string): DeclaredError[] {
  return [...source.matchAll(/class (\w+)(?:<[^>]*>)? extends (\w+) \{(?:\}|[\s\S]*?\n\})/g)].map(
    ([body, name = "", base = ""]) => ({ name, base, codes: codesIn({ body, source }) })
  );
}

/** Each row of the file's error tables, with the codes it can have. */
function tableRows(source: string): DeclaredError[] {
  return [...source.matchAll(/errorTable\((\w+), \{([\s\S]*?)\n\}\)/g)].flatMap(([, base = "", table = ""]) =>
    [...table.matchAll(/\n {2}(\w+): [\s\S]*?(?=\n {2}\w+: |$)/g)].map(([body, name = ""]) => ({
      name,
      base,
      codes: codesIn({ body, source })
    }))
  );
}

function codesIn({ body, source }: { body: string; source: string }): string[] {
  const [, literal, template] = /\bcode: (?:"([^"]+)"|`([^`]+)`)/.exec(body) ?? [];
  if (template !== undefined) return composed(template, { body, source });
  return literal === undefined ? [] : [literal];
}

/** A code that ends in a reason: the reasons are the members of the union that the constructor or row takes. */
function composed(template: string, { body, source }: { body: string; source: string }): string[] {
  const [, prefix = "", parameter = ""] = /^([a-z-]+)\$\{(\w+)\}$/.exec(template) ?? [];
  const [, type = ""] = new RegExp(`\\b${parameter}: (\\w+)`).exec(body) ?? [];
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
  expect(shown(turnErrors.QueueFullError(10))).toMatchObject({ message: "I am busy. Please try again in a minute." });
  const other = new Error("other");
  expect(shown(other)).toBe(other);
});
