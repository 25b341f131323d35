// Changes of several files as one step: planned, shown as a difference, and applied whole or not at all. A plan says what
// each file was when it was made: one that has changed since is not overwritten.
import { sha256 } from "../../host/blobs.ts";
import { unifiedDiff, type DiffLabels } from "../../util/diff.ts";
import type { WorkspaceFsLike } from "../workspace/workspace-like.ts";

/** Edits of one plan. */
const MAX_EDITS = 200;
/** Characters of a file that a difference is made of. */
const MAX_DIFFED_CHARS = 500_000;

/** A whole text, a value as JSON, or a text in place of another. */
export type FileEdit =
  | { readonly path: string; readonly content: string }
  | { readonly path: string; readonly value: unknown }
  | { readonly path: string; readonly search: string; readonly replacement: string };

export interface PlannedEdit {
  readonly path: string;
  readonly changed: boolean;
  readonly content: string;
  readonly diff: string;
  /** Of the text that it was planned from; null: there was no file. */
  readonly base: string | null;
}

export interface EditPlan {
  readonly edits: readonly PlannedEdit[];
  readonly totalChanged: number;
}

export interface AppliedEdits {
  readonly edits: readonly Pick<PlannedEdit, "path" | "changed" | "diff">[];
  readonly totalChanged: number;
  readonly dryRun: boolean;
}

/** One entry per file; several edits of a file are made in their order. */
export async function planEdits(files: WorkspaceFsLike, edits: readonly FileEdit[]): Promise<EditPlan> {
  if (edits.length > MAX_EDITS) throw new TypeError(`At most ${MAX_EDITS} edits are planned at once.`);
  const planned = new Map<string, { before: string | null; after: string }>();
  for (const edit of edits) {
    const known = planned.get(edit.path);
    const before = known ? known.before : await files.readFile(edit.path);
    planned.set(edit.path, { before, after: edited(edit, known?.after ?? before) });
  }
  const entries = [...planned].map(([path, { before, after }]) => ({
    path,
    changed: before !== after,
    content: after,
    diff: textDiff(before ?? "", after, { before: path, after: path }),
    base: before === null ? null : sha256(before)
  }));
  return { edits: entries, totalChanged: entries.filter(({ changed }) => changed).length };
}

function edited(edit: FileEdit, current: string | null): string {
  if ("content" in edit) return edit.content;
  if ("value" in edit) return `${JSON.stringify(edit.value, null, 2)}\n`;
  const { path, search, replacement } = edit;
  if (current === null) throw new TypeError(`${path} does not exist.`);
  if (search === "" || !current.includes(search)) throw new TypeError(`${path} does not contain the text to replace.`);
  return current.replaceAll(search, () => replacement);
}

/** Nothing is written if a file is not what it was; what was written is taken back if a write fails. */
export async function applyEditPlan(
  files: WorkspaceFsLike,
  plan: EditPlan,
  { dryRun = false }: { dryRun?: boolean } = {}
): Promise<AppliedEdits> {
  const before = new Map<string, string | null>();
  for (const { path, base, content } of plan.edits) {
    const current = await files.readFile(path);
    // A plan that was applied and not recorded, because the process died, is applied again.
    const isDone = current === content;
    if (!isDone && (current === null ? null : sha256(current)) !== base)
      throw new TypeError(`${path} has changed since the plan was made: plan again.`);
    if (!isDone) before.set(path, current);
  }
  const edits = plan.edits.map(({ path, changed, diff }) => ({ path, changed, diff }));
  if (!dryRun) await writeAll(files, plan, before);
  return { edits, totalChanged: plan.totalChanged, dryRun };
}

async function writeAll(
  files: WorkspaceFsLike,
  { edits }: EditPlan,
  before: ReadonlyMap<string, string | null>
): Promise<void> {
  const written: string[] = [];
  try {
    for (const { path, content } of edits) {
      if (!before.has(path)) continue;
      written.push(path);
      await files.writeFile(path, content);
    }
  } catch (error) {
    for (const path of written.toReversed()) {
      const text = before.get(path) ?? null;
      await (text === null ? files.rm(path, { force: true }) : files.writeFile(path, text));
    }
    throw error;
  }
}

/** As unified diff; of what is too long to compare, that it differs. */
export function textDiff(before: string, after: string, labels: DiffLabels): string {
  if (before !== after && before.length + after.length > MAX_DIFFED_CHARS)
    return `${labels.before} and ${labels.after} differ and are too long to compare.\n`;
  return unifiedDiff(before, after, labels);
}
