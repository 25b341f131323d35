// Folders of skills on disk, for tests.
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Inside of it packages are found as in a project. */
export const repository = fileURLToPath(new URL("../../..", import.meta.url));

export type Tree = Readonly<Record<string, string | Uint8Array>>;

/** A new folder with these files. */
export function folderOf(files: Tree, prefix = join(tmpdir(), "everthink-skills-")): string {
  const folder = realpathSync(mkdtempSync(prefix));
  for (const [path, content] of Object.entries(files)) write(join(folder, path), content);
  return folder;
}

export function write(file: string, content: string | Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
