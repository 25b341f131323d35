// Shows, and on request makes, what moving a project to everthink changes in its files, and tries the take-over on copies
// of local data.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ThinkError } from "../../util/errors.ts";
import { planProject, type ProjectFileChange, type ProjectPlan } from "./migrate-project.ts";
import { tryObjects, type ObjectResult } from "./object-data.ts";

/** Where wrangler dev, vite dev and everthink serve keep objects. */
const DATA_FOLDERS = [".wrangler/state/v3/do", ".data"];

export class MigrateParserError extends ThinkError {
  constructor() {
    super({
      code: "migrate-parser",
      message: "No parser for TypeScript was found.",
      hint: "It comes with Vite 8. In a project without it: npm install --no-save rolldown, then run everthink migrate again."
    });
  }
}

export interface MigrateOptions {
  /** Of the project. Absolute, as those of `data`. */
  readonly folder: string;
  readonly isWritten: boolean;
  /** Folders with local data; undefined: where the local servers keep it. */
  readonly data: readonly string[] | undefined;
  /** A line on standard output. */
  print(text: string): void;
  /** A line on standard error: what goes on. */
  note(text: string): void;
}

/** False: something has no counterpart, or an object would be refused. */
export async function migrate({ folder, isWritten, data, print, note }: MigrateOptions): Promise<boolean> {
  const plan = planProject({ folder, parseModule: await loadParser(folder), ...ownManifest() });
  showPlan(plan, print);
  if (isWritten) writePlan(folder, plan, print);
  const places = data ?? DATA_FOLDERS.map((path) => join(folder, path)).filter(existsSync);
  const results = places.flatMap((path) => {
    note(`Trying the take-over on copies of what is in ${path} …`);
    return tryObjects(path);
  });
  showObjects(results, print);
  const isWhole = results.every(({ refused, error }) => refused === undefined && error === undefined);
  return plan.notes.length === 0 && isWhole;
}

/** The project's own, which knows the syntax that the project is written in; else the one beside this package. */
async function loadParser(folder: string): Promise<(code: string, language: string) => unknown> {
  const places = [join(folder, "package.json"), import.meta.filename];
  for (const place of places) {
    const path = resolvedFrom(place, "rolldown/parseAst") ?? throughVite(place);
    if (path === undefined) continue;
    const { parseAst } = (await import(pathToFileURL(path).href)) as {
      parseAst: (code: string, options: { lang: string }) => unknown;
    };
    return (code, language) => parseAst(code, { lang: language });
  }
  throw new MigrateParserError();
}

function throughVite(place: string): string | undefined {
  const vite = resolvedFrom(place, "vite");
  return vite === undefined ? undefined : resolvedFrom(vite, "rolldown/parseAst");
}

function resolvedFrom(place: string, specifier: string): string | undefined {
  try {
    return createRequire(place).resolve(specifier);
  } catch {
    // It is not installed there.
    return undefined;
  }
}

/** The manifest of this package, above this file, built or not. */
function ownManifest(): { exported: ReadonlySet<string>; version: string } {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  const text = readFileSync(join(folder, "package.json"), "utf8");
  const { exports, version } = JSON.parse(text) as { exports: object; version: string };
  return { exported: new Set(Object.keys(exports)), version };
}

function showPlan({ changes, notes }: ProjectPlan, print: (text: string) => void): void {
  for (const change of changes) print(differenceOf(change));
  if (changes.length === 0) print("No file needs a change.");
  for (const { file, line, text } of notes) print(`${file}:${line}: ${text}`);
}

function writePlan(folder: string, { changes }: ProjectPlan, print: (text: string) => void): void {
  for (const { file, after } of changes) writeFileSync(join(folder, file), after);
  print(
    `${changes.length === 1 ? "1 file was" : `${changes.length} files were`} changed. Next: npm install, and your own checks.`
  );
}

/** Changes are within lines, or add and remove some in one place. */
function differenceOf({ file, before, after }: ProjectFileChange): string {
  const old = before.split("\n");
  const now = after.split("\n");
  const lines = [`--- ${file}`, `+++ ${file}`];
  let at = 0;
  for (const line of now) {
    if (old[at] === line) at += 1;
    else {
      const next = old.indexOf(line, at);
      if (next >= 0) {
        lines.push(...old.slice(at, next).map((gone) => `-${gone}`));
        at = next + 1;
      } else {
        if (old.length === now.length) lines.push(`-${old[at++]}`);
        lines.push(`+${line}`);
      }
    }
  }
  lines.push(...old.slice(at).map((gone) => `-${gone}`));
  return lines.join("\n");
}

function showObjects(results: readonly ObjectResult[], print: (text: string) => void): void {
  for (const { object, report, refused, error } of results) {
    if (error !== undefined) print(`${object}: cannot be read: ${error}`);
    else if (refused !== undefined) {
      print(`${object}: would be refused`);
      for (const { kind, what, rows } of refused)
        print(`  ${kind.padEnd(22)} ${String(rows).padStart(6)} rows: ${what}`);
    } else if (report !== undefined) {
      print(`${object}`);
      for (const { kind, found, carried, left } of report.kinds) {
        print(`  ${kind.padEnd(22)} ${String(found).padStart(6)} found, ${carried} carried, ${left} left`);
      }
    }
  }
  const taken = results.filter(({ report }) => report).length;
  const refused = results.filter(({ refused: rows, error }) => rows ?? error).length;
  if (results.length > 0) print(`${taken} objects would be taken over, ${refused} refused.`);
}
