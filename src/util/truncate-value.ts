// Shrinks a tool output to a number of characters and keeps its shape: a string stays a string, a list a list, an
// object keeps its keys, so that a page that renders the output still recognises it. Pure.
import { isObject } from "./json.ts";

/** Deeper values become a marker. */
export const MAX_TRUNCATE_DEPTH = 8;
/** No child is cut below this while the whole may still fit otherwise. */
const MIN_CHILD_CHARS = 80;
/** A budget is shared among at most this many children; the rest is dropped or cut afterwards. */
const MAX_SHARING_CHILDREN = 10;

/** The value itself if its text (or JSON) has at most `maxChars` characters; otherwise a smaller one like it. */
export function truncateToolOutput(value: unknown, maxChars: number): unknown {
  const length = sizeOf(value);
  if (length <= maxChars) return value;
  return shrink(value, { maxChars, depth: 0, length });
}

/** Under which an object that was cut says where the rest is. */
export const REST_FIELD = "__rest";

/** The same, and what is cut says where the rest is, also within `maxChars`; not if that would take half of it. */
export function truncateWithRest(value: unknown, maxChars: number, rest: string): unknown {
  if (sizeOf(value) <= maxChars) return value;
  const restChars = JSON.stringify({ [REST_FIELD]: rest }).length + truncationNote(0).length;
  return restChars > maxChars / 2
    ? truncateToolOutput(value, maxChars)
    : nameTheRest(truncateToolOutput(value, maxChars - restChars), rest);
}

/** A value that was cut, with a word on where the rest is. */
export function nameTheRest(cut: unknown, rest: string): unknown {
  if (typeof cut === "string") return withRest(cut, rest);
  if (isObject(cut)) return { ...cut, [REST_FIELD]: rest };
  if (!Array.isArray(cut)) return cut;
  const items: readonly unknown[] = cut;
  const last = items.at(-1);
  const isNote = typeof last === "string" && NOTE.exec(last)?.index === 0;
  return isNote ? [...items.slice(0, -1), withRest(last, rest)] : [...items, `... [${rest}]`];
}

const NOTE = /\.\.\. \[truncated \d+ chars\]$/;

function withRest(text: string, rest: string): string {
  return NOTE.test(text) ? `${text.slice(0, -1)}; ${rest}]` : `${text}... [${rest}]`;
}

/** The text, or its start and a note of how long it was; never longer than `maxChars`. */
export function truncateText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const suffix = truncationNote(text.length);
  return sliceText(text, Math.max(0, maxChars - suffix.length)) + suffix.slice(0, maxChars);
}

export function truncationNote(length: number): string {
  return `... [truncated ${length} chars]`;
}

/** Like `slice(0, end)`, but never ends in half a character. */
export function sliceText(text: string, end: number): string {
  const isHalf = /[\uD800-\uDBFF]/.test(text[end - 1] ?? "");
  return text.slice(0, isHalf ? end - 1 : end);
}

interface Shrinking {
  readonly maxChars: number;
  readonly depth: number;
  /** Of the value before. */
  readonly length: number;
}

function shrink(value: unknown, task: Shrinking): unknown {
  if (typeof value === "string") return truncateText(value, task.maxChars);
  if (task.depth >= MAX_TRUNCATE_DEPTH) return truncateText(truncationNote(task.length), task.maxChars);
  if (Array.isArray(value)) return shrinkList(value, task);
  if (isObject(value)) return shrinkObject(value, task);
  return value;
}

function shrinkChild(value: unknown, siblings: number, task: Shrinking): unknown {
  const share = Math.max(MIN_CHILD_CHARS, Math.floor(task.maxChars / Math.min(siblings, MAX_SHARING_CHILDREN)));
  const maxChars = siblings === 1 ? task.maxChars : share;
  const length = sizeOf(value);
  return length <= maxChars ? value : shrink(value, { maxChars, depth: task.depth + 1, length });
}

function shrinkList(list: readonly unknown[], task: Shrinking): unknown[] {
  const items = list.map((item) => shrinkChild(item, list.length, task));
  if (sizeOf(items) <= task.maxChars) return items;
  const note = truncationNote(task.length);
  // Brackets, the note with its quotes, and a comma for each item.
  let left = task.maxChars - 2 - JSON.stringify(note).length;
  const kept: unknown[] = [];
  for (const item of items) {
    left -= sizeOf(item, true) + 1;
    if (left < 0) break;
    kept.push(item);
  }
  if (kept.length > 0) return [...kept, note];
  const marker = [{ __truncated: true, __truncatedChars: task.length }];
  return sizeOf(marker) <= task.maxChars ? marker : [truncateText(note, Math.max(0, task.maxChars - 4))];
}

function shrinkObject(object: Record<string, unknown>, task: Shrinking): Record<string, unknown> {
  const entries = Object.entries(object);
  const children = entries.map(([key, child]): [string, unknown] => [key, shrinkChild(child, entries.length, task)]);
  if (sizeOf(Object.fromEntries(children)) <= task.maxChars) return Object.fromEntries(children);
  const marked: Record<string, unknown> = {
    ...Object.fromEntries(children),
    __truncated: true,
    __truncatedChars: task.length
  };
  const strings = children.filter((entry): entry is [string, string] => typeof entry[1] === "string");
  strings.sort(([, first], [, second]) => second.length - first.length);
  for (const [key, text] of strings) {
    marked[key] = truncateText(text, Math.floor(task.maxChars / 4));
    if (sizeOf(marked) <= task.maxChars) return marked;
  }
  if (sizeOf(marked) <= task.maxChars) return marked;
  const marker = { __truncated: true, __truncatedChars: task.length };
  const explained = { ...marker, note: "The output was too long to show." };
  return sizeOf(explained) <= task.maxChars ? explained : marker;
}

/** Length of the text; of anything else, or of a text inside JSON, the length of its JSON. */
function sizeOf(value: unknown, isNested = false): number {
  if (typeof value === "string" && !isNested) return value.length;
  return (JSON.stringify(value) ?? "null").length;
}
