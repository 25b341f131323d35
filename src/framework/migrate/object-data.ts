// A dry run of the take-over on the data of a local server: each object's file is copied, taken over as at its first start,
// and the copy thrown away. What comes out is what the object will report, or why it will be refused.
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { EVERY_AGENT_TAKEOVER } from "../../takeover/agent.ts";
import type { Sql, SqlValue } from "../../host/ports.ts";
import { openSchema } from "../../host/schema.ts";
import { Catalog } from "../../host/table-set.ts";
import { OriginalObjectError, type TakeoverLoss, type TakeoverReport } from "../../host/takeover.ts";
import { THINK_TAKEOVER } from "../../takeover/parts.ts";

export interface ObjectResult {
  /** Folder of the class, and id. */
  readonly object: string;
  /** Undefined: it is ours already, or no agent's. */
  readonly report?: TakeoverReport;
  readonly refused?: readonly TakeoverLoss[];
  /** The file could not be read. */
  readonly error?: string;
}

/** Objects and their children: `<id>.sqlite`, `<id>.1.sqlite`. */
const OBJECT_FILE = /^[0-9a-f]{64}(?:\.\d+)*\.sqlite$/;

export function tryObjects(folder: string): ObjectResult[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    OBJECT_FILE.test(basename(name))
  );
  return files.toSorted().map((file) => tryObject(join(folder, file)));
}

function tryObject(file: string): ObjectResult {
  const object = `${basename(dirname(file))}/${basename(file, ".sqlite").replace(/^([0-9a-f]{12})[0-9a-f]+/, "$1…")}`;
  const scratch = mkdtempSync(join(tmpdir(), "everthink-migrate-"));
  try {
    const copy = join(scratch, "object.sqlite");
    // Its newest writes may still be in the log beside it.
    for (const suffix of ["", "-wal"]) if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
    const database = new DatabaseSync(copy);
    try {
      // The copy is thrown away: it need not be safe on the disk.
      database.exec("PRAGMA synchronous = OFF");
      const { takenOver } = openSchema(new FileSql(database), {
        parts: [...EVERY_AGENT_TAKEOVER, ...THINK_TAKEOVER],
        lossyKinds: [],
        now: Date.now,
        newId: () => crypto.randomUUID(),
        arm: () => {}
      });
      return takenOver ? { object, report: takenOver } : { object };
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof OriginalObjectError) return { object, refused: error.refused };
    return { object, error: error instanceof Error ? error.message : String(error) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The storage of an object in Node, as far as a take-over needs it. */
class FileSql implements Sql {
  readonly catalog: Catalog;
  rollbacks = 0;
  readonly #database: DatabaseSync;
  #depth = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.catalog = new Catalog(this);
  }

  all<Row extends object>(query: string, ...values: SqlValue[]): Row[] {
    return this.#database.prepare(query).all(...this.#bound(values)) as Row[];
  }

  one<Row extends object>(query: string, ...values: SqlValue[]): Row | undefined {
    return this.#database.prepare(query).get(...this.#bound(values)) as Row | undefined;
  }

  run(query: string, ...values: SqlValue[]): { readonly changed: number } {
    return { changed: Number(this.#database.prepare(query).run(...this.#bound(values)).changes) };
  }

  transaction<T>(work: () => T): T {
    const point = `nested_${this.#depth}`;
    this.#depth += 1;
    this.#database.exec(`SAVEPOINT ${point}`);
    try {
      const result = work();
      this.#database.exec(`RELEASE ${point}`);
      return result;
    } catch (error) {
      this.rollbacks += 1;
      this.#database.exec(`ROLLBACK TO ${point}; RELEASE ${point}`);
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  /** Nothing in a dry run waits for the end of a transaction. */
  afterTransaction(): void {}

  #bound(values: readonly SqlValue[]): SQLInputValue[] {
    return [...values];
  }
}
