// A database and a bucket for tests of the workspace: SQLite in memory behind the Sql port with the platform's limits,
// counting statements and failing on request; R2 in memory.
import { DatabaseSync } from "node:sqlite";
import type { Sql, SqlRow, SqlValue } from "../../host/ports.ts";
import { withCatalog } from "../../host/sql.ts";
import { Transactions } from "../../host/transactions.ts";
import type { ObjectBucket, UploadedPart } from "./object-store.ts";
import { Workspace, type WorkspaceOptions } from "./workspace.ts";

const VALUE_LIMIT_BYTES = 2 * 1024 * 1024;
const PARAMETER_LIMIT = 100;

export class TestDatabase {
  readonly sqlite = new DatabaseSync(":memory:");
  readonly #transactions = new Transactions();
  statements = 0;
  /** Thrown instead of running a statement for which it returns an error. */
  failure: (query: string) => Error | undefined = () => undefined;

  readonly sql: Sql = withCatalog({
    rollbacks: 0,
    all: <Row extends object = SqlRow>(query: string, ...values: SqlValue[]) => this.#all(query, values) as Row[],
    one: <Row extends object = SqlRow>(query: string, ...values: SqlValue[]) =>
      this.#all(query, values)[0] as Row | undefined,
    run: (query, ...values) => {
      this.#all(query, values);
      return { changed: 0 };
    },
    transaction: (work) => this.#transactions.run((inner) => this.#savepoint(inner), work),
    afterTransaction: (end) => this.#transactions.after(end)
  });

  count(table: string): number {
    const row = this.sqlite.prepare(`SELECT COUNT(*) AS count FROM ${table}`).get();
    return Number(row?.["count"]);
  }

  #all(query: string, values: readonly SqlValue[]): SqlRow[] {
    this.statements += 1;
    const failure = this.failure(query);
    if (failure) throw failure;
    if (values.length > PARAMETER_LIMIT) throw new Error("too many SQL variables: SQLITE_ERROR");
    for (const value of values) {
      const size = typeof value === "string" ? value.length : value instanceof Uint8Array ? value.byteLength : 0;
      if (size > VALUE_LIMIT_BYTES) throw new Error("string or blob too big: SQLITE_TOOBIG");
    }
    return this.sqlite.prepare(query).all(...values) as SqlRow[];
  }

  #depth = 0;
  #savepoint<T>(work: () => T): T {
    const name = `level_${this.#depth}`;
    this.sqlite.exec(`SAVEPOINT ${name}`);
    this.#depth += 1;
    try {
      const result = work();
      this.sqlite.exec(`RELEASE ${name}`);
      return result;
    } catch (error) {
      this.sqlite.exec(`ROLLBACK TO ${name}; RELEASE ${name}`);
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }
}

/** R2 as far as it is used. */
export class TestBucket implements ObjectBucket {
  readonly objects = new Map<string, { bytes: Uint8Array; contentType: string | undefined }>();
  readonly uploads: number[] = [];
  failure: (call: "put" | "delete", key: string) => Error | undefined = () => undefined;

  async put(key: string, value: Uint8Array | ReadableStream, options?: { httpMetadata?: { contentType?: string } }) {
    const failure = this.failure("put", key);
    if (failure) throw failure;
    const bytes = value instanceof Uint8Array ? value.slice() : await bytesOf(value);
    this.objects.set(key, { bytes, contentType: options?.httpMetadata?.contentType });
  }

  async get(key: string, { range }: { range?: { offset: number; length?: number } } = {}) {
    const object = this.objects.get(key);
    if (!object) return null;
    const { offset = 0, length = object.bytes.byteLength } = range ?? {};
    return {
      body: new Blob([object.bytes.slice(offset, offset + length)]).stream(),
      arrayBuffer: async () => object.bytes.slice().buffer
    };
  }

  async delete(keys: string | string[]) {
    for (const key of [keys].flat()) {
      const failure = this.failure("delete", key);
      if (failure) throw failure;
      this.objects.delete(key);
    }
  }

  async createMultipartUpload(key: string, options?: { httpMetadata?: { contentType?: string } }) {
    const parts = new Map<number, Uint8Array>();
    return {
      uploadPart: async (partNumber: number, value: Uint8Array): Promise<UploadedPart> => {
        this.uploads.push(value.byteLength);
        parts.set(partNumber, value.slice());
        return { partNumber, etag: `part-${partNumber}` };
      },
      complete: async (uploaded: UploadedPart[]) => {
        await this.put(
          key,
          new Uint8Array(
            await new Blob(
              uploaded.map(({ partNumber }) => (parts.get(partNumber) ?? new Uint8Array()).slice())
            ).arrayBuffer()
          ),
          options
        );
      },
      abort: async () => parts.clear()
    };
  }
}

export async function bytesOf(stream: ReadableStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function openWorkspace(options: Partial<WorkspaceOptions> = {}): { files: Workspace; database: TestDatabase } {
  const database = new TestDatabase();
  let now = Date.UTC(2026, 0, 1);
  const files = new Workspace({ sql: database.sql, now: () => (now += 1), ...options });
  return { files, database };
}

/** Bytes that differ everywhere, so that a chunk in the wrong place shows. */
export function patternedBytes(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

export function streamOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const rest = [...pieces];
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = rest.shift();
      if (piece) controller.enqueue(piece);
      else controller.close();
    }
  });
}
