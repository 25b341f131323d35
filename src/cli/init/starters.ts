// The starters that ship with the package: files that all of them share, those that some share, and what each adds or replaces.
// The README of a starter continues the shared one, and its package.json names what it needs besides.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";

const SHARED = "shared";
/** The file that makes a folder a starter; it is not copied. */
const DESCRIPTION = "starter.json";
export const DEFAULT_STARTER = "basic";

export interface Starter {
  readonly name: string;
  readonly title: string;
}

export function listStarters(folder: string): Starter[] {
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, DESCRIPTION)))
    .map((name) => ({ name, title: titleOf(join(folder, name, DESCRIPTION)) }))
    .sort((one, other) => Number(other.name === DEFAULT_STARTER) - Number(one.name === DEFAULT_STARTER));
}

/** Contents by path in the new project. */
export function starterFiles(folder: string, name: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const source of [SHARED, ...partsOf(join(folder, name, DESCRIPTION)), name].map((one) => join(folder, one))) {
    for (const path of filesBelow(source)) {
      const target = relative(source, path).split(sep).join("/");
      if (target === DESCRIPTION) continue;
      const text = readFileSync(path, "utf8");
      // npm leaves files of that name out of a package.
      files.set(target.replace(/^_gitignore$/, ".gitignore"), joined(target, files.get(target), text));
    }
  }
  return files;
}

/** A file of a starter with the shared one of its name. */
function joined(path: string, shared: string | undefined, own: string): string {
  if (shared !== undefined && path === "README.md") return `${shared}\n${own}`;
  if (shared === undefined || path !== "package.json") return own;
  const [base, more] = [shared, own].map((text) => JSON.parse(text) as { dependencies?: object });
  const dependencies = Object.entries({ ...base?.dependencies, ...more?.dependencies }).sort();
  return `${JSON.stringify({ ...base, dependencies: Object.fromEntries(dependencies) }, null, 2)}\n`;
}

/** Folders whose files some of the starters share. */
function partsOf(file: string): readonly string[] {
  const { with: parts = [] } = JSON.parse(readFileSync(file, "utf8")) as { with?: readonly string[] };
  return parts;
}

function titleOf(file: string): string {
  const { title } = JSON.parse(readFileSync(file, "utf8")) as { title: string };
  return title;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => join(folder, path))
    .filter((path) => statSync(path).isFile());
}
