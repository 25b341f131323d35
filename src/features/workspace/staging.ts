// Brings content to where it will be before a file refers to it: into R2 above the threshold, into chunk rows when it
// is streamed. Whatever is staged is on the list of garbage until the commit that uses it.
import {
  dropContents,
  garbageKeyOf,
  insertChunks,
  MAX_FILE_BYTES,
  stageBytes,
  type StagedContent,
  checkSize
} from "./store/contents.ts";
import { Operation } from "./store/operation.ts";
import { all, type SqlSteps } from "./store/sql.ts";
import { CHUNK_BYTES } from "./store/tables.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import type { ByteReader, ObjectStore } from "./object-store.ts";
import type { SharedStore } from "./shared-store.ts";

/** The age past which staged content belongs to no running write. */
const GARBAGE_AGE_MS = 60 * 60 * 1_000;
const SWEEP_KEYS = 100;

export class Staging {
  readonly #store: SharedStore;
  readonly #objects: ObjectStore;
  readonly #now: () => number;

  constructor(store: SharedStore, objects: ObjectStore, now: () => number) {
    this.#store = store;
    this.#objects = objects;
    this.#now = now;
  }

  /** Whether content of this size goes to R2. */
  isLarge(size: number): boolean {
    return this.#objects.isAvailable && size >= this.#store.settings.inlineThreshold;
  }

  /** Stages bytes, at once where they stay in SQL. `mimeType` is called for what goes to R2. */
  stage(path: string, bytes: Uint8Array, mimeType: () => string): MaybePromise<StagedContent> {
    const content = stageBytes(bytes);
    return this.isLarge(content.size)
      ? this.#toBucket(path, (key) => this.#objects.put(key, bytes, mimeType()))
      : content;
  }

  /** Stages a stream and never holds more than a part of it. Throws EFBIG, and cancels the stream, past the limit. */
  async stageStream(path: string, stream: ReadableStream<Uint8Array>, mimeType: string): Promise<StagedContent> {
    const reader = stream.getReader();
    try {
      const { inlineThreshold } = this.#store.settings;
      const wantedBytes = this.#objects.isAvailable ? Math.min(inlineThreshold, MAX_FILE_BYTES) : CHUNK_BYTES;
      const { head, isWhole } = await readHead(reader, wantedBytes);
      if (isWhole) return await this.stage(path, head, () => mimeType);
      if (this.isLarge(head.byteLength))
        return await this.#toBucket(path, (key) => this.#objects.putStream(key, { head, reader }, mimeType));
      return await this.#toChunks(head, reader);
    } catch (error) {
      // The source learns that no reader is left; its own failure is already known.
      await reader.cancel(error).catch(() => undefined);
      throw error;
    }
  }

  /** Copies an object for another file. */
  async copyObject(
    key: string,
    file: { readonly path: string; readonly size: number; readonly mimeType: string }
  ): Promise<StagedContent> {
    return await this.#toBucket(file.path, async (next) => {
      const reader = (await this.#objects.openStream(key, file.path)).getReader();
      return await this.#objects.putStream(next, { head: new Uint8Array(), reader }, file.mimeType);
    });
  }

  /** Drops staged content that no file will refer to. */
  async discard(content: StagedContent): Promise<void> {
    if (content.kind === "r2") await this.deleteObjects([content.key]);
    if (content.kind === "chunks") await this.#dropStaged(content.contentId);
  }

  /** Deletes objects, then strikes them off the list. One that fails stays on it. */
  async deleteObjects(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    try {
      await this.#objects.delete(keys);
    } catch (error) {
      console.warn("Objects of deleted files could not be deleted from R2; it is tried again later.", error);
      return;
    }
    await this.#write(({ tables }) =>
      all(`DELETE FROM ${tables.garbage} WHERE key IN (SELECT value FROM json_each(?))`, JSON.stringify(keys))
    );
  }

  async #toBucket(path: string, put: (key: string) => Promise<StagedContent>): Promise<StagedContent> {
    const key = this.#objects.newKey(path);
    await this.#sweep();
    await this.#note(key);
    try {
      return await put(key);
    } catch (error) {
      await this.deleteObjects([key]);
      throw error;
    }
  }

  async #toChunks(head: Uint8Array, reader: ByteReader): Promise<StagedContent> {
    const contentId = crypto.randomUUID();
    await this.#sweep();
    await this.#note(garbageKeyOf(contentId));
    let rest = head;
    let first = 0;
    try {
      for (let isDone = false; !isDone;) {
        const { done, value } = await reader.read();
        isDone = done;
        if (value) {
          const joined = new Uint8Array(rest.byteLength + value.byteLength);
          joined.set(rest);
          joined.set(value, rest.byteLength);
          rest = joined;
        }
        checkSize(first * CHUNK_BYTES + rest.byteLength);
        const whole = isDone ? rest.byteLength : rest.byteLength - (rest.byteLength % CHUNK_BYTES);
        if (whole === 0) continue;
        const bytes = rest.subarray(0, whole);
        await this.#write((operation) => insertChunks(operation, { contentId, first, bytes }));
        rest = rest.slice(whole);
        first += Math.floor(whole / CHUNK_BYTES);
        if (isDone) return { kind: "chunks", contentId, size: first * CHUNK_BYTES + (whole % CHUNK_BYTES) };
      }
      return { kind: "chunks", contentId, size: first * CHUNK_BYTES };
    } catch (error) {
      await this.#dropStaged(contentId);
      throw error;
    }
  }

  async #note(key: string): Promise<void> {
    await this.#write(function* (operation) {
      yield* operation.tables.make();
      yield* all(`INSERT INTO ${operation.tables.garbage} (key, since) VALUES (?, ?)`, key, operation.now);
    });
  }

  async #dropStaged(contentId: string): Promise<void> {
    await this.#write(function* (operation) {
      yield* dropContents(operation, [contentId]);
      yield* all(`DELETE FROM ${operation.tables.garbage} WHERE key = ?`, garbageKeyOf(contentId));
    });
  }

  /** Deletes what a crash left behind. */
  async #sweep(): Promise<void> {
    const old = await this.#write(function* ({ tables, now }): SqlSteps<{ key: string }[]> {
      if (!(yield* tables.exist())) return [];
      return yield* all<{ key: string }>(
        `SELECT key FROM ${tables.garbage} WHERE since < ? LIMIT ${SWEEP_KEYS}`,
        now - GARBAGE_AGE_MS
      );
    });
    const prefix = garbageKeyOf("");
    for (const { key } of old) if (key.startsWith(prefix)) await this.#dropStaged(key.slice(prefix.length));
    await this.deleteObjects(old.filter(({ key }) => !key.startsWith(prefix)).map(({ key }) => key));
  }

  #write<T>(work: (operation: Operation) => SqlSteps<T>): MaybePromise<T> {
    const { runner, tables } = this.#store;
    return runner.write(() => work(new Operation(tables, this.#now())));
  }
}

async function readHead(reader: ByteReader, wantedBytes: number): Promise<{ head: Uint8Array; isWhole: boolean }> {
  const parts: Uint8Array[] = [];
  let size = 0;
  let isWhole = false;
  while (size < wantedBytes && !isWhole) {
    const { done, value } = await reader.read();
    if (value) {
      parts.push(value);
      size += value.byteLength;
    }
    isWhole = done;
  }
  const head = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    head.set(part, at);
    at += part.byteLength;
  }
  return { head, isWhole };
}
