// What `everthink migrate` would change in a project: import specifiers, the dependencies in package.json, and the names of
// modules in Wrangler's and TypeScript's configuration. Class names, bindings and migrations are what data is found by:
// they stay.
import { readdirSync, readFileSync } from "node:fs";
import { basename, extname, join, relative, sep } from "node:path";
import { errorMessage } from "../../util/errors.ts";
import { isThinkGeneratedFile } from "../generate/declarations.ts";
import { moveManifest, moveTypeScriptConfig, moveWrangler } from "./move-config.ts";
import { otherCall } from "./other-calls.ts";
import { lineAt, rewriteModule, type MissingImport, type RewrittenModule } from "./rewrite-module.ts";
import { counterpartOf, insteadOf, isOurs, subpathOf, verdictOn } from "./specifiers.ts";
import { unknownMembers } from "./used-members.ts";

/** Not the project's own. */
const SKIPPED_FOLDERS = new Set([
  ...["node_modules", "dist", "build", "out", "coverage", ".git", ".wrangler", ".data", ".vite"],
  ...[".next", ".output", ".svelte-kit", ".react-router", ".astro", ".turbo", ".yarn"]
]);
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
/** Files with modules inside them, which no parser here reads. */
const MIXED_FILES = new Set([".vue", ".svelte", ".astro", ".mdx", ".html"]);
/** Anything that a specifier of the packages, or a virtual module of theirs, begins with; and one of ours. */
const MENTION = /["'`](?:agents\b|@cloudflare\/(?:think|ai-chat|codemode|shell)\b|virtual:think\/)/;
const OWN_MENTION = /["'`]everthink\b/;
/** What the original's own command writes. */
const GENERATED_TYPES = "think.d.ts";

export interface ProjectInit {
  readonly folder: string;
  /** A syntax tree with offsets, as ESTree has it. */
  readonly parseModule: (code: string, language: string) => unknown;
  /** Subpaths of this package. */
  readonly exported: ReadonlySet<string>;
  /** The names that a subpath of this package exports; undefined where they are not known. */
  readonly namesOf: (subpath: string) => ReadonlySet<string> | undefined;
  /** The members of a class that a subpath exports, inherited ones included; undefined where they are not known. */
  readonly membersOf: (subpath: string, className: string) => ReadonlySet<string> | undefined;
  /** Of this package. */
  readonly version: string;
}

export interface ProjectFileChange {
  /** Relative to the project, with forward slashes. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** Something that the developer has to look at. */
export interface ProjectNote {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  /** Worth knowing: the migration is whole without it. */
  readonly isAdvice?: boolean;
}

export interface ProjectPlan {
  readonly changes: readonly ProjectFileChange[];
  readonly notes: readonly ProjectNote[];
}

interface ProjectFile {
  readonly file: string;
  readonly before: string;
}

interface MovedFile {
  readonly after: string;
  readonly notes?: readonly Omit<ProjectNote, "file">[];
  /** Specifiers as they are afterwards. */
  readonly imports?: Iterable<string>;
}

export function planProject(init: ProjectInit): ProjectPlan {
  const changes: ProjectFileChange[] = [];
  const notes: ProjectNote[] = [];
  /** By file: a package stays in the manifests above a file that needs it. */
  const imports = new Map<string, readonly string[]>();
  const manifests: ProjectFile[] = [];
  for (const path of filesBelow(init.folder)) {
    const file = relative(init.folder, path).split(sep).join("/");
    if (!isLookedAt(file)) continue;
    const before = readFileSync(path, "utf8");
    if (basename(file) === "package.json") manifests.push({ file, before });
    const moved = moveFile(init, { file, before });
    imports.set(file, [...(moved.imports ?? [])]);
    notes.push(...(moved.notes ?? []).map((note) => ({ file, ...note })));
    if (moved.after !== before) changes.push({ file, before, after: moved.after });
  }
  for (const { file, before } of manifests) {
    const folder = file.slice(0, -"package.json".length);
    const used = [...imports].flatMap(([importer, names]) => (importer.startsWith(folder) ? names : []));
    const after = moveManifest(before, used, init.version);
    if (after !== before) changes.push({ file, before, after });
  }
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

const WRANGLER_FILE = /(?:^|\/)wrangler(?:\.[\w-]+)*\.(?:jsonc?|toml)$/;
const TYPESCRIPT_FILE = /(?:^|\/)[tj]sconfig(?:\.[\w-]+)*\.json$/;

function isLookedAt(file: string): boolean {
  const extension = extname(file);
  const isModule = MODULES[extension] !== undefined || MIXED_FILES.has(extension);
  return isModule || basename(file) === "package.json" || WRANGLER_FILE.test(file) || TYPESCRIPT_FILE.test(file);
}

function moveFile(init: ProjectInit, { file, before }: ProjectFile): MovedFile {
  const { exported } = init;
  if (WRANGLER_FILE.test(file)) return { after: moveWrangler(file, before) };
  if (TYPESCRIPT_FILE.test(file)) return moveTypeScriptConfig(before, (specifier) => verdictOn(specifier, exported));
  const language = MODULES[extname(file)];
  // Most files name none of them, and need not be parsed. What we generate has both names of a virtual module.
  const isNamed = MENTION.test(before) || (language !== undefined && OWN_MENTION.test(before));
  if (!isNamed || isThinkGeneratedFile(before)) return { after: before };
  if (basename(file) === GENERATED_TYPES && before.includes("virtual:think/")) {
    const text = "the original generated it: delete it and run everthink types, which writes everthink.d.ts";
    return { after: before, notes: [{ line: 1, text }] };
  }
  if (language !== undefined) return moveModule(init, before, language);
  if (!MIXED_FILES.has(extname(file))) return { after: before };
  const line = before.slice(0, before.search(MENTION)).split("\n").length;
  return unread(before, { line, text: "imports in a file of this kind are not changed: look at this one" });
}

/** Which of the packages it needs is not known, so all of them stay. */
const REPLACED_PACKAGES = ["agents", "@cloudflare/think"];

function unread(before: string, note: Omit<ProjectNote, "file">): MovedFile {
  return { after: before, notes: [note], imports: REPLACED_PACKAGES };
}

function moveModule(init: ProjectInit, before: string, language: string): MovedFile {
  let tree: unknown;
  try {
    tree = init.parseModule(before, language);
  } catch (error) {
    // Another file's changes do not depend on this one.
    const place: unknown = error instanceof Error ? Reflect.get(error, "pos") : undefined;
    const line = typeof place === "number" ? before.slice(0, place).split("\n").length : 1;
    const reason = errorMessage(error)
      .replace(/^Parse failed[^\n]*\n/, "")
      .split("\n")[0];
    return unread(before, { line, text: `it cannot be parsed and was left alone: ${reason}` });
  }
  const moved = rewriteModule(before, tree, {
    judge: (specifier) => verdictOn(specifier, init.exported),
    hasName: (specifier, name) => init.namesOf(subpathOf(specifier))?.has(name) ?? true
  });
  const missing = moved.missing.map((one) => ({ line: one.line, text: missingText(init, one) }));
  const computed = moved.computed.map((line) => ({
    line,
    text: "what is imported is only known when it runs: look at it"
  }));
  const members = memberNotes(init, before, tree);
  const notes = [...missing, ...callNotes(moved), ...counterpartNotes(moved), ...members, ...computed].toSorted(
    (one, other) => one.line - other.line
  );
  return { after: moved.code, notes, imports: [...moved.imports, ...(computed.length > 0 ? REPLACED_PACKAGES : [])] };
}

type Note = Omit<ProjectNote, "file">;

function callNotes({ moved }: RewrittenModule): Note[] {
  return moved.flatMap(({ to, name, line }) => {
    const call = otherCall(to, name);
    return call === undefined
      ? []
      : [{ line, text: `${name} is called in another way here: ${call}. Look at its calls` }];
  });
}

/** Packages that are independent of the original stay; that there is something of our own is worth knowing. */
function counterpartNotes({ kept }: RewrittenModule): Note[] {
  return kept.flatMap(({ specifier, line }) => {
    const counterpart = counterpartOf(specifier);
    const text = `"${specifier}" is left as it is; everthink has ${counterpart}`;
    return counterpart === undefined ? [] : [{ line, text, isAdvice: true }];
  });
}

function memberNotes({ exported, membersOf }: ProjectInit, code: string, tree: unknown): Note[] {
  const unknown = unknownMembers(tree, (specifier, className) => {
    const verdict = verdictOn(specifier, exported);
    const to = typeof verdict === "object" ? verdict.to : specifier;
    return isOurs(to) ? membersOf(subpathOf(to), className) : undefined;
  });
  return unknown.map(({ name, how, base, start }) => ({
    line: lineAt(code, start),
    text:
      how === "override"
        ? `everthink's ${base} has no ${name} to override: nothing calls it`
        : `${how}.${name} is no member of everthink's ${base}`
  }));
}

function missingText({ exported, namesOf }: ProjectInit, { specifier, name }: MissingImport): string {
  const instead = insteadOf(specifier);
  if (name === undefined) {
    return `"${specifier}" has no counterpart in everthink${instead === undefined ? "" : `; ${instead}`}`;
  }
  const elsewhere = [...exported].find((subpath) => namesOf(subpath)?.has(name));
  const hint = elsewhere === undefined ? "" : `; a ${name} is in "everthink${elsewhere.slice(1)}"`;
  if (isOurs(specifier)) return `${name} is not in "${specifier}"${hint}`;
  return `${name} of "${specifier}" has no counterpart in everthink${hint}`;
}
