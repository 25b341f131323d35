// Brings what a script left in its overlay into the workspace: at once where the backend can, step by step elsewhere. A
// file that another writer changed, or that the script could not read, is named and left alone.
import { ancestorsOf, ROOT } from "../paths.ts";
import type { FileChange, RefusedChange } from "../store/changes.ts";
import { linkTagOf } from "../store/contents.ts";
import type { FileInfo } from "../store/entries.ts";
import type { BashOperations } from "../tools/operations.ts";
import type { ScriptOverlay, OverlayNode } from "./overlay.ts";

/** Folders that the interpreter makes, not the script. */
const SYSTEM = /^\/(?:bin|usr|dev|proc|sys|tmp)(?:\/|$)/;

export interface ChangedFiles {
  created: string[];
  updated: string[];
  deleted: string[];
  directoriesCreated: string[];
  directoriesDeleted: string[];
}

export interface WriteBack {
  readonly changedFiles: ChangedFiles;
  readonly errors: string[];
}

type Listed = keyof ChangedFiles;

interface Planned {
  readonly change: FileChange;
  readonly list: Listed;
}

export async function writeBack(overlay: ScriptOverlay, ops: BashOperations): Promise<WriteBack> {
  const errors: string[] = [];
  const plan = await new Planner(overlay, errors).plan();
  const changes = plan.map(({ change }) => change);
  let refused: readonly RefusedChange[] = [];
  if (changes.length > 0) refused = ops.applyChanges ? await ops.applyChanges(changes) : await applyEach(ops, changes);
  // By path: where a file was to give way to a directory, both changes are refused.
  const reasons = new Map(refused.map(({ path, reason }) => [path, reason]));
  for (const [path, reason] of reasons) errors.push(`${path} was not changed: ${reason}`);
  return { changedFiles: listChanges(plan.filter(({ change }) => !reasons.has(change.path))), errors };
}

function listChanges(plan: readonly Planned[]): ChangedFiles {
  const lists: ChangedFiles = { created: [], updated: [], deleted: [], directoriesCreated: [], directoriesDeleted: [] };
  for (const { change, list } of plan) lists[list].push(change.path);
  for (const list of Object.values(lists)) list.sort();
  return lists;
}

class Planner {
  readonly #overlay: ScriptOverlay;
  readonly #errors: string[];
  /** Deletions of what something of another type replaces. */
  readonly #first: Planned[] = [];
  readonly #directories: Planned[] = [];
  readonly #files: Planned[] = [];
  readonly #deleted: Planned[] = [];
  readonly #directoriesDeleted: Planned[] = [];

  constructor(overlay: ScriptOverlay, errors: string[]) {
    this.#overlay = overlay;
    this.#errors = errors;
  }

  /** Lists the changes in the order in which they are made: directories, files, deletions, and deleted directories from the deepest up. */
  async plan(): Promise<Planned[]> {
    const { removed } = this.#overlay;
    for (const path of removed)
      if (!ancestorsOf(path).some((above) => removed.has(above))) await this.#planRemoval(path);
    for (const [path, node] of [...this.#overlay.nodes].sort(([a], [b]) => (a < b ? -1 : 1)))
      await this.#planNode(path, node);
    const deepestFirst = this.#directoriesDeleted.toSorted((a, b) => depthOf(b) - depthOf(a));
    return [...this.#first, ...this.#directories, ...this.#files, ...this.#deleted, ...deepestFirst];
  }

  async #planNode(path: string, node: OverlayNode): Promise<void> {
    const before = await this.#baseAt(path);
    if (SYSTEM.test(path) && !before) return;
    if (before?.type === "file" && this.#isProtected(before, "overwritten")) return;
    switch (node.type) {
      case "directory": {
        if (before?.type === "directory") return;
        if (before) this.#first.push(deletionOf(before));
        // What is there by then was put there by another writer.
        const change: FileChange = { kind: "directory", path, expected: null };
        this.#directories.push({ change, list: "directoriesCreated" });
        return;
      }
      case "symlink": {
        if (before?.type === "symlink" && before.target === node.target) return;
        const change: FileChange = { kind: "link", path, target: node.target, expected: tagOf(before) };
        this.#files.push({ change, list: before ? "updated" : "created" });
        return;
      }
      case "file":
        return await this.#planFile(path, node.bytes, before);
    }
  }

  async #planFile(path: string, bytes: Uint8Array, before: FileInfo | null): Promise<void> {
    const isSameSize = before?.type === "file" && before.size === bytes.byteLength;
    if (isSameSize && areEqual(await this.#overlay.base.read(before), bytes)) return;
    const expected = before?.type === "directory" ? undefined : tagOf(before);
    const change: FileChange = { kind: "file", path, bytes, expected };
    this.#files.push({ change, list: before?.type === "file" ? "updated" : "created" });
  }

  async #planRemoval(path: string): Promise<void> {
    const entry = await this.#baseAt(path);
    if (!entry) return;
    if (entry.type !== "directory") return this.#planDeletion(entry);
    const below = await this.#overlay.base.listBelow(path);
    const kept = below.filter(
      (each) => each.type === "file" && !this.#overlay.nodes.has(each.path) && this.#isProtected(each, "deleted")
    );
    for (const each of below) if (each.type !== "directory" && !kept.includes(each)) this.#planDeletion(each);
    const directories = [entry, ...below.filter(({ type }) => type === "directory")];
    for (const { path: directory } of directories) {
      const isKept = kept.some((each) => each.path.startsWith(`${directory}/`));
      const node = this.#overlay.nodes.get(directory);
      if (isKept || node?.type === "directory") continue;
      const planned: Planned = { change: { kind: "delete-directory", path: directory }, list: "directoriesDeleted" };
      (this.#isReplaced(directory) ? this.#first : this.#directoriesDeleted).push(planned);
    }
    this.#first.sort((a, b) => depthOf(b) - depthOf(a));
  }

  #planDeletion(entry: FileInfo): void {
    // What is there again is written, not deleted.
    if (this.#overlay.nodes.has(entry.path)) return;
    if (entry.type === "file" && this.#isProtected(entry, "deleted")) return;
    (this.#isReplaced(entry.path) ? this.#first : this.#deleted).push(deletionOf(entry));
  }

  /** Whether a file or link now stands where a directory above this path was. */
  #isReplaced(path: string): boolean {
    for (let at = path; at !== ROOT && at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
      const node = this.#overlay.nodes.get(at);
      if (node && node.type !== "directory") return true;
    }
    return false;
  }

  #isProtected(entry: FileInfo, change: string): boolean {
    const { base } = this.#overlay;
    const reason = base.unread.get(entry.path) ?? base.limitOf(entry);
    if (reason === undefined) return false;
    this.#errors.push(`${entry.path} was not ${change}: the script could not read it, because ${reason}`);
    base.unread.set(entry.path, reason);
    return true;
  }

  /** Finds the entry of the workspace, as the script found it. */
  async #baseAt(path: string): Promise<FileInfo | null> {
    for (let at = path.indexOf("/", 1); at > 0; at = path.indexOf("/", at + 1))
      if ((await this.#overlay.base.find(path.slice(0, at)))?.type !== "directory") return null;
    return await this.#overlay.base.find(path);
  }
}

function deletionOf(entry: FileInfo): Planned {
  return { change: { kind: "delete", path: entry.path, expected: tagOf(entry) ?? undefined }, list: "deleted" };
}

function depthOf({ change }: Planned): number {
  return change.path.split("/").length;
}

/** The tag that the backend compares with: null for nothing, undefined where there is no tag. */
function tagOf(entry: FileInfo | null): string | null | undefined {
  if (entry === null) return null;
  return entry.type === "symlink" ? linkTagOf({ target: entry.target ?? "" }) : entry.etag;
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && a.every((byte, index) => byte === b[index]);
}

/** Makes the changes on a backend without transactions. What fails is named, and the rest goes on. */
async function applyEach(ops: BashOperations, changes: readonly FileChange[]): Promise<RefusedChange[]> {
  const refused: RefusedChange[] = [];
  for (const change of changes) {
    try {
      await applyOne(ops, change);
    } catch (error) {
      refused.push({ path: change.path, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return refused;
}

async function applyOne(ops: BashOperations, change: FileChange): Promise<void> {
  switch (change.kind) {
    case "directory":
      return await ops.mkdir(change.path, { recursive: true });
    case "file":
      if (ops.writeFileBytes) return await ops.writeFileBytes(change.path, change.bytes);
      return await ops.writeFile(change.path, decodeStrictly(change.bytes));
    case "link":
      if (!ops.symlink) throw new Error("this file system has no links");
      await ops.rm(change.path, { force: true });
      return await ops.symlink(change.target, change.path);
    case "delete":
    case "delete-directory":
      return await ops.rm(change.path, { force: true });
  }
}

/** Decodes a text. Throws for bytes that are none. */
function decodeStrictly(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // Not text: refused below.
  }
  throw new Error("it is not text, and this file system takes only text");
}
