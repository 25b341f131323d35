// The file system a script works on: the workspace as it is, with the script's changes on top of it in memory. Nothing
// of it reaches the workspace before the script has ended; see write-back.ts.
import { FileError } from "../errors.ts";
import { joinPath, resolveLink, nameOf, normalizePath, parentOf, ROOT } from "../paths.ts";
import type { FileInfo } from "../store/entries.ts";
import type { BaseTree } from "./base-tree.ts";
import { toBytes, toText } from "./content.ts";
import type { ShellEncodingOption, ShellEntry, ShellFileSystem, ShellStat } from "./interpreter.ts";

const MAX_HOPS = 40;
/** Bytes that one script may hold in files it wrote. */
export const MAX_WRITTEN_BYTES = 64 * 1024 * 1024;
/** Files, directories and links that one script may make. */
const MAX_MADE = 20_000;
const CALLS_BETWEEN_PAUSES = 200;
/** The timer function, read before a script runs: in Node the interpreter takes the global one away from its scripts. */
const startTimer = globalThis.setTimeout;

export type OverlayNode =
  | { readonly type: "file"; readonly bytes: Uint8Array; readonly mtime: Date }
  | { readonly type: "directory"; readonly mtime: Date }
  | { readonly type: "symlink"; readonly target: string; readonly mtime: Date };

type Found = OverlayNode | { readonly type: "base"; readonly entry: FileInfo };

export class ScriptOverlay implements ShellFileSystem {
  readonly base: BaseTree;
  /** What the script made or changed. */
  readonly nodes = new Map<string, OverlayNode>();
  /** What the script removed; of the base nothing shows through at or below it. */
  readonly removed = new Set<string>();
  readonly #children = new Map<string, Set<string>>();
  #writtenBytes = 0;
  #isClosed = false;

  constructor(base: BaseTree) {
    this.base = base;
  }

  /** Ends the script's access: what it still does reaches nothing. */
  close(): void {
    this.#isClosed = true;
  }

  async readFile(path: string, options?: ShellEncodingOption): Promise<string> {
    return toText(await this.readFileBuffer(path), options);
  }

  async readFileBuffer(path: string): Promise<Uint8Array> {
    return await this.#readBytes(await this.#findExisting(path, "open"), path);
  }

  async writeFile(path: string, content: string | Uint8Array, options?: ShellEncodingOption): Promise<void> {
    const target = await this.#locate(path, true);
    const found = await this.#find(target);
    if (found && typeOf(found) === "directory") throw directoryError(path, "open");
    await this.#makeParents(target);
    this.#put(target, { type: "file", bytes: toBytes(content, options), mtime: new Date() });
  }

  async appendFile(path: string, content: string | Uint8Array, options?: ShellEncodingOption): Promise<void> {
    const target = await this.#locate(path, true);
    const found = await this.#find(target);
    const before = found ? await this.#readBytes({ path: target, found }, path) : new Uint8Array();
    await this.#makeParents(target);
    this.#put(target, { type: "file", bytes: this.#extend(before, toBytes(content, options)), mtime: new Date() });
  }

  /** Buffers that only one file of this overlay holds, with space at their end: a loop of appends copies little. */
  readonly #growing = new WeakSet<ArrayBufferLike>();

  #extend(before: Uint8Array, added: Uint8Array): Uint8Array {
    const size = before.byteLength + added.byteLength;
    const hasSpace = this.#growing.has(before.buffer) && before.buffer.byteLength >= size;
    const whole = hasSpace ? new Uint8Array(before.buffer) : new Uint8Array(size * 2);
    if (!hasSpace) whole.set(before);
    whole.set(added, before.byteLength);
    this.#growing.add(whole.buffer);
    return whole.subarray(0, size);
  }

  async exists(path: string): Promise<boolean> {
    try {
      return (await this.#find(await this.#locate(path, true))) !== undefined;
    } catch {
      // A loop of links, or no path at all, is nothing that exists.
      return false;
    }
  }

  async stat(path: string): Promise<ShellStat> {
    const { path: at, found } = await this.#findExisting(path, "stat");
    return toStat(found, at);
  }

  async lstat(path: string): Promise<ShellStat> {
    const at = await this.#locate(path, false);
    const found = await this.#find(at);
    if (!found) throw missingError(path, "lstat");
    return toStat(found, at);
  }

  async mkdir(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    const target = await this.#locate(path, true);
    const found = await this.#find(target);
    if (found) {
      if (options.recursive === true && typeOf(found) === "directory") return;
      throw new FileError("EEXIST", `file already exists, mkdir '${path}'`);
    }
    const parent = await this.#find(parentOf(target));
    if (options.recursive !== true && !parent) throw missingError(path, "mkdir");
    await this.#makeParents(target);
    this.#put(target, { type: "directory", mtime: new Date() });
  }

  async readdir(path: string): Promise<string[]> {
    return (await this.readdirWithFileTypes(path)).map(({ name }) => name);
  }

  async readdirWithFileTypes(path: string): Promise<ShellEntry[]> {
    const { path: directory, found } = await this.#findExisting(path, "scandir");
    if (typeOf(found) !== "directory") throw new FileError("ENOTDIR", `not a directory, scandir '${path}'`);
    const entries = new Map<string, ShellEntry>();
    if (!this.#isHidden(directory) && (await this.#isBaseDirectory(directory))) {
      for (const { name, path: at, type } of await this.base.list(directory))
        if (!this.removed.has(at)) entries.set(name, toEntry(name, type));
    }
    for (const name of this.#children.get(directory) ?? []) {
      const node = this.nodes.get(joinPath(directory, name));
      if (node) entries.set(name, toEntry(name, node.type));
    }
    return [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async rm(path: string, options: { recursive?: boolean; force?: boolean } = {}): Promise<void> {
    const target = await this.#locate(path, false);
    const found = await this.#find(target);
    if (!found) {
      if (options.force === true) return;
      throw missingError(path, "rm");
    }
    if (target === ROOT) throw new FileError("EPERM", "the root cannot be removed");
    if (typeOf(found) === "directory") {
      const names = await this.readdir(target);
      if (names.length > 0 && options.recursive !== true)
        throw new FileError("ENOTEMPTY", `directory not empty, rm '${path}'`);
      for (const name of names) await this.rm(joinPath(target, name), options);
    }
    this.#drop(target);
    if (await this.#findInBase(target)) this.removed.add(target);
  }

  async cp(src: string, dest: string, options: { recursive?: boolean } = {}): Promise<void> {
    const from = await this.#locate(src, false);
    const found = await this.#find(from);
    if (!found) throw missingError(src, "cp");
    const to = await this.#locate(dest, false);
    switch (typeOf(found)) {
      case "symlink":
        return await this.#replace(to, { type: "symlink", target: targetOf(found), mtime: new Date() });
      case "file":
        return await this.writeFile(to, await this.#readBytes({ path: from, found }, src));
      case "directory": {
        if (options.recursive !== true) throw directoryError(src, "cp");
        if (to === from || to.startsWith(`${from}/`)) throw new FileError("EINVAL", `cannot copy '${src}' into itself`);
        const names = await this.readdir(from);
        await this.mkdir(to, { recursive: true });
        for (const name of names) await this.cp(joinPath(from, name), joinPath(to, name), options);
      }
    }
  }

  /** Moves by copying: what cannot be read is not moved, and so is not lost. */
  async mv(src: string, dest: string): Promise<void> {
    const from = await this.#locate(src, false);
    const to = await this.#locate(dest, false);
    if (from === to) return;
    await this.cp(from, to, { recursive: true });
    await this.rm(from, { recursive: true });
  }

  resolvePath(base: string, path: string): string {
    return normalizePath(path.startsWith("/") ? path : `${base}/${path}`);
  }

  getAllPaths(): string[] {
    const seen = this.base.listKnown().filter((path) => !this.removed.has(path) && !this.#isHidden(parentOf(path)));
    return [...new Set([...seen, ...this.nodes.keys()])];
  }

  async chmod(path: string, _mode: number): Promise<void> {
    // The workspace has no permissions; that the file is there is all that can be checked.
    await this.#findExisting(path, "chmod");
  }

  async symlink(target: string, linkPath: string): Promise<void> {
    const at = await this.#locate(linkPath, false);
    if (await this.#find(at)) throw new FileError("EEXIST", `file already exists, symlink '${linkPath}'`);
    await this.#makeParents(at);
    this.#put(at, { type: "symlink", target, mtime: new Date() });
  }

  /** Makes a copy under the second name: the workspace has no hard links. */
  async link(existingPath: string, newPath: string): Promise<void> {
    const at = await this.#locate(newPath, false);
    if (await this.#find(at)) throw new FileError("EEXIST", `file already exists, link '${newPath}'`);
    await this.writeFile(at, await this.readFileBuffer(existingPath));
  }

  async readlink(path: string): Promise<string> {
    const found = await this.#find(await this.#locate(path, false));
    if (!found) throw missingError(path, "readlink");
    if (typeOf(found) !== "symlink") throw new FileError("EINVAL", `invalid argument, readlink '${path}'`);
    return targetOf(found);
  }

  async realpath(path: string): Promise<string> {
    return (await this.#findExisting(path, "realpath")).path;
  }

  async utimes(path: string, _atime: Date, mtime: Date): Promise<void> {
    const { path: at } = await this.#findExisting(path, "utimes");
    const node = this.nodes.get(at);
    // Times of unchanged files are the workspace's.
    if (node) this.nodes.set(at, { ...node, mtime });
  }

  mkdirSync(path: string): void {
    const target = normalizePath(path);
    if (target === ROOT || this.nodes.has(target)) return;
    this.mkdirSync(parentOf(target));
    this.#put(target, { type: "directory", mtime: new Date() });
  }

  writeFileSync(path: string, content: string | Uint8Array): void {
    this.mkdirSync(parentOf(normalizePath(path)));
    this.#put(normalizePath(path), { type: "file", bytes: toBytes(content, undefined), mtime: new Date() });
  }

  async #findExisting(path: string, call: string): Promise<{ readonly path: string; readonly found: Found }> {
    const target = await this.#locate(path, true);
    const found = await this.#find(target);
    if (!found) throw missingError(path, call);
    return { path: target, found };
  }

  #calls = 0;

  /** Finds the path without links: those in the middle are followed, the last one on request. */
  async #locate(path: string, followLast: boolean): Promise<string> {
    this.#calls += 1;
    // The interpreter never waits for anything else: without a pause no timer fires, and no stop arrives.
    if (this.#calls % CALLS_BETWEEN_PAUSES === 0) await new Promise((resolve) => startTimer(resolve, 0));
    if (this.#isClosed) throw new FileError("EPERM", "the script has ended");
    let rest = normalizePath(path).split("/").slice(1).filter(Boolean);
    let at: string = ROOT;
    for (let hops = 0; rest.length > 0;) {
      const [name = "", ...others] = rest;
      const next = joinPath(at, name);
      const found = await this.#find(next);
      const isLink = found && typeOf(found) === "symlink" && (others.length > 0 || followLast);
      if (!isLink) {
        at = next;
        rest = others;
        // Below what is missing, or no directory, there is nothing to follow.
        if (!found || (others.length > 0 && typeOf(found) !== "directory")) return [at, ...others].join("/");
        continue;
      }
      hops += 1;
      if (hops > MAX_HOPS) throw new FileError("ELOOP", `too many symbolic links: '${path}'`);
      rest = [...resolveLink(next, targetOf(found)).split("/").filter(Boolean), ...others];
      at = ROOT;
    }
    return at;
  }

  /** Finds what is at a path that has no links above it. */
  async #find(path: string): Promise<Found | undefined> {
    if (path === ROOT) return { type: "directory", mtime: new Date(0) };
    const node = this.nodes.get(path);
    if (node) return node;
    if (this.#isHidden(path)) return undefined;
    const entry = await this.#findInBase(path);
    return entry ? { type: "base", entry } : undefined;
  }

  async #findInBase(path: string): Promise<FileInfo | null> {
    const parent = parentOf(path);
    if (parent !== ROOT && !(await this.#isBaseDirectory(parent))) return null;
    return await this.base.find(path);
  }

  async #isBaseDirectory(path: string): Promise<boolean> {
    return path === ROOT || (await this.#findInBase(path))?.type === "directory";
  }

  #isHidden(path: string): boolean {
    for (let at = path; at !== ROOT; at = parentOf(at)) if (this.removed.has(at)) return true;
    return false;
  }

  async #readBytes(
    { path, found }: { readonly path: string; readonly found: Found },
    shown: string
  ): Promise<Uint8Array> {
    if (typeOf(found) === "directory") throw directoryError(shown, "read");
    if (found.type === "file") return found.bytes;
    if (found.type === "base") return await this.base.read({ ...found.entry, path });
    throw missingError(shown, "open");
  }

  async #makeParents(path: string): Promise<void> {
    const parent = parentOf(path);
    if (parent === ROOT) return;
    const found = await this.#find(parent);
    if (found) {
      if (typeOf(found) !== "directory") throw new FileError("ENOTDIR", `not a directory: '${parent}'`);
      return;
    }
    await this.#makeParents(parent);
    this.#put(parent, { type: "directory", mtime: new Date() });
  }

  async #replace(path: string, node: OverlayNode): Promise<void> {
    await this.rm(path, { force: true });
    await this.#makeParents(path);
    this.#put(path, node);
  }

  #put(path: string, node: OverlayNode): void {
    if (this.#isClosed) throw new FileError("EPERM", "the script has ended");
    const before = this.nodes.get(path);
    this.#writtenBytes += sizeOf(node) - (before ? sizeOf(before) : 0);
    if (this.#writtenBytes > MAX_WRITTEN_BYTES || this.nodes.size >= MAX_MADE) {
      this.#writtenBytes -= sizeOf(node) - (before ? sizeOf(before) : 0);
      throw new FileError(
        "EFBIG",
        `no space left on device: a script writes at most ${MAX_WRITTEN_BYTES} bytes in ${MAX_MADE} files`
      );
    }
    this.nodes.set(path, node);
    const names = this.#children.get(parentOf(path)) ?? new Set();
    this.#children.set(parentOf(path), names.add(nameOf(path)));
  }

  #drop(path: string): void {
    if (this.#isClosed) throw new FileError("EPERM", "the script has ended");
    const node = this.nodes.get(path);
    if (!node) return;
    this.#writtenBytes -= sizeOf(node);
    this.nodes.delete(path);
    this.#children.get(parentOf(path))?.delete(nameOf(path));
  }
}

function sizeOf(node: OverlayNode): number {
  return node.type === "file" ? node.bytes.byteLength : 0;
}

function typeOf(found: Found): "file" | "directory" | "symlink" {
  return found.type === "base" ? found.entry.type : found.type;
}

function targetOf(found: Found): string {
  if (found.type === "symlink") return found.target;
  return found.type === "base" ? (found.entry.target ?? "") : "";
}

function toStat(found: Found, path: string): ShellStat {
  const type = typeOf(found);
  return {
    isFile: type === "file",
    isDirectory: type === "directory",
    isSymbolicLink: type === "symlink",
    mode: type === "directory" ? 0o755 : type === "symlink" ? 0o777 : 0o644,
    size: found.type === "base" ? found.entry.size : sizeOf(found),
    mtime: found.type === "base" ? new Date(found.entry.updatedAt) : found.mtime,
    // Without links in it a path is the file's identity: there are no hard links.
    identity: path
  };
}

function toEntry(name: string, type: "file" | "directory" | "symlink"): ShellEntry {
  return { name, isFile: type === "file", isDirectory: type === "directory", isSymbolicLink: type === "symlink" };
}

function missingError(path: string, call: string): FileError {
  return new FileError("ENOENT", `no such file or directory, ${call} '${path}'`);
}

function directoryError(path: string, call: string): FileError {
  return new FileError("EISDIR", `illegal operation on a directory, ${call} '${path}'`);
}
