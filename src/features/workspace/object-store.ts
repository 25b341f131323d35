// Large files in R2. An object is never overwritten: each content has a key of its own, and the entry's row says which
// one counts. A key is written down as garbage before its object is made and struck out by the commit that uses it, so
// whatever a crash leaves behind is found and deleted later.
import { FileError, workspaceErrors } from "./errors.ts";
import { checkSize, type StagedContent } from "./store/contents.ts";

/** An `R2Bucket`, as far as it is used. */
export interface ObjectBucket {
  put(
    key: string,
    value: Uint8Array | ReadableStream,
    options?: { httpMetadata?: { contentType?: string } }
  ): Promise<unknown>;
  get(
    key: string,
    options?: { range?: { offset: number; length?: number } }
  ): Promise<{ readonly body: ReadableStream; arrayBuffer(): Promise<ArrayBuffer> } | null>;
  delete(keys: string | string[]): Promise<void>;
  createMultipartUpload(key: string, options?: { httpMetadata?: { contentType?: string } }): Promise<MultipartUpload>;
}

export interface MultipartUpload {
  uploadPart(partNumber: number, value: Uint8Array): Promise<UploadedPart>;
  complete(parts: UploadedPart[]): Promise<unknown>;
  abort(): Promise<void>;
}

export interface UploadedPart {
  readonly partNumber: number;
  readonly etag: string;
}

/** Bytes of a part: R2 wants parts of one size, of 5 MiB at least. */
const PART_BYTES = 8 * 1024 * 1024;

export class ObjectStore {
  readonly #given: ObjectBucket | undefined;
  readonly #namespace: string;
  readonly #prefix: () => string | undefined;

  constructor(bucket: ObjectBucket | undefined, namespace: string, prefix: () => string | undefined) {
    this.#given = bucket;
    this.#namespace = namespace;
    this.#prefix = prefix;
  }

  get isAvailable(): boolean {
    return this.#given !== undefined;
  }

  /** Makes a fresh key for a file's content. */
  newKey(path: string): string {
    const prefix = this.#prefix();
    if (prefix === undefined || prefix === "")
      throw workspaceErrors.WorkspaceSetupError(
        "A large file cannot be stored: the workspace does not know where in the bucket.",
        "Give the workspace `r2Prefix`, or `name`."
      );
    return `${prefix}/${this.#namespace}${path}#${crypto.randomUUID()}`;
  }

  async put(key: string, bytes: Uint8Array, mimeType: string): Promise<StagedContent> {
    await this.#bucket(key).put(key, bytes, { httpMetadata: { contentType: mimeType } });
    return { kind: "r2", key, size: bytes.byteLength };
  }

  /** Stores a stream; `head` is what was read of it already. */
  async putStream(
    key: string,
    source: { readonly head: Uint8Array; readonly reader: ByteReader },
    mimeType: string
  ): Promise<StagedContent> {
    const upload = await this.#bucket(key).createMultipartUpload(key, { httpMetadata: { contentType: mimeType } });
    try {
      const parts: UploadedPart[] = [];
      let size = 0;
      for await (const part of cutIntoParts(source)) {
        size += part.byteLength;
        checkSize(size);
        parts.push(await upload.uploadPart(parts.length + 1, part));
      }
      await upload.complete(parts);
      return { kind: "r2", key, size };
    } catch (error) {
      // The failure is what counts; parts of an upload that was not completed expire by themselves.
      await upload.abort().catch(() => undefined);
      throw error;
    }
  }

  async read(key: string, path: string): Promise<Uint8Array> {
    return new Uint8Array(await (await this.#object(key, path)).arrayBuffer());
  }

  async openStream(
    key: string,
    path: string,
    { start, end }: { start: number; end: number } = { start: 0, end: Infinity }
  ): Promise<ReadableStream<Uint8Array>> {
    if (start === 0 && end === Infinity) return (await this.#object(key, path)).body;
    const range = end === Infinity ? { offset: start } : { offset: start, length: end - start };
    return (await this.#object(key, path, { range })).body;
  }

  async delete(keys: readonly string[]): Promise<void> {
    // R2 deletes up to 1,000 keys with one call.
    for (let start = 0; start < keys.length; start += 1_000)
      await this.#given?.delete(keys.slice(start, start + 1_000));
  }

  async #object(key: string, path: string, options: { range?: { offset: number; length?: number } } = {}) {
    const object = await this.#bucket(path).get(key, options);
    if (object) return object;
    throw new FileError("EIO", `the content of ${path} is missing in R2`, `There is no object "${key}" in the bucket.`);
  }

  #bucket(path: string): ObjectBucket {
    if (this.#given) return this.#given;
    throw workspaceErrors.WorkspaceSetupError(
      `The content of ${path} is in R2, and this workspace has no bucket.`,
      "Give the workspace the bucket as `r2`."
    );
  }
}

export interface ByteReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

/** Cuts the stream into parts of one size; the last may be smaller. */
async function* cutIntoParts({
  head,
  reader
}: {
  readonly head: Uint8Array;
  readonly reader: ByteReader;
}): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(PART_BYTES);
  let filled = 0;
  let isFirst = true;
  for (let chunk: Uint8Array | undefined = head; chunk !== undefined; chunk = (await reader.read()).value) {
    for (let at = 0; at < chunk.byteLength;) {
      const piece = chunk.subarray(at, at + PART_BYTES - filled);
      buffer.set(piece, filled);
      filled += piece.byteLength;
      at += piece.byteLength;
      if (filled < PART_BYTES) continue;
      yield buffer.slice();
      isFirst = false;
      filled = 0;
    }
  }
  if (filled > 0 || isFirst) yield buffer.slice(0, filled);
}
