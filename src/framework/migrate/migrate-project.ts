// What `everthink migrate` would change in a project: import specifiers, the dependencies in package.json, and the name of a
// virtual entry in Wrangler's configuration. Class names, bindings and migrations are what data is found by: they stay.
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { applyEdits, modify, parse } from "jsonc-parser";
import { isObject } from "../../util/json.ts";
import { rewriteModule } from "./rewrite-module.ts";
import { verdictOn } from "./specifiers.ts";

/** Not the project's own. */
const SKIPPED_FOLDERS = new Set(["node_modules", "dist", "build", "coverage", ".git", ".wrangler", ".data", ".vite"]);
const MODULES: Readonly<Record<string, string>> = {
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".tsx": "tsx",
  ".js": "jsx",
  ".mjs": "jsx",
  ".cjs": "jsx",
  ".jsx": "jsx"
};
const THINK = "@cloudflare/think";

export interface ProjectInit {
  readonly folder: string;
  /** A syntax tree with offsets, as ESTree has it. */
  readonly parseModule: (code: string, language: string) => unknown;
  /** Subpaths of this package. */
  readonly exported: ReadonlySet<string>;
  /** Of this package. */
  readonly version: string;
}

export interface ProjectFileChange {
  /** Relative to the project. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** Something that the developer has to look at. */
export interface ProjectNote {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

export interface ProjectPlan {
  readonly changes: readonly ProjectFileChange[];
  readonly notes: readonly ProjectNote[];
}

export function planProject(init: ProjectInit): ProjectPlan {
  const changes: ProjectFileChange[] = [];
  const notes: ProjectNote[] = [];
  const imports = new Set<string>();
  for (const path of filesBelow(init.folder)) {
    const file = relative(init.folder, path);
    const before = readFileSync(path, "utf8");
    const language = MODULES[extname(path)];
    if (language !== undefined) {
      const moved = moveModule(init, { file, before, language });
      for (const specifier of moved.imports) imports.add(specifier);
      notes.push(...moved.notes);
      if (moved.after !== before) changes.push({ file, before, after: moved.after });
    } else if (/(?:^|[\\/])wrangler\.jsonc?$/.test(file)) {
      const after = moveWrangler(before);
      if (after !== before) changes.push({ file, before, after });
    }
  }
  const manifest = moveManifest(init, imports);
  if (manifest) changes.push(manifest);
  return { changes, notes };
}

function* filesBelow(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((one, other) =>
    one.name < other.name ? -1 : 1
  );
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name)) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}

function moveModule(
  { parseModule, exported }: ProjectInit,
  { file, before, language }: { readonly file: string; readonly before: string; readonly language: string }
) {
  // Most files name none of them, and need not be parsed.
  if (!/agents|@cloudflare\/|virtual:think\//.test(before)) return { after: before, notes: [], imports: [] };
  try {
    const moved = rewriteModule(before, parseModule(before, language), (specifier) => verdictOn(specifier, exported));
    const notes = moved.missing.map(({ specifier, line }) => ({
      file,
      line,
      text: `"${specifier}" has no counterpart in everthink`
    }));
    return { after: moved.code, notes, imports: moved.imports };
  } catch {
    // The developer is told; another file's changes do not depend on this one.
    return {
      after: before,
      notes: [{ file, line: 1, text: "this file cannot be parsed and was left alone" }],
      imports: []
    };
  }
}

/** Only the virtual entry: everything else names data. */
function moveWrangler(before: string): string {
  const config: unknown = parse(before);
  const main = isObject(config) ? config["main"] : undefined;
  const entry = typeof main === "string" ? /^virtual:think\/(.+)$/.exec(main)?.[1] : undefined;
  if (entry === undefined) return before;
  return applyEdits(before, modify(before, ["main"], `virtual:everthink/${entry}`, {}));
}

/** The packages leave when nothing imports them any more. */
function moveManifest({ folder, version }: ProjectInit, imports: ReadonlySet<string>): ProjectFileChange | undefined {
  const file = "package.json";
  let before: string;
  try {
    before = readFileSync(join(folder, file), "utf8");
  } catch {
    // A folder without one has no dependencies to change.
    return undefined;
  }
  const manifest: unknown = parse(before);
  if (!isObject(manifest)) return undefined;
  const uses = (name: string) => [...imports].some((one) => one === name || one.startsWith(`${name}/`));
  const formattingOptions = { insertSpaces: !/^\t/m.test(before), tabSize: /^ {4}"/m.test(before) ? 4 : 2 };
  let after = before;
  for (const field of ["dependencies", "devDependencies"]) {
    const listed = manifest[field];
    if (!isObject(listed)) continue;
    const replaced = [THINK, "agents"].filter((name) => name in listed);
    if (replaced.length === 0) continue;
    for (const name of replaced.filter((one) => !uses(one))) {
      after = applyEdits(after, modify(after, [field, name], undefined, { formattingOptions }));
    }
    after = applyEdits(after, modify(after, [field, "everthink"], `^${version}`, { formattingOptions }));
  }
  return after === before ? undefined : { file, before, after };
}
