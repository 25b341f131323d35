import fc from "fast-check";
import { expect, test } from "vitest";
import { unifiedDiff } from "./diff.ts";

const LABELS = { before: "/a", after: "/b" };

test("equal texts have no diff", () => {
  expect(unifiedDiff("x\ny\n", "x\ny\n", LABELS)).toBe("");
});

test("a changed line stands between three lines of context", () => {
  const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  expect(unifiedDiff(before, before.replace("5", "five"), LABELS)).toBe(
    "--- /a\n+++ /b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
  );
});

test("changes far apart are two hunks", () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  const changed = lines.with(2, "x").with(25, "y");
  const diff = unifiedDiff(`${lines.join("\n")}\n`, `${changed.join("\n")}\n`, LABELS);
  expect(diff.match(/^@@/gm)).toHaveLength(2);
});

test("a new file, an emptied file and a missing last newline are told", () => {
  expect(unifiedDiff("", "a\n", LABELS)).toBe("--- /a\n+++ /b\n@@ -0,0 +1 @@\n+a\n");
  expect(unifiedDiff("a\n", "", LABELS)).toBe("--- /a\n+++ /b\n@@ -1 +0,0 @@\n-a\n");
  expect(unifiedDiff("a\n", "a", LABELS)).toBe("--- /a\n+++ /b\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
});

test("a diff applied to the old text gives the new one, whatever they are", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 30 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      expect(apply(before, unifiedDiff(before, after, LABELS))).toBe(after);
    }),
    { numRuns: 1_000 }
  );
});

test("two long texts with nothing in common are compared in bounded time", () => {
  const lines = (mark: string) => Array.from({ length: 10_000 }, (_, index) => `${mark}${index}\n`).join("");
  const diff = unifiedDiff(lines("a"), lines("b"), LABELS);
  expect(diff.split("\n")).toHaveLength(3 + 20_000 + 1);
});

/** A small `patch`. */
function apply(before: string, diff: string): string {
  if (diff === "") return before;
  const source = before.split(/(?<=\n)/).filter((line) => line !== "");
  const result: string[] = [];
  let at = 0;
  for (const line of diff.split("\n").slice(2, -1)) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? /.exec(line);
    if (hunk) {
      const start = Number(hunk[1]) - (hunk[2] === "0" ? 0 : 1);
      result.push(...source.slice(at, start));
      at = start;
    } else if (line.startsWith("\\")) {
      result.push((result.pop() ?? "").replace(/\n$/, ""));
    } else {
      // "-" lines take from the source; the mark of a missing newline is undone by the source's own line.
      if (!line.startsWith("-")) result.push(line.startsWith(" ") ? (source[at] ?? "") : `${line.slice(1)}\n`);
      else result.push("");
      if (!line.startsWith("+")) at += 1;
    }
  }
  return [...result, ...source.slice(at)].join("");
}
