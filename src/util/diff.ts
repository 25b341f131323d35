// Unified diffs of texts, for people and for `diff`. Time is bounded: past a number of edits the rest of the difference
// is shown as one replaced block, which is still true, only less fine.

/** Lines of either side; more is refused by the callers that must not work long. */
export const MAX_DIFF_LINES = 10_000;
const CONTEXT_LINES = 3;
/** Edits for which the shortest script is searched: the search takes the square of it. */
const MAX_EDITS = 1_000;
const NO_NEWLINE = "\\ No newline at end of file";

export interface DiffLabels {
  readonly before: string;
  readonly after: string;
}

/** Lines `from`…`to` (exclusive) of each side that differ. */
export interface LineChange {
  readonly before: readonly [from: number, to: number];
  readonly after: readonly [from: number, to: number];
}

/** Empty for equal texts. */
export function unifiedDiff(before: string, after: string, labels: DiffLabels): string {
  if (before === after) return "";
  const sides = { before: linesOf(before), after: linesOf(after) };
  const hunks = groupChanges(lineChanges(sides.before, sides.after));
  const body = hunks.flatMap((changes) => hunkLines(changes, sides));
  return [`--- ${labels.before}`, `+++ ${labels.after}`, ...body, ""].join("\n");
}

/** Lines with their ends: a last line without one differs from the same line with one. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n").map((line) => `${line}\n`);
  const last = lines.pop();
  if (last !== undefined && last !== "\n") lines.push(last.slice(0, -1));
  return lines;
}

/** From the first line to the last. */
export function lineChanges(before: readonly string[], after: readonly string[]): LineChange[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let beforeEnd = before.length;
  let afterEnd = after.length;
  while (beforeEnd > start && afterEnd > start && before[beforeEnd - 1] === after[afterEnd - 1]) {
    beforeEnd -= 1;
    afterEnd -= 1;
  }
  const matches = commonLines(before.slice(start, beforeEnd), after.slice(start, afterEnd));
  const changes: LineChange[] = [];
  let [b, a] = [start, start];
  for (const [x, y] of [...matches, [beforeEnd - start, afterEnd - start] as const]) {
    if (start + x > b || start + y > a) changes.push({ before: [b, start + x], after: [a, start + y] });
    [b, a] = [start + x + 1, start + y + 1];
  }
  return changes;
}

/** Pairs of equal lines of a shortest edit script (Myers), or none when it would take too many edits. */
function commonLines(before: readonly string[], after: readonly string[]): [number, number][] {
  const limit = Math.min(before.length + after.length, MAX_EDITS);
  const middle = limit + 1;
  /** How far down `before` each diagonal reaches; diagonal k is at `middle + k`. */
  const reach = new Int32Array(2 * limit + 3);
  /** `reach` before each round, of the diagonals that round looks at. */
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= limit; edits += 1) {
    trace.push(reach.slice(middle - edits - 1, middle + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const isDown = k === -edits || (k !== edits && at(reach, middle + k - 1) < at(reach, middle + k + 1));
      let x = isDown ? at(reach, middle + k + 1) : at(reach, middle + k - 1) + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      reach[middle + k] = x;
      if (x >= before.length && x - k >= after.length) return backtrack(trace, before.length, after.length);
    }
  }
  return [];
}

function backtrack(trace: readonly Int32Array[], beforeEnd: number, afterEnd: number): [number, number][] {
  const pairs: [number, number][] = [];
  let [x, y] = [beforeEnd, afterEnd];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reach = trace[edits] ?? new Int32Array(3);
    const k = x - y;
    const center = edits + 1 + k;
    const isDown = k === -edits || (k !== edits && at(reach, center - 1) < at(reach, center + 1));
    const previousK = isDown ? k + 1 : k - 1;
    const previousX = edits === 0 ? 0 : at(reach, edits + 1 + previousK);
    const previousY = edits === 0 ? 0 : previousX - previousK;
    while (x > previousX && y > previousY) {
      x -= 1;
      y -= 1;
      pairs.push([x, y]);
    }
    [x, y] = [previousX, previousY];
  }
  return pairs.reverse();
}

function at(values: Int32Array, index: number): number {
  return values[index] ?? 0;
}

/** Changes whose context would touch are one hunk. */
function groupChanges(changes: readonly LineChange[]): LineChange[][] {
  const groups: LineChange[][] = [];
  for (const change of changes) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group && last && change.before[0] - last.before[1] <= CONTEXT_LINES * 2) group.push(change);
    else groups.push([change]);
  }
  return groups;
}

function hunkLines(
  changes: readonly LineChange[],
  { before, after }: { readonly before: readonly string[]; readonly after: readonly string[] }
): string[] {
  const [first, last] = [changes[0], changes.at(-1)];
  if (!first || !last) return [];
  const lead = Math.min(CONTEXT_LINES, first.before[0]);
  const trail = Math.min(CONTEXT_LINES, before.length - last.before[1]);
  const beforeRange = [first.before[0] - lead, last.before[1] + trail] as const;
  const afterRange = [first.after[0] - lead, last.after[1] + trail] as const;
  const lines = [`@@ -${rangeText(beforeRange)} +${rangeText(afterRange)} @@`];
  let at = beforeRange[0];
  for (const change of changes) {
    lines.push(...marked(" ", before.slice(at, change.before[0])));
    lines.push(...marked("-", before.slice(...change.before)), ...marked("+", after.slice(...change.after)));
    at = change.before[1];
  }
  return [...lines, ...marked(" ", before.slice(at, beforeRange[1]))];
}

function rangeText([from, to]: readonly [number, number]): string {
  const count = to - from;
  // An empty range names the line before it.
  return count === 1 ? `${from + 1}` : `${count === 0 ? from : from + 1},${count}`;
}

function marked(mark: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) => (line.endsWith("\n") ? [mark + line.slice(0, -1)] : [mark + line, NO_NEWLINE]));
}

export function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
