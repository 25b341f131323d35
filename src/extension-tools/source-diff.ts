// What changed between two versions of a source, line by line, for a human who decides over the new one. Pure.

export interface DiffLine {
  /** `skipped`: a number of lines that are the same. */
  readonly kind: "same" | "added" | "removed" | "skipped";
  readonly text: string;
}

/** Lines around a change that are shown with it. */
const CONTEXT_LINES = 3;
const MAX_LINES = 400;
/** Above this many comparisons what changed is shown as a whole. */
const MAX_CELLS = 1_000_000;

/** At most 400 lines; the last says how many more there are. */
export function sourceDiff(before: string, after: string): DiffLine[] {
  const [old, next] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1;
  let end = 0;
  const isSameEnd = () => old[old.length - 1 - end] === next[next.length - 1 - end];
  while (end < old.length - start && end < next.length - start && isSameEnd()) end += 1;
  const middle = changedLines(old.slice(start, old.length - end), next.slice(start, next.length - end));
  const same = (lines: string[]) => lines.map((text): DiffLine => ({ kind: "same", text }));
  const lines = [...same(next.slice(0, start)), ...middle, ...same(next.slice(next.length - end))];
  const shown = aroundChanges(lines);
  if (shown.length <= MAX_LINES) return shown;
  const more = `${shown.length - MAX_LINES + 1} more lines`;
  return [...shown.slice(0, MAX_LINES - 1), { kind: "skipped", text: more }];
}

/** The longest common subsequence stays; the rest is removed or added. */
function changedLines(old: readonly string[], next: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (old.length * next.length > MAX_CELLS) return [...old.map(removed), ...next.map(added)];
  const width = next.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = next.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] = old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < next.length) {
    const [a, b] = [old[i], next[j]];
    if (a !== undefined && a === b) {
      lines.push({ kind: "same", text: a });
      i += 1;
      j += 1;
    } else if (a !== undefined && (b === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(a));
      i += 1;
    } else {
      lines.push(added(b ?? ""));
      j += 1;
    }
  }
  return lines;
}

function aroundChanges(lines: readonly DiffLine[]): DiffLine[] {
  const isNear = lines.map(() => false);
  for (const [index, { kind }] of lines.entries()) {
    if (kind === "same") continue;
    const last = Math.min(lines.length - 1, index + CONTEXT_LINES);
    for (let near = Math.max(0, index - CONTEXT_LINES); near <= last; near += 1) isNear[near] = true;
  }
  const shown: DiffLine[] = [];
  let skipped = 0;
  const close = () => {
    if (skipped > 0) shown.push({ kind: "skipped", text: `${skipped} unchanged lines` });
    skipped = 0;
  };
  for (const [index, line] of lines.entries()) {
    if (isNear[index] === true) {
      close();
      shown.push(line);
    } else {
      skipped += 1;
    }
  }
  close();
  return shown;
}
