// Where `everthink init` may write: below one folder, never through a link that leads out of it, and never over a file that
// is there. All places are looked at before the first file is written.
import { lstatSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { CommandError } from "../cli-context.ts";

/** Throws unless every path, with all links followed, is below the folder. `folder` is absolute and need not exist. */
export function requireBelow(folder: string, paths: Iterable<string>): void {
  const real = realPlace(folder);
  for (const path of paths) {
    const place = realPlace(join(folder, path));
    if (real === undefined || place === undefined || !isBelow(real, place)) {
      throw new CommandError(
        `${path} is reached through a link that leads out of ${folder}. Nothing was changed.`,
        "Remove the link, or use --root for the place it leads to."
      );
    }
  }
}

/** Whether the path is the folder or in it, by their names alone. */
export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** A file that appeared in the meantime stays, and ends it. */
export function writeNew(folder: string, files: ReadonlyMap<string, string>): void {
  requireBelow(folder, files.keys());
  for (const [path, text] of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    try {
      writeFileSync(file, text, { flag: "wx" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new CommandError(
        `${path} appeared meanwhile, and was not changed.`,
        "Look at what is there, then run it again."
      );
    }
  }
}

/** The path with the links of its existing part followed; undefined when one of them leads nowhere. */
function realPlace(path: string): string | undefined {
  for (let at = path; ; at = dirname(at)) {
    if (lstatSync(at, { throwIfNoEntry: false }) === undefined) continue;
    try {
      return join(realpathSync(at), relative(at, path));
    } catch {
      // A link without its target, or one in a circle: where a file would end up is not known.
      return undefined;
    }
  }
}
