// Files as `state.*`, beyond what a workspace has itself: whole trees, searches in one file, and values inside JSON. Bounded,
// since code may ask for a workspace of any size.
import { sha256 } from "../../host/blobs.ts";
import { isObject } from "../../util/json.ts";
import type { FileInfo } from "../workspace/store/entries.ts";
import type { WorkspaceFsLike } from "../workspace/workspace-like.ts";
import type { ConnectorTool } from "./connector.ts";

/** Entries of a tree that are answered; `truncated` says that there are more. */
const MAX_ENTRIES = 2_000;
const MAX_MATCHES = 200;
const MAX_LINE_CHARS = 300;
/** Links that are followed, one after the other. */
const MAX_LINKS = 40;
const MAX_DEPTH = 100;

const TEXT = { type: "string" };

interface TreeEntry {
  readonly path: string;
  readonly name: string;
  readonly type: FileInfo["type"];
  readonly size: number;
  readonly depth: number;
}

export function treeMethods(files: WorkspaceFsLike): Record<string, ConnectorTool> {
  return {
    readdirWithFileTypes: reads("Names and types of the entries of a directory.", { path: TEXT }, async ({ path }) =>
      (await files.readDir(text(path), { limit: MAX_ENTRIES })).map(({ name, type }) => ({ name, type }))
    ),
    walkTree: reads(
      "Everything below a directory, with its depth.",
      { path: TEXT, maxDepth: { type: "number" } },
      ({ path, maxDepth }) => walk(files, { path: text(path), maxDepth: depth(maxDepth), matches: () => true })
    ),
    find: reads(
      'What is below a directory, by name ("*.md") and type ("file", "directory", "symlink").',
      { path: TEXT, name: TEXT, type: TEXT, maxDepth: { type: "number" } },
      ({ path, name, type, maxDepth }) =>
        walk(files, { path: text(path), maxDepth: depth(maxDepth), matches: wanted(name, type) })
    ),
    realpath: reads("Where a path leads, with links followed.", { path: TEXT }, ({ path }) =>
      realPath(files, text(path))
    ),
    hashFile: reads("The SHA-256 of a file, in hexadecimal.", { path: TEXT }, async ({ path }) =>
      sha256(there(await files.readFileBytes(text(path)), text(path)))
    ),
    searchText: reads(
      "Lines of a file that contain a text, with line and column from 1.",
      { path: TEXT, query: TEXT },
      ({ path, query }) => searchText(files, text(path), text(query))
    ),
    queryJson: reads(
      'A value inside a JSON file, such as "users[0].name"; null if it is not there.',
      { path: TEXT, query: TEXT },
      async ({ path, query }) => valueAt(await jsonOf(files, text(path)), keysOf(text(query))) ?? null
    ),
    ...changingMethods(files)
  };
}

function changingMethods(files: WorkspaceFsLike): Record<string, ConnectorTool> {
  const pair = { src: TEXT, dest: TEXT };
  const operation = {
    type: "object",
    properties: { op: { type: "string", enum: ["set", "delete"] }, path: TEXT, value: {} },
    required: ["op", "path"]
  };
  return {
    replaceInFile: {
      ...changes(
        "Replaces a text in a file, everywhere; answers how often.",
        { path: TEXT, search: TEXT, replacement: TEXT },
        ({ path, search, replacement }) => replaceInFile(files, text(path), [text(search), text(replacement)])
      ),
      onUnknownOutcome: "fail"
    },
    updateJson: {
      ...changes(
        'Sets or deletes values inside a JSON file: [{ op: "set", path: "users[0].name", value }, { op: "delete", path }].',
        { path: TEXT, operations: { type: "array", items: operation } },
        ({ path, operations }) => updateJson(files, text(path), operations)
      ),
      // A deleted entry of a list moves the others.
      onUnknownOutcome: "fail"
    },
    removeTree: changes("Deletes a directory with everything in it.", { path: TEXT }, ({ path }) =>
      files.rm(text(path), { recursive: true, force: true })
    ),
    copyTree: changes("Copies a directory with everything in it.", pair, ({ src, dest }) =>
      files.cp(text(src), text(dest), { recursive: true })
    ),
    moveTree: {
      ...changes("Moves a directory with everything in it.", pair, ({ src, dest }) =>
        files.mv(text(src), text(dest), { recursive: true })
      ),
      onUnknownOutcome: "fail"
    }
  };
}

type Run = (args: Record<string, unknown>) => unknown;

/** Arguments that may be left out. */
const OPTIONAL: ReadonlySet<string> = new Set(["maxDepth", "name", "type"]);

function reads(description: string, properties: Record<string, object>, run: Run): ConnectorTool {
  return { ...method(description, properties, run), replay: "reexecute" };
}

/** Leaves the same when it is made twice. */
function changes(description: string, properties: Record<string, object>, run: Run): ConnectorTool {
  return { ...method(description, properties, run), onUnknownOutcome: "retry" };
}

function method(description: string, properties: Record<string, object>, run: Run): ConnectorTool {
  const required = Object.keys(properties).filter((name) => !OPTIONAL.has(name));
  return {
    description,
    inputSchema: { type: "object", properties, required },
    execute: async (args) => (await run(isObject(args) ? args : {})) ?? null
  };
}

function text(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("An argument is missing, or is not a text.");
  return value;
}

function depth(value: unknown): number {
  return typeof value === "number" && value >= 0 ? Math.min(value, MAX_DEPTH) : MAX_DEPTH;
}

function there<Value>(value: Value | null, path: string): Value {
  if (value === null) throw new TypeError(`${path} does not exist.`);
  return value;
}

// ── Trees ──

interface Walk {
  readonly path: string;
  readonly maxDepth: number;
  readonly matches: (entry: TreeEntry) => boolean;
}

/** Links are entries and are not followed: a tree that leads into itself ends. */
async function walk(
  files: WorkspaceFsLike,
  { path, maxDepth, matches }: Walk
): Promise<{ entries: TreeEntry[]; truncated: boolean }> {
  there(await files.stat(path), path);
  const entries: TreeEntry[] = [];
  let seen = 0;
  const open = [{ path, depth: 1 }];
  for (let next = open.shift(); next; next = open.shift()) {
    if (next.depth > maxDepth) continue;
    for (const { path: child, name, type, size } of await files.readDir(next.path, { limit: MAX_ENTRIES + 1 })) {
      if (++seen > MAX_ENTRIES) return { entries, truncated: true };
      const entry = { path: child, name, type, size, depth: next.depth };
      if (matches(entry)) entries.push(entry);
      if (type === "directory") open.push({ path: child, depth: next.depth + 1 });
    }
  }
  return { entries, truncated: false };
}

function wanted(name: unknown, type: unknown): Walk["matches"] {
  return (entry) =>
    (typeof name !== "string" || isNamed(name, entry.name)) && (typeof type !== "string" || entry.type === type);
}

/** "*" stands for any text, "?" for one character. No regular expression: code could make one that takes for ever. */
function isNamed(pattern: string, name: string): boolean {
  let [at, star, from] = [0, -1, 0];
  for (let index = 0; index < name.length;) {
    if (pattern[at] === "*") [star, from] = [at++, index];
    else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index]))
      [at, index] = [at + 1, index + 1];
    else if (star < 0) return false;
    else [at, index] = [star + 1, ++from];
  }
  return /^\**$/.test(pattern.slice(at));
}

async function realPath(files: WorkspaceFsLike, path: string): Promise<string> {
  let resolved = "";
  let rest = path.split("/").filter((part) => part !== "");
  for (let links = 0; rest.length > 0;) {
    const [part = "", ...others] = rest;
    rest = others;
    if (part === ".") continue;
    if (part === "..") {
      resolved = resolved.slice(0, Math.max(0, resolved.lastIndexOf("/")));
      continue;
    }
    const here = `${resolved}/${part}`;
    if (there(await files.lstat(here), path).type !== "symlink") {
      resolved = here;
      continue;
    }
    if (++links > MAX_LINKS) throw new TypeError(`${path} leads through more than ${MAX_LINKS} links.`);
    const target = await files.readlink(here);
    if (target.startsWith("/")) resolved = "";
    rest = [...target.split("/").filter((one) => one !== ""), ...rest];
  }
  return resolved === "" ? "/" : resolved;
}

// ── Texts ──

async function searchText(files: WorkspaceFsLike, path: string, query: string) {
  if (query === "") throw new TypeError('"query" must not be empty.');
  const matches: { line: number; column: number; text: string }[] = [];
  for (const [index, line] of there(await files.readFile(path), path)
    .split("\n")
    .entries()) {
    for (let at = line.indexOf(query); at >= 0; at = line.indexOf(query, at + query.length)) {
      if (matches.length >= MAX_MATCHES) return { matches, truncated: true };
      matches.push({ line: index + 1, column: at + 1, text: line.slice(0, MAX_LINE_CHARS) });
    }
  }
  return { matches, truncated: false };
}

async function replaceInFile(files: WorkspaceFsLike, path: string, [search, replacement]: [string, string]) {
  if (search === "") throw new TypeError('"search" must not be empty.');
  const pieces = there(await files.readFile(path), path).split(search);
  if (pieces.length > 1) await files.writeFile(path, pieces.join(replacement));
  return { path, replaced: pieces.length - 1 };
}

// ── Values inside JSON ──

async function jsonOf(files: WorkspaceFsLike, path: string): Promise<unknown> {
  return JSON.parse(there(await files.readFile(path), path)) as unknown;
}

/** "users[0].name", "users.0.name" or 'users[0]["first.name"]'; a leading "$" or "." is the file itself. */
function keysOf(query: string): string[] {
  const steps = query.replace(/^\$/, "").matchAll(/\["([^"]*)"\]|\['([^']*)'\]|([^.[\]]+)/g);
  return Array.from(steps, ([, double, single, bare]) => double ?? single ?? bare ?? "");
}

function valueAt(value: unknown, keys: readonly string[]): unknown {
  let found = value;
  for (const key of keys) {
    // Of its own: not what every object and list inherits.
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

async function updateJson(files: WorkspaceFsLike, path: string, operations: unknown) {
  let root = await jsonOf(files, path);
  const list: unknown[] = Array.isArray(operations) ? operations : [];
  for (const one of list) {
    const { op, path: at, value } = isObject(one) ? one : {};
    const keys = keysOf(text(at));
    if (op === "set" && keys.length === 0) root = value;
    else if (op === "set") setAt(root, keys, value);
    else if (op === "delete" && keys.length > 0) deleteAt(root, keys);
    else throw new TypeError(`${JSON.stringify(one)} is no operation.`);
  }
  await files.writeFile(path, `${JSON.stringify(root, null, 2)}\n`);
  return { path, operations: list.length };
}

/** Objects on the way are made; a value on the way that is none is not overwritten. */
function setAt(root: unknown, keys: readonly string[], value: unknown): void {
  let parent = root;
  for (const key of keys.slice(0, -1)) {
    const next = valueAt(parent, [key]);
    if (next !== undefined) parent = next;
    else {
      const made = {};
      define(parent, key, made);
      parent = made;
    }
  }
  define(parent, keys.at(-1) ?? "", value);
}

/** Defined and not assigned: "__proto__" is a name like any other. */
function define(parent: unknown, key: string, value: unknown): void {
  if (typeof parent !== "object" || parent === null) throw new TypeError(`There is no object to set "${key}" in.`);
  if (Array.isArray(parent) && (!/^\d+$/.test(key) || Number(key) > parent.length))
    throw new TypeError(`"${key}" is no place in a list of ${parent.length}.`);
  Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true });
}

function deleteAt(root: unknown, keys: readonly string[]): void {
  const parent = valueAt(root, keys.slice(0, -1));
  const key = keys.at(-1) ?? "";
  if (Array.isArray(parent) && /^\d+$/.test(key)) parent.splice(Number(key), 1);
  else if (typeof parent === "object" && parent !== null) Reflect.deleteProperty(parent, key);
}
