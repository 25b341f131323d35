// What the page's panel "Files" is told of the conversation's files. Contents go over HTTP, not through here.
import type { Workspace } from "everthink";
import type { FileListing, LastChange } from "../shared/demo.ts";

/** More would be no list that a person reads. */
const LISTED_ENTRIES = 500;
/** A larger version is not compared. */
const COMPARED_BYTES = 200_000;

export async function fileListing(workspace: Workspace): Promise<FileListing> {
  const found = await workspace.glob("**/*");
  const entries = found.slice(0, LISTED_ENTRIES).map(({ path, type, size, mimeType, updatedAt }) => {
    return { path, type, size, mimeType, updatedAt };
  });
  return { entries, left: found.length - entries.length };
}

/** Null for a file that was written only once. */
export async function lastChangeOf(workspace: Workspace, path: string): Promise<LastChange | null> {
  const [before] = await workspace.history(path);
  if (before === undefined) return null;
  const at = before.replacedAt;
  const size = (await workspace.stat(path))?.size ?? 0;
  if (Math.max(size, before.size) > COMPARED_BYTES) return { at, diff: "" };
  const diff = await workspace.diffVersion(path, before.version);
  // Of bytes there is nothing to read.
  return { at, diff: diff.includes("\0") ? "" : diff };
}
