// Finds the one place that an edit means, exactly or, failing that, without regard to the spacing a model got wrong.
// Pure: text in, text out.

export type EditResult =
  | { readonly kind: "replaced"; readonly text: string; readonly isFuzzy: boolean; readonly count: number }
  | { readonly kind: "many"; readonly count: number; readonly isFuzzy: boolean }
  | { readonly kind: "none" };

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

/** Makes an edit in a text. A file whose lines all end in CRLF keeps them, whatever the model wrote. */
export function applyEdit(text: string, edit: Edit): EditResult {
  const isCrlf = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  if (!isCrlf) return editText(text, edit);
  const plain = { ...edit, oldText: withLf(edit.oldText), newText: withLf(edit.newText) };
  const result = editText(withLf(text), plain);
  return result.kind === "replaced" ? { ...result, text: result.text.replaceAll("\n", "\r\n") } : result;
}

function withLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

function editText(text: string, { oldText, newText, replaceAll }: Edit): EditResult {
  const count = countOccurrences(text, oldText);
  if (count === 1 || (count > 1 && replaceAll)) {
    // Split and join insert literally; `replace` would expand `$&`.
    const parts = text.split(oldText);
    return { kind: "replaced", text: parts.join(newText), isFuzzy: false, count: parts.length - 1 };
  }
  if (count > 1) return { kind: "many", count, isFuzzy: false };
  const spans = oldText.includes("\n") ? findLines(text, oldText) : findInLine(text, oldText);
  const [span] = spans;
  if (!span) return { kind: "none" };
  if (spans.length > 1) return { kind: "many", count: spans.length, isFuzzy: true };
  const replacement = oldText.includes("\n") ? reindent(text.slice(span.from, span.to), oldText, newText) : newText;
  return {
    kind: "replaced",
    text: text.slice(0, span.from) + replacement + text.slice(span.to),
    isFuzzy: true,
    count: 1
  };
}

/** Counts where a part is in a text, overlapping places too: each could be meant. */
function countOccurrences(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) count += 1;
  return count;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function normalizeSpacing(text: string): string {
  return text.replace(/\r$/, "").replace(/[ \t]+/g, " ");
}

/** Finds whole lines of the text that differ from those of `part` in spacing only. */
function findLines(text: string, part: string): Span[] {
  const searched = withoutLastBreak(part)
    .split("\n")
    .map((line) => normalizeSpacing(line).trim());
  const lines = text.split("\n");
  const starts: number[] = [];
  let offset = 0;
  for (const line of lines) {
    starts.push(offset);
    offset += line.length + 1;
  }
  const endsWithBreak = part.endsWith("\n");
  const plain = lines.map((line) => normalizeSpacing(line).trim());
  const spans: Span[] = [];
  for (let first = 0; first + searched.length <= lines.length; first += 1) {
    if (!searched.every((line, index) => plain[first + index] === line)) continue;
    const last = first + searched.length - 1;
    const end = (starts[last] ?? 0) + (lines[last] ?? "").replace(/\r$/, "").length;
    spans.push({
      from: starts[first] ?? 0,
      to: endsWithBreak ? Math.min(text.length, starts[last + 1] ?? text.length) : end
    });
  }
  return spans;
}

function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, "");
}

/** Finds places within a line that differ from `part` in spacing only. */
function findInLine(text: string, part: string): Span[] {
  const words = normalizeSpacing(part).trim().split(" ");
  if (words[0] === "") return [];
  const spans: Span[] = [];
  const first = words[0] ?? "";
  for (let at = text.indexOf(first); at >= 0; at = text.indexOf(first, at + 1)) {
    const to = findEndOfWords(text, at, words);
    if (to !== undefined) spans.push({ from: at, to });
  }
  return spans;
}

function findEndOfWords(text: string, start: number, words: readonly string[]): number | undefined {
  let at = start;
  for (const [index, word] of words.entries()) {
    if (index > 0) {
      const gap = at;
      while (text[at] === " " || text[at] === "\t") at += 1;
      if (at === gap) return undefined;
    }
    if (!text.startsWith(word, at)) return undefined;
    at += word.length;
  }
  return at;
}

/** Brings the new lines to the depth of those they replace. A line that was only repeated stays as the file had it. */
function reindent(found: string, oldText: string, newText: string): string {
  const foundLines = found.split("\n");
  const oldLines = oldText.split("\n");
  const fileIndent = indentOf(foundLines.find((line) => line.trim() !== "") ?? "");
  const typedIndent = indentOf(oldLines.find((line) => line.trim() !== "") ?? "");
  let next = 0;
  const lines = newText.split("\n").map((line) => {
    const kept = oldLines.findIndex((old, index) => index >= next && old === line && line.trim() !== "");
    const keptLine = kept < 0 ? undefined : foundLines[kept];
    if (keptLine !== undefined) {
      next = kept + 1;
      return keptLine;
    }
    return line.startsWith(typedIndent) && line.trim() !== "" ? fileIndent + line.slice(typedIndent.length) : line;
  });
  return lines.join("\n");
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}
