// The files a script starts from, read as it needs them: an entry when it is looked at, a directory when it is listed,
// content when it is read. What was once seen stays as it was seen, so that a later change by another writer is noticed.
import { FileError } from "../errors.ts";
import { joinPath, nameOf, parentOf, ROOT } from "../paths.ts";
import type { FileInfo } from "../store/entries.ts";
import type { BashOperations } from "../tools/operations.ts";

const PAGE = 1_000;

export interface ReadLimits {
  /** Bytes that one script may read. */
  readonly maxReadBytes: number;
  readonly maxWorkspaceFileBytes: number;
  readonly maxWorkspaceFiles: number;
}

export class BaseTree {
  readonly #ops: BashOperations;
  readonly #limits: ReadLimits;
  readonly #entries = new Map<string, FileInfo | null>();
  readonly #listed = new Map<string, readonly FileInfo[]>();
  readonly #contents = new Map<string, Uint8Array>();
  #bytesRead = 0;
  /** Files that could not be read, with the reason: they are neither overwritten nor deleted. */
  readonly unread = new Map<string, string>();

  constructor(ops: BashOperations, limits: ReadLimits) {
    this.#ops = ops;
    this.#limits = limits;
  }

  /** Finds the entry at exactly this path; links are not followed. The directories above must be known to be directories. */
  async find(path: string): Promise<FileInfo | null> {
    const known = this.#entries.get(path);
    if (known !== undefined) return known;
    const parent = parentOf(path);
    if (this.#listed.has(parent)) return null;
    if (!this.#ops.lstat) return (await this.list(parent)).find(({ name }) => name === nameOf(path)) ?? null;
    const found = await this.#ops.lstat(path);
    // Another path: it was reached through a link, which the caller follows itself.
    const entry = found?.path === path ? found : null;
    this.#entries.set(path, entry);
    return entry;
  }

  async list(directory: string): Promise<readonly FileInfo[]> {
    const known = this.#listed.get(directory);
    if (known) return known;
    const entries: FileInfo[] = [];
    for (let page = PAGE; page === PAGE;) {
      const found = await this.#ops.readDir(directory, { limit: PAGE, offset: entries.length });
      entries.push(...found.map((entry) => ({ ...entry, path: joinPath(directory, entry.name) })));
      page = found.length;
    }
    this.#listed.set(directory, entries);
    for (const entry of entries) if (!this.#entries.has(entry.path)) this.#entries.set(entry.path, entry);
    return entries;
  }

  /** Reads a file. Throws EFBIG past a limit; the file is then protected. */
  async read(entry: FileInfo): Promise<Uint8Array> {
    const known = this.#contents.get(entry.path);
    if (known) return known;
    const limit = this.limitOf(entry);
    if (limit !== undefined) {
      this.unread.set(entry.path, limit);
      throw new FileError("EFBIG", `${entry.path}: ${limit}`);
    }
    const bytes = await this.#ops.readFileBytes(entry.path);
    if (bytes === null) throw new FileError("ENOENT", `no such file or directory: ${entry.path}`);
    this.#bytesRead += bytes.byteLength;
    this.#contents.set(entry.path, bytes);
    return bytes;
  }

  /** Says why a file cannot be read. Undefined: it can. */
  limitOf({ size, path }: FileInfo): string | undefined {
    if (this.#contents.has(path)) return undefined;
    const { maxWorkspaceFileBytes, maxWorkspaceFiles, maxReadBytes } = this.#limits;
    if (size > maxWorkspaceFileBytes) return `it is larger than ${maxWorkspaceFileBytes} bytes`;
    if (this.#contents.size >= maxWorkspaceFiles) return `the script has read ${maxWorkspaceFiles} files already`;
    if (this.#bytesRead + size > maxReadBytes) return `the script has read ${maxReadBytes} bytes already`;
    return undefined;
  }

  /** Lists everything below a directory, parents first. */
  async listBelow(directory: string): Promise<FileInfo[]> {
    const found: FileInfo[] = [];
    for (const entry of await this.list(directory)) {
      found.push(entry);
      if (entry.type === "directory") found.push(...(await this.listBelow(entry.path)));
    }
    return found;
  }

  /** Lists the paths that were seen so far. */
  listKnown(): string[] {
    return [ROOT, ...[...this.#entries].filter(([, entry]) => entry !== null).map(([path]) => path)];
  }
}
