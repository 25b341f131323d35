// The change a tool made, for people: a unified diff, cut to a size that fits into a message. The model wrote the
// change itself and is not shown it again.
import type { JSONValue } from "ai";
import { countLines, MAX_DIFF_LINES, unifiedDiff } from "../../../util/diff.ts";

const MAX_DIFF_CHARS = 20_000;
const MAX_COMPARED_CHARS = 2_000_000;

/** Prints a change as a unified diff. Undefined when there is nothing to show, or too much to compare. */
export function renderDiff(path: string, before: string | null, after: string): string | undefined {
  const old = before ?? "";
  if (old.length + after.length > MAX_COMPARED_CHARS) return undefined;
  if (countLines(old) > MAX_DIFF_LINES || countLines(after) > MAX_DIFF_LINES) return undefined;
  const diff = unifiedDiff(old, after, { before: before === null ? "/dev/null" : path, after: path });
  if (diff.length <= MAX_DIFF_CHARS) return diff === "" ? undefined : diff;
  const kept = diff.slice(0, diff.lastIndexOf("\n", MAX_DIFF_CHARS));
  return `${kept}\n... (${countLines(diff) - countLines(kept)} more lines)\n`;
}

/** Gives the model the output without the diff. */
export function withoutDiff(output: unknown): { type: "json"; value: JSONValue } | { type: "text"; value: string } {
  if (typeof output === "string") return { type: "text", value: output };
  const plain = typeof output === "object" && output !== null ? { ...output, diff: undefined } : output;
  // It was stored as JSON, so it is JSON.
  return { type: "json", value: JSON.parse(JSON.stringify(plain) ?? "null") };
}
