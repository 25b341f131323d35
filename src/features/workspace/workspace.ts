// The agent's files: a tree in SQL, with large files in R2 where there is a bucket. Each operation is one transaction on
// a Durable Object; listeners and observers are notified after it. Who may do what is not decided here.
import type { Sql } from "../../host/ports.ts";
import { decodeText, encodeText } from "../../util/bytes.ts";
import { countLines, MAX_DIFF_LINES, unifiedDiff } from "../../util/diff.ts";
import { type MaybePromise, whenDone } from "../../util/maybe-promise.ts";
import { FileError, directoryError, missingError } from "./errors.ts";
import { type EventSource, report } from "./events.ts";
import { DEFAULT_BYTES_TYPE, DEFAULT_TEXT_TYPE, typeOfName } from "../../util/media-type.ts";
import { type ObjectBucket, ObjectStore } from "./object-store.ts";
import { normalizePath, ROOT } from "./paths.ts";
import { openStore, type SharedStore } from "./shared-store.ts";
import { Staging } from "./staging.ts";
import { applyChanges, type FileChange, type RefusedChange } from "./store/changes.ts";
import { readChunk, type StagedContent } from "./store/contents.ts";
import { copy, planCopy } from "./store/copy.ts";
import {
  type EntryRow,
  type FileInfo,
  type FileStat,
  etagOf,
  toFileInfo,
  locate,
  describeRoot
} from "./store/entries.ts";
import { appendFile, findFile, type FileWrite, type FoundFile, joinBytes, readFile, writeFile } from "./store/files.ts";
import { Operation, type WorkspaceChangeEvent } from "./store/operation.ts";
import type { SqlSource, SqlSteps } from "./store/sql.ts";
import {
  countChildren,
  countEntries,
  findByGlob,
  listDirectory,
  makeDirectory,
  makeLink,
  move,
  remove,
  type RemoveOptions,
  type WorkspaceInfo
} from "./store/tree.ts";
import { type FileVersion, listVersions, readVersion } from "./store/versions.ts";
import { CHUNK_BYTES } from "./store/tables.ts";
import type { WorkspaceFsLike } from "./workspace-like.ts";

export const DEFAULT_INLINE_THRESHOLD = 1_500_000;
const DEFAULT_PAGE = 1_000;
/** Tries of an append to a file in R2, which writes the file anew and begins again when another writer was faster. */
const APPEND_ATTEMPTS = 5;

export interface WorkspaceOptions {
  /** `ctx.storage.sql`, a D1 database, or any object with `query` and `run`. */
  readonly sql: SqlSource | Sql;
  /** The name of a tree of its own on the same database. */
  readonly namespace?: string;
  /** The bucket for large files. Without one they are kept in SQL. */
  readonly r2?: ObjectBucket;
  /** First part of the keys in the bucket; `name` by default. */
  readonly r2Prefix?: string;
  /** The size from which on files go to R2. */
  readonly inlineThreshold?: number;
  /** A label for events; a function is called when it is needed. */
  readonly name?: string | (() => string | undefined);
  /** Called after each change. */
  readonly onChange?: (event: WorkspaceChangeEvent) => void;
  /** The clock, in milliseconds. */
  readonly now?: () => number;
}

/**
 * A durable file system.
 *
 * @example
 * const files = new Workspace({ sql: this.ctx.storage.sql, name: () => this.name });
 * await files.writeFile("/notes/today.md", "# Today");
 * await files.readFile("/notes/today.md"); // "# Today"
 */
export class Workspace implements WorkspaceFsLike {
  readonly #options: WorkspaceOptions;
  readonly #store: SharedStore;
  readonly #objects: ObjectStore;
  readonly #staging: Staging;
  readonly #events: EventSource;
  readonly #turnId: string | undefined;

  constructor(options: WorkspaceOptions, turnId?: string) {
    const { namespace = "default", name } = options;
    const now = options.now ?? Date.now;
    const label = typeof name === "function" ? name : () => name;
    this.#options = options;
    this.#turnId = turnId;
    this.#store = openStore(options.sql, namespace, {
      r2: options.r2,
      r2Prefix: options.r2Prefix,
      inlineThreshold: options.inlineThreshold ?? DEFAULT_INLINE_THRESHOLD
    });
    this.#objects = new ObjectStore(options.r2, namespace, () => options.r2Prefix ?? label());
    this.#staging = new Staging(this.#store, this.#objects, now);
    this.#events = { namespace, name: label, now };
  }

  /** Opens the same files for a turn: what is written is remembered as the turn's. */
  inTurn(turnId: string): Workspace {
    return new Workspace(this.#options, turnId);
  }

  /** Reads a text. Null when there is no such file. */
  async readFile(path: string): Promise<string | null> {
    const bytes = await this.#readBytes(path);
    return bytes ? decodeText(bytes) : null;
  }

  async readFileBytes(path: string): Promise<Uint8Array | null> {
    return await this.#readBytes(path);
  }

  /** Streams what is there now. A file that is overwritten meanwhile ends the stream with ESTALE. */
  async readFileStream(
    path: string,
    range: { start: number; end: number } = { start: 0, end: Infinity }
  ): Promise<ReadableStream<Uint8Array> | null> {
    const row = await this.#read((operation) => findFile(operation, normalizePath(path)));
    if (!row) return null;
    if (row.storage_backend === "chunks") {
      report(this.#events, "workspace:read", { path: row.path, storage: "chunks" });
      return this.#streamChunks(row, { start: range.start, end: Math.min(row.size, range.end) });
    }
    const found = await this.#find(row.path);
    if (!found) return null;
    if ("key" in found) return await this.#objects.openStream(found.key, row.path, range);
    return new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(found.bytes.subarray(range.start, range.end));
        controller.close();
      }
    });
  }

  async writeFile(path: string, content: string, mimeType?: string): Promise<void> {
    await this.#put({ path, bytes: encodeText(String(content)), mimeType, isText: true });
  }

  async writeFileBytes(path: string, content: Uint8Array | ArrayBuffer, mimeType?: string): Promise<void> {
    if (!(content instanceof Uint8Array) && !(content instanceof ArrayBuffer))
      throw new TypeError("The content must be a Uint8Array or an ArrayBuffer.");
    // A copy: the caller may go on using the buffer while the write waits for R2.
    const bytes = new Uint8Array(content instanceof ArrayBuffer ? content.slice(0) : content.slice());
    await this.#put({ path, bytes, mimeType, isText: false });
  }

  async writeFileStream(path: string, stream: ReadableStream<Uint8Array>, mimeType?: string): Promise<void> {
    const target = normalizePath(path);
    const content = await this.#staging.stageStream(target, stream, this.#chooseType(target, mimeType));
    await this.#commitFile({ path: target, content, mimeType, isText: false });
  }

  async appendFile(path: string, content: string, mimeType?: string): Promise<void> {
    const target = normalizePath(path);
    const bytes = encodeText(String(content));
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#append(target, bytes, mimeType);
      } catch (error) {
        const isLost = error instanceof FileError && error.code === "ESTALE";
        if (!isLost || attempt === APPEND_ATTEMPTS) throw error;
      }
    }
  }

  /** Deletes a file. False when there was nothing. */
  async deleteFile(path: string): Promise<boolean> {
    const target = normalizePath(path);
    if (target === ROOT) throw directoryError(path);
    const existed = await this.#write(function* (operation) {
      const { row } = yield* locate(operation, target, false);
      if (row?.type === "directory")
        throw new FileError(
          "EISDIR",
          `${path} is a directory; use rm`,
          "rm(path, { recursive: true }) removes a directory."
        );
      return yield* remove(operation, target, { force: true });
    });
    if (existed) report(this.#events, "workspace:delete", { path: target });
    return existed;
  }

  /** Whether there is any entry, also a link that leads nowhere. */
  async exists(path: string): Promise<boolean> {
    return (await this.lstat(path)) !== null;
  }

  async fileExists(path: string): Promise<boolean> {
    return (await this.stat(path))?.type === "file";
  }

  async stat(path: string): Promise<FileStat | null> {
    return await this.#describe(path, true);
  }

  async lstat(path: string): Promise<FileStat | null> {
    return await this.#describe(path, false);
  }

  /** Finds where a path leads when its links are followed, also where nothing is there yet. */
  async realPath(path: string): Promise<string> {
    return (await this.#read((operation) => locate(operation, normalizePath(path), true))).path;
  }

  /** Lists a directory. With `strict` it throws ENOENT or ENOTDIR instead of giving an empty list. */
  async readDir(
    dir: string = ROOT,
    options: { limit?: number; offset?: number; strict?: boolean } = {}
  ): Promise<FileInfo[]> {
    const page = { limit: options.limit ?? DEFAULT_PAGE, offset: options.offset ?? 0, strict: options.strict ?? false };
    return await this.#read((operation) => listDirectory(operation, normalizePath(dir), page));
  }

  async countDir(dir: string = ROOT): Promise<number> {
    return await this.#read((operation) => countChildren(operation, normalizePath(dir)));
  }

  async glob(pattern: string): Promise<FileInfo[]> {
    return await this.#read((operation) => findByGlob(operation, pattern));
  }

  async mkdir(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    const target = normalizePath(path);
    const recursive = options.recursive ?? false;
    await this.#write((operation) => makeDirectory(operation, target, recursive));
    report(this.#events, "workspace:mkdir", { path: target, recursive });
  }

  async rm(path: string, options: RemoveOptions = {}): Promise<void> {
    const target = normalizePath(path);
    await this.#write((operation) => remove(operation, target, options));
    report(this.#events, "workspace:rm", { path: target, recursive: options.recursive ?? false });
  }

  async cp(src: string, dest: string, options: { recursive?: boolean } = {}): Promise<void> {
    const request = { from: normalizePath(src), to: normalizePath(dest), recursive: options.recursive ?? false };
    const { rows } = await this.#read((operation) => planCopy(operation, request));
    const objects = new Map<string, StagedContent>();
    for (const row of rows) {
      if (row.r2_key === null) continue;
      const file = {
        path: request.to + row.path.slice(request.from.length),
        size: row.size,
        mimeType: row.mime_type ?? DEFAULT_BYTES_TYPE
      };
      objects.set(row.r2_key, await this.#staging.copyObject(row.r2_key, file));
    }
    await this.#commitStaged([...objects.values()], (operation) => copy(operation, request, objects));
    report(this.#events, "workspace:cp", { src: request.from, dest: request.to, recursive: request.recursive });
  }

  async mv(src: string, dest: string, options: { recursive?: boolean } = {}): Promise<void> {
    const request = { from: normalizePath(src), to: normalizePath(dest), recursive: options.recursive ?? true };
    await this.#write((operation) => move(operation, request));
    report(this.#events, "workspace:mv", { src: request.from, dest: request.to });
  }

  async symlink(target: string, path: string): Promise<void> {
    const link = { path: normalizePath(path), target };
    await this.#write((operation) => makeLink(operation, link));
  }

  async readlink(path: string): Promise<string> {
    const info = await this.lstat(path);
    if (!info) throw missingError(path);
    if (info.type !== "symlink") throw new FileError("EINVAL", `${path} is no link`);
    return info.target ?? "";
  }

  /** Makes a unified diff of two files; empty when they are equal. */
  async diff(a: string, b: string): Promise<string> {
    const [before, after] = [await this.readFile(a), await this.readFile(b)];
    if (before === null) throw missingError(a);
    if (after === null) throw missingError(b);
    return makeDiff(before, after, { before: normalizePath(a), after: normalizePath(b) });
  }

  /** Makes a unified diff of a file and a text. */
  async diffContent(path: string, content: string): Promise<string> {
    const before = await this.readFile(path);
    if (before === null) throw missingError(path);
    return makeDiff(before, content, { before: normalizePath(path), after: normalizePath(path) });
  }

  /** Makes a unified diff of an old version and what the file holds now, which is nothing if it was deleted. */
  async diffVersion(path: string, version: number): Promise<string> {
    const target = normalizePath(path);
    const before = decodeText(await this.readVersion(target, version));
    const after = (await this.readFile(target)) ?? "";
    return makeDiff(before, after, { before: target, after: target });
  }

  async getWorkspaceInfo(): Promise<WorkspaceInfo> {
    return await this.#read((operation) => countEntries(operation));
  }

  /** Lists what a path held before each change, the newest first: at most 20 versions, also of a deleted file. */
  async history(path: string): Promise<FileVersion[]> {
    return await this.#read(function* (operation) {
      const place = yield* locate(operation, normalizePath(path), true);
      return yield* listVersions(operation, place.path);
    });
  }

  async readVersion(path: string, version: number): Promise<Uint8Array> {
    return (await this.#readVersion(path, version)).bytes;
  }

  #readVersion(path: string, version: number) {
    return this.#read(function* (operation) {
      const place = yield* locate(operation, normalizePath(path), true);
      return yield* readVersion(operation, place.path, version);
    });
  }

  /** Writes an old version anew; what the file held until now becomes a version itself. */
  async restore(path: string, version: number): Promise<void> {
    const { bytes, mimeType } = await this.#readVersion(path, version);
    await this.#put({ path, bytes, mimeType: mimeType ?? undefined, isText: false });
  }

  /** Makes many changes in one transaction. Returns those that were refused; the others are made. */
  async applyChanges(changes: readonly FileChange[]): Promise<RefusedChange[]> {
    const contents = new Map<string, StagedContent>();
    for (const change of changes) {
      if (change.kind !== "file") continue;
      const path = normalizePath(change.path);
      contents.set(change.path, await this.#staging.stage(path, change.bytes, () => this.#chooseType(path, undefined)));
    }
    const refused = await this.#commitStaged([...contents.values()], (operation) =>
      applyChanges(operation, changes, contents)
    );
    for (const { path } of refused) {
      const unused = contents.get(path);
      if (unused) await this.#staging.discard(unused);
    }
    return refused;
  }

  /** Deletes every object of this workspace from the bucket; for agents that are about to be destroyed. */
  async deleteObjects(): Promise<void> {
    if (!this.#objects.isAvailable) return;
    const { tables } = this.#store;
    const keys = await this.#read(function* (): SqlSteps<{ key: string }[]> {
      if (!(yield* tables.exist())) return [];
      return (yield {
        sql: `SELECT r2_key AS key FROM ${tables.entries} WHERE r2_key IS NOT NULL
          UNION SELECT key FROM ${tables.garbage} WHERE key NOT LIKE 'content:%'`,
        values: []
      }) as { key: string }[];
    });
    await this.#objects.delete(keys.map(({ key }) => key));
  }

  async #describe(path: string, followLast: boolean): Promise<FileStat | null> {
    const place = await this.#read((operation) => locate(operation, normalizePath(path), followLast));
    if (place.isRoot) return describeRoot();
    return place.row ? toFileInfo(place.row) : null;
  }

  #readBytes(path: string): MaybePromise<Uint8Array | null> {
    return whenDone(this.#find(path), (found): MaybePromise<Uint8Array | null> => {
      if (!found) return null;
      return "key" in found ? this.#objects.read(found.key, found.path) : found.bytes;
    });
  }

  #find(path: string): MaybePromise<FoundFile | undefined> {
    const target = normalizePath(path);
    return whenDone(
      this.#read((operation) => readFile(operation, target)),
      (found) => {
        if (found) report(this.#events, "workspace:read", { path: found.path, storage: found.storage });
        return found;
      }
    );
  }

  #put(write: PutRequest): MaybePromise<void> {
    const path = normalizePath(write.path);
    const { bytes, mimeType, isText, expected } = write;
    return whenDone(
      this.#staging.stage(path, bytes, () => this.#chooseType(path, mimeType)),
      (content) => this.#commitFile({ path, content, mimeType, isText, expected })
    );
  }

  #commitFile(write: FileWrite): MaybePromise<void> {
    const work = (operation: Operation) => writeFile(operation, write);
    // Bytes that go into SQL are staged nowhere.
    const written = write.content.kind === "bytes" ? this.#write(work) : this.#commitStaged([write.content], work);
    return whenDone(written, ({ path, size, storage, isUpdate }) =>
      report(this.#events, "workspace:write", { path, size, storage, update: isUpdate })
    );
  }

  async #append(path: string, bytes: Uint8Array, mimeType: string | undefined): Promise<void> {
    const row = this.#objects.isAvailable ? await this.#read((operation) => findFile(operation, path)) : undefined;
    const isLarge = row !== undefined && this.#staging.isLarge(row.size + bytes.byteLength);
    if (row && (row.storage_backend === "r2" || isLarge)) {
      const whole = joinBytes((await this.readFileBytes(path)) ?? new Uint8Array(), bytes);
      return await this.#put({
        path,
        bytes: whole,
        mimeType: row.mime_type ?? mimeType,
        isText: true,
        expected: etagOf(row)
      });
    }
    const written = await this.#write((operation) => appendFile(operation, { path, bytes, mimeType, isText: true }));
    if (!written) throw new FileError("ESTALE", `${path} was moved to R2 in the meantime`);
    report(this.#events, "workspace:write", {
      path,
      size: written.size,
      storage: written.storage,
      update: written.isUpdate
    });
  }

  /** Chooses the type that an object in R2 is labelled with. */
  #chooseType(path: string, mimeType: string | undefined): string {
    return mimeType ?? typeOfName(path) ?? DEFAULT_TEXT_TYPE;
  }

  #streamChunks(row: EntryRow, { start, end }: { start: number; end: number }): ReadableStream<Uint8Array> {
    let at = start;
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const chunk = Math.floor(at / CHUNK_BYTES);
        const bytes = await this.#read((operation) => readChunk(operation, row.content_id ?? "", chunk));
        if (!bytes) throw new FileError("ESTALE", `${row.path} was changed while it was read`);
        const part = bytes.subarray(at % CHUNK_BYTES, end - chunk * CHUNK_BYTES);
        at += part.byteLength;
        controller.enqueue(part);
        if (at >= end) controller.close();
      }
    });
  }

  /** Writes content that is staged already; what a failed write does not use is discarded. */
  async #commitStaged<T>(staged: readonly StagedContent[], work: (operation: Operation) => SqlSteps<T>): Promise<T> {
    try {
      return await this.#write(work);
    } catch (error) {
      for (const content of staged) await this.#staging.discard(content);
      throw error;
    }
  }

  /** Reads at once where the database answers at once. */
  #read<T>(work: (operation: Operation) => SqlSteps<T>): MaybePromise<T> {
    return this.#store.runner.read(() => work(this.#newOperation()));
  }

  /** Writes at once there, too: an await that has nothing to wait for would take as long as a statement. */
  #write<T>(work: (operation: Operation) => SqlSteps<T>): MaybePromise<T> {
    const operation = this.#newOperation();
    return whenDone(
      this.#store.runner.write(() => work(operation)),
      (result): MaybePromise<T> => {
        this.#notify(operation.events);
        if (operation.objects.length === 0) return result;
        return this.#staging.deleteObjects(operation.objects).then(() => result);
      }
    );
  }

  #newOperation(): Operation {
    return new Operation(this.#store.tables, this.#events.now(), this.#turnId);
  }

  #notify(events: readonly WorkspaceChangeEvent[]): void {
    const { onChange } = this.#options;
    if (!onChange) return;
    for (const event of events) {
      try {
        onChange(event);
      } catch (error) {
        console.error("A listener of workspace changes failed; the change is made.", error);
      }
    }
  }
}

/** A write whose bytes are not staged yet. */
type PutRequest = Omit<FileWrite, "content"> & { readonly bytes: Uint8Array };

/** Makes a unified diff. Throws EFBIG for texts that are too long to compare. */
function makeDiff(before: string, after: string, labels: { readonly before: string; readonly after: string }): string {
  if (countLines(before) > MAX_DIFF_LINES || countLines(after) > MAX_DIFF_LINES)
    throw new FileError("EFBIG", `a diff compares at most ${MAX_DIFF_LINES} lines`);
  return unifiedDiff(before, after, labels);
}
