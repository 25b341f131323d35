// Shows, and on request makes, what moving a project to everthink changes in its files, and tries the take-over on copies
// of local data.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { countText } from "../../util/counts.ts";
import { unifiedDiff } from "../../util/diff.ts";
import { errorTable, ThinkError } from "../../util/errors.ts";
import { classMembers, exportedNames } from "./own-declarations.ts";
import { planProject, type ProjectInit, type ProjectPlan } from "./migrate-project.ts";
import { tryObjects, type ObjectResult } from "./object-data.ts";

/** Where wrangler dev, vite dev and everthink serve keep objects. */
const DATA_FOLDERS = [".wrangler/state/v3/do", ".data"];

const migrateErrors = errorTable(ThinkError, {
  MigrateParserError: () => ({
    code: "migrate-parser",
    message: "No parser for TypeScript was found.",
    hint: "It comes with Vite 8. In a project without it: npm install --no-save rolldown, then run everthink migrate again."
  })
});

export interface MigrateOptions {
  /** Of the project. Absolute, as those of `data`. */
  readonly folder: string;
  readonly isWritten: boolean;
  /** Folders with local data; undefined: where the local servers keep it. */
  readonly data: readonly string[] | undefined;
  /** A line on standard error: what goes on. */
  note(text: string): void;
}

export interface MigrateResult extends ProjectPlan {
  /** False: only data was looked at. */
  readonly isProject: boolean;
  readonly isWritten: boolean;
  /** Where data was looked for. */
  readonly places: readonly string[];
  readonly objects: readonly ObjectResult[];
}

export async function migrate({ folder, isWritten, data, note }: MigrateOptions): Promise<MigrateResult> {
  const isProject = existsSync(join(folder, "package.json"));
  const plan = isProject ? planProject(await projectInit(folder)) : NO_PROJECT;
  if (isWritten) for (const { file, after } of plan.changes) writeFileSync(join(folder, file), after);
  const places = data ?? DATA_FOLDERS.map((path) => join(folder, path)).filter(existsSync);
  const objects = places.flatMap((path) => {
    note(`Trying the take-over on copies of what is in ${path} …`);
    return tryObjects(path);
  });
  return { ...plan, isProject, isWritten, places, objects };
}

const NO_PROJECT: ProjectPlan = { changes: [], notes: [] };

/** False: something has no counterpart, or an object would be refused or cannot be read. */
export function isWholeMigration({ notes, objects }: MigrateResult): boolean {
  return notes.every(({ isAdvice = false }) => isAdvice) && objects.every((object) => !isRefused(object));
}

function isRefused({ refused, error }: ObjectResult): boolean {
  return refused !== undefined || error !== undefined;
}

export function formatMigration(result: MigrateResult): string {
  return [...planLines(result), ...dataLines(result)].join("\n");
}

/** What a script is given: the same, with differences in place of whole files. */
export function migrationValue(result: MigrateResult): object {
  const { isWritten, changes, notes, objects } = result;
  const differences = changes.map((change) => ({ file: change.file, difference: unifiedDifference(change) }));
  return { isWhole: isWholeMigration(result), isWritten, changes: differences, notes, objects };
}

/** As `diff -u` prints it, without a line end at its end. */
export function unifiedDifference({ file, before, after }: MigrateResult["changes"][number]): string {
  return unifiedDiff(before, after, { before: `a/${file}`, after: `b/${file}` }).slice(0, -1);
}

function planLines({ changes, notes, isProject, isWritten }: MigrateResult): string[] {
  return [
    ...changes.map(unifiedDifference),
    ...notes.map(({ file, line, text }) => `${file}:${line}: ${text}`),
    ...(isProject && changes.length === 0 ? ["No file needs a change."] : []),
    ...(changes.length > 0 && isWritten
      ? [`${countText(changes.length, "file")} changed. Next: npm install, and your own checks.`]
      : []),
    ...(changes.length > 0 && !isWritten
      ? [`${countText(changes.length, "file")} would change. Make the changes: everthink migrate --write`]
      : [])
  ];
}

function dataLines({ places, objects }: MigrateResult): string[] {
  if (places.length === 0) return [`No local data was found (${DATA_FOLDERS.join(", ")}).`];
  const taken = objects.filter(({ report }) => report).length;
  const refused = objects.filter(isRefused).length;
  const others = objects.length - taken - refused;
  return [
    ...objects.flatMap(objectLines),
    `${countText(taken, "object")} would be taken over, ${refused} refused.` +
      (others === 0 ? "" : ` ${countText(others, "object")} with nothing to take over.`),
    ...wayOut(objects)
  ];
}

/** What a developer can do about objects that are refused. */
function wayOut(objects: readonly ObjectResult[]): string[] {
  const kinds = [...new Set(objects.flatMap(({ refused = [] }) => refused.map(({ kind }) => kind)))];
  if (kinds.length === 0) return [];
  const option = `static options = { allowLossyTakeover: ${JSON.stringify(kinds)} }`;
  return [`Finish or delete what is refused with the original, or give it up in the class: ${option}`];
}

function objectLines({ object, report, refused, error }: ObjectResult): string[] {
  if (error !== undefined) return [`${object}: cannot be read: ${error}`];
  if (refused !== undefined) {
    const lines = refused.map(({ kind, what, rows }) => `  ${kind.padEnd(22)} ${paddedRows(rows)}: ${what}`);
    return [`${object}: would be refused`, ...lines];
  }
  if (report === undefined) return [];
  const lines = report.kinds.map(
    ({ kind, found, carried, left }) =>
      `  ${kind.padEnd(22)} ${String(found).padStart(6)} found, ${carried} carried, ${left} left`
  );
  return [object, ...lines];
}

function paddedRows(rows: number): string {
  return `${String(rows).padStart(6)} ${rows === 1 ? "row" : "rows"}`;
}

async function projectInit(folder: string): Promise<ProjectInit> {
  const parseModule = await loadParser(folder);
  const { root, exports, version } = ownManifest();
  const known = new Map<string, ReadonlySet<string> | undefined>();
  return {
    folder,
    parseModule,
    exported: new Set(Object.keys(exports)),
    version,
    namesOf(subpath) {
      if (!known.has(subpath)) known.set(subpath, exportedNames(join(root, typesOf(exports[subpath])), parseModule));
      return known.get(subpath);
    },
    membersOf: (subpath, className) => classMembers(join(root, typesOf(exports[subpath])), className, parseModule)
  };
}

/** The project's own, which knows the syntax that the project is written in; else the one beside this package. */
async function loadParser(folder: string): Promise<ProjectInit["parseModule"]> {
  const places = [join(folder, "package.json"), import.meta.filename];
  for (const place of places) {
    const path = resolvedFrom(place, "rolldown/parseAst") ?? throughVite(place);
    if (path === undefined) continue;
    const { parseAst } = (await import(pathToFileURL(path).href)) as {
      parseAst: (code: string, options: { lang: string }) => unknown;
    };
    return (code, language) => parseAst(code, { lang: language });
  }
  throw migrateErrors.MigrateParserError();
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

interface OwnManifest {
  readonly root: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  readonly version: string;
}

/** The manifest of this package, above this file, built or not. */
function ownManifest(): OwnManifest {
  let root = import.meta.dirname;
  while (!existsSync(join(root, "package.json"))) root = dirname(root);
  return { root, ...(JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Omit<OwnManifest, "root">) };
}

function typesOf(target: OwnManifest["exports"][string] | undefined): string {
  return typeof target === "object" ? target.types : "";
}
