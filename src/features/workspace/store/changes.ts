// Many changes at once, as a script leaves them: one transaction, in which each change is made or named as refused. A
// file that another writer changed since the caller saw it is not overwritten.
import { FileError, notDirectoryError } from "../errors.ts";
import { isTextContent } from "../../../util/media-type.ts";
import { parentOf } from "../paths.ts";
import { checkExpected, type StagedContent } from "./contents.ts";
import { type EntryRow, findEntry, hasChildren, locate } from "./entries.ts";
import { writeFile } from "./files.ts";
import type { Operation } from "./operation.ts";
import type { SqlSteps } from "./sql.ts";
import { makeDirectory, makeLink, remove } from "./tree.ts";

/** `expected`: the entry's `etag` when the caller saw it, `link:<target>` of a link, null when nothing was there. */
export type FileChange =
  | { readonly kind: "directory"; readonly path: string; readonly expected?: string | null }
  | { readonly kind: "file"; readonly path: string; readonly bytes: Uint8Array; readonly expected?: string | null }
  | { readonly kind: "link"; readonly path: string; readonly target: string; readonly expected?: string | null }
  | { readonly kind: "delete"; readonly path: string; readonly expected?: string }
  | { readonly kind: "delete-directory"; readonly path: string };

export interface RefusedChange {
  readonly path: string;
  readonly reason: string;
}

/** Makes the changes. `contents` are their bytes, staged, by path. Returns what was refused. */
export function* applyChanges(
  operation: Operation,
  changes: readonly FileChange[],
  contents: ReadonlyMap<string, StagedContent>
): SqlSteps<RefusedChange[]> {
  yield* operation.tables.make();
  const refused: RefusedChange[] = [];
  for (const change of changes) {
    try {
      yield* applyChange(operation, change, contents.get(change.path));
    } catch (error) {
      // Refusals are checked before anything is written. Any other failure undoes everything.
      if (!(error instanceof FileError)) throw error;
      refused.push({ path: change.path, reason: error.message });
    }
  }
  return refused;
}

function* applyChange(operation: Operation, change: FileChange, content: StagedContent | undefined): SqlSteps<void> {
  switch (change.kind) {
    case "directory": {
      const row = yield* findEntry(operation, change.path);
      if (row?.type === "directory") return;
      checkExpected(row, change.expected);
      if (row) yield* remove(operation, change.path, {});
      return yield* makeDirectory(operation, change.path, true);
    }
    case "file": {
      const row = yield* findUnchanged(operation, change);
      if (row?.type === "symlink" || row?.type === "directory") yield* remove(operation, change.path, {});
      const write = { path: change.path, mimeType: undefined, isText: isTextContent(undefined, change.bytes) };
      if (content) yield* writeFile(operation, { ...write, content });
      return;
    }
    case "link": {
      const row = yield* findUnchanged(operation, change);
      if (row) yield* remove(operation, change.path, {});
      return yield* makeLink(operation, { path: change.path, target: change.target });
    }
    case "delete": {
      const row = yield* findEntry(operation, change.path);
      if (!row) return;
      checkExpected(row, change.expected);
      yield* remove(operation, change.path, {});
      return;
    }
    case "delete-directory": {
      const row = yield* findEntry(operation, change.path);
      if (row?.type !== "directory") return;
      if (yield* hasChildren(operation, change.path))
        throw new FileError("ENOTEMPTY", `${change.path} holds files of another writer`);
      yield* remove(operation, change.path, {});
    }
  }
}

/** Finds the entry at exactly this path. Throws where another writer changed it or made a file out of a directory above it. */
function* findUnchanged(
  operation: Operation,
  change: { readonly path: string; readonly expected?: string | null }
): SqlSteps<EntryRow | undefined> {
  const place = yield* locate(operation, change.path, false);
  if (place.isBelowFile || place.path !== change.path) throw notDirectoryError(parentOf(change.path));
  checkExpected(place.row, change.expected);
  return place.row;
}
