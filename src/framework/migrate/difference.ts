// The difference of two texts in the form of `diff -u`. Pure.

const CONTEXT_LINES = 3;
/** Comparisons of lines. Beyond it the lines between the first and the last change are shown as replaced. */
const COMPARISON_LIMIT = 4_000_000;

export interface ChangedText {
  /** With forward slashes. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

interface Line {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

/** Without a line end at its end. */
export function unifiedDifference({ file, before, after }: ChangedText): string {
  const lines = compared(linesOf(before), linesOf(after));
  return [`--- a/${file}`, `+++ b/${file}`, ...hunks(lines)].join("\n");
}

/** The end of the last line is no line. */
function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

function compared(old: readonly string[], now: readonly string[]): Line[] {
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, now.length) - start;
  while (end < most && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const same = (text: string): Line => ({ sign: " ", text });
  return [
    ...old.slice(0, start).map(same),
    ...changed(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map(same)
  ];
}

function changed(old: readonly string[], now: readonly string[]): Line[] {
  const lines: Line[] = [];
  const common = old.length * now.length > COMPARISON_LIMIT ? () => 0 : commonLines(old, now);
  let [at, next] = [0, 0];
  while (at < old.length || next < now.length) {
    if (at < old.length && next < now.length && old[at] === now[next]) {
      lines.push({ sign: " ", text: old[at++] ?? "" });
      next += 1;
    } else if (at < old.length && common(at + 1, next) >= common(at, next + 1)) {
      lines.push({ sign: "-", text: old[at++] ?? "" });
    } else if (next < now.length) lines.push({ sign: "+", text: now[next++] ?? "" });
    else lines.push({ sign: "-", text: old[at++] ?? "" });
  }
  return lines;
}

/** How many lines two texts have in common, in order, from given lines on. */
function commonLines(old: readonly string[], now: readonly string[]): (at: number, next: number) => number {
  const width = now.length + 1;
  const counts = new Uint32Array((old.length + 1) * width);
  const count = (at: number, next: number) => counts[at * width + next] ?? 0;
  for (let at = old.length - 1; at >= 0; at -= 1) {
    for (let next = now.length - 1; next >= 0; next -= 1) {
      const isSame = old[at] === now[next];
      counts[at * width + next] = isSame
        ? count(at + 1, next + 1) + 1
        : Math.max(count(at + 1, next), count(at, next + 1));
    }
  }
  return count;
}

function hunks(lines: readonly Line[]): string[] {
  const isShown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).some(({ sign }) => sign !== " ")
  );
  const result: string[] = [];
  let [old, now] = [1, 1];
  for (let index = 0; index < lines.length;) {
    let end = index;
    while (end < lines.length && isShown[end]) end += 1;
    const shown = lines.slice(index, Math.max(end, index + 1));
    const [olds, nows] = (["+", "-"] as const).map((other) => shown.filter(({ sign }) => sign !== other).length);
    if (end > index) {
      result.push(`@@ -${old},${olds} +${now},${nows} @@`, ...shown.map(({ sign, text }) => sign + text));
    }
    old += olds ?? 0;
    now += nows ?? 0;
    index += shown.length;
  }
  return result;
}
