// How an entry is copied with everything below it. Chunked content is shared, not copied; links are copied as links.
import { FileError, directoryError, missingError, notDirectoryError } from "../errors.ts";
import { checkLength, isWithin, parentOf } from "../paths.ts";
import { readInline, stageBytes, type StagedContent } from "./contents.ts";
import { type EntryRow, findEntry, locate, makeParents, type EntryPlace } from "./entries.ts";
import { writeFile } from "./files.ts";
import type { Operation } from "./operation.ts";
import type { SqlSteps } from "./sql.ts";
import { listEntries, makeDirectory, makeLink, remove } from "./tree.ts";

export interface Copy {
  readonly from: string;
  readonly to: string;
  readonly recursive: boolean;
}

/** Lists what a copy would copy. Throws everything that forbids it. */
export function* planCopy(
  operation: Operation,
  { from, to, recursive }: Copy
): SqlSteps<{ readonly rows: EntryRow[]; readonly target: EntryPlace }> {
  const source = yield* locate(operation, from, false);
  const { row } = source;
  if (!row && !source.isRoot) throw missingError(from);
  const isTree = source.isRoot || row?.type === "directory";
  if (isTree && !recursive) throw directoryError(from);
  const target = yield* locate(operation, to, false);
  if (target.isBelowFile) throw notDirectoryError(parentOf(to));
  if (isTree && isWithin(source.path, target.path)) throw new FileError("EINVAL", `cannot copy ${from} into itself`);
  if (!isTree && (target.isRoot || target.row?.type === "directory")) throw directoryError(to);
  if (isTree && target.row && target.row.type !== "directory") throw notDirectoryError(to);
  const rows = yield* listEntries(operation, source.path);
  for (const { path } of rows) checkLength(target.path + path.slice(source.path.length));
  return { rows, target };
}

/** Copies. `objects` are copies that were made in R2, by the key of what they copy. */
export function* copy(
  operation: Operation,
  request: Copy,
  objects: ReadonlyMap<string, StagedContent>
): SqlSteps<void> {
  const { rows, target } = yield* planCopy(operation, request);
  const [first] = rows;
  if (!first || first.path === target.path) return;
  yield* makeParents(operation, target);
  for (const row of rows) {
    const path = target.path + row.path.slice(first.path.length);
    yield* copyRow(operation, row, { path, objects });
  }
}

function* copyRow(
  operation: Operation,
  row: EntryRow,
  { path, objects }: { readonly path: string; readonly objects: ReadonlyMap<string, StagedContent> }
): SqlSteps<void> {
  switch (row.type) {
    case "directory":
      return yield* makeDirectory(operation, path, true);
    case "symlink":
      if (yield* findEntry(operation, path)) yield* remove(operation, path, {});
      return yield* makeLink(operation, { path, target: row.target ?? "" });
    case "file": {
      const content = yield* findContent(operation, row, objects);
      yield* writeFile(operation, { path, content, mimeType: row.mime_type ?? undefined, isText: false });
    }
  }
}

function* findContent(
  operation: Operation,
  row: EntryRow,
  objects: ReadonlyMap<string, StagedContent>
): SqlSteps<StagedContent> {
  if (row.storage_backend === "chunks" && row.content_id !== null)
    return { kind: "chunks", contentId: row.content_id, size: row.size };
  if (row.storage_backend === "r2") {
    const staged = objects.get(row.r2_key ?? "");
    // The file was written anew while its object was being copied.
    if (!staged) throw new FileError("ESTALE", `${row.path} was changed by another writer in the meantime`);
    return staged;
  }
  return stageBytes(yield* readInline(operation, row));
}
