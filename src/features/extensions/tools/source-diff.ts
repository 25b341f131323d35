// What changed between two versions of a source, line by line, for a human who decides over the new one. Pure.
import { lineChanges } from "../../../util/diff.ts";

export interface DiffLine {
  /** `skipped`: a number of lines that are the same. */
  readonly kind: "same" | "added" | "removed" | "skipped";
  readonly text: string;
}

/** Lines around a change that are shown with it. */
const CONTEXT_LINES = 3;
const MAX_LINES = 400;

/** At most 400 lines; the last says how many more there are. */
export function sourceDiff(before: string, after: string): DiffLine[] {
  const [old, next] = [before.split("\n"), after.split("\n")];
  const lines: DiffLine[] = [];
  const add = (kind: DiffLine["kind"], texts: readonly string[]) =>
    void lines.push(...texts.map((text): DiffLine => ({ kind, text })));
  let at = 0;
  for (const change of lineChanges(old, next)) {
    add("same", next.slice(at, change.after[0]));
    add("removed", old.slice(...change.before));
    add("added", next.slice(...change.after));
    at = change.after[1];
  }
  add("same", next.slice(at));
  const shown = aroundChanges(lines);
  if (shown.length <= MAX_LINES) return shown;
  const more = `${shown.length - MAX_LINES + 1} more lines`;
  return [...shown.slice(0, MAX_LINES - 1), { kind: "skipped", text: more }];
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
