// The tables of one workspace. Owner: this folder. They are made on the first write and read as empty before; destroying
// the agent removes them with its database. Bounds: a file has at most 100 MB, the history 20 versions a file and 64 MB.
// The first table has the columns of the original's, so that one written by it is read as it is.
import { workspaceErrors } from "../errors.ts";
import { all, one, type Runner, type SqlSteps } from "./sql.ts";

/** The most bytes of content that is part of its entry's row; renaming a directory rewrites only rows. */
export const INLINE_BYTES = 16 * 1024;
/** Bytes of a row into which larger content is cut: an append rewrites the last one only. */
export const CHUNK_BYTES = 256 * 1024;

const MAX_SEEN = 2_000;

/** The column that marks a table of ours; the original's has no such column. */
const OWN_COLUMN = "content_id";

export class Tables {
  readonly namespace: string;
  readonly entries: string;
  readonly chunks: string;
  readonly versions: string;
  readonly garbage: string;
  /** The tables were seen: another workspace on the same files may make them at any time. */
  #exist = false;
  /** Bytes of the history, as counted against its limit; undefined until they are summed up. */
  heldBytes: number | undefined;

  constructor(namespace: string, runner: Runner) {
    if (!/^[a-zA-Z][a-zA-Z0-9_]*$/.test(namespace))
      throw workspaceErrors.WorkspaceSetupError(
        `"${namespace}" is no name for a workspace.`,
        "A namespace has letters, digits and underscores, and begins with a letter."
      );
    this.namespace = namespace;
    this.entries = `cf_workspace_${namespace}`;
    this.chunks = `cf_workspace_${namespace}__chunks`;
    this.versions = `cf_workspace_${namespace}__versions`;
    this.garbage = `cf_workspace_${namespace}__garbage`;
    runner.onUndone(() => {
      this.#exist = false;
      this.heldBytes = undefined;
    });
  }

  /** Whether the tables were seen; otherwise `exist` looks. */
  get areKnown(): boolean {
    return this.#exist;
  }

  readonly #texts = new Map<(tables: Tables) => string, string>();

  /** Writes a statement's text once: for a small file, joining it takes as long as running the statement. */
  text(write: (tables: Tables) => string): string {
    let text = this.#texts.get(write);
    if (text === undefined) this.#texts.set(write, (text = write(this)));
    return text;
  }

  /** Files that were there lately. It only hints which statement to try first. */
  readonly #seen = new Set<string>();

  hasSeen(path: string): boolean {
    return this.#seen.has(path);
  }

  see(path: string): void {
    if (this.#seen.size >= MAX_SEEN) this.#seen.clear();
    this.#seen.add(path);
  }

  /** Looks whether the tables exist. False: nothing was ever written. */
  *exist(): SqlSteps<boolean> {
    if (!this.#exist) {
      const columns = yield* all<{ name: string }>(`PRAGMA table_info(${this.entries})`);
      const isOurs = columns.some(({ name }) => name === OWN_COLUMN);
      if (columns.length > 0 && !isOurs) yield* this.#adopt();
      this.#exist = columns.length > 0;
    }
    return this.#exist;
  }

  *make(): SqlSteps<void> {
    if (yield* this.exist()) return;
    yield* all(`CREATE TABLE IF NOT EXISTS ${this.entries} (
      path TEXT PRIMARY KEY, parent_path TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, mime_type TEXT,
      size INTEGER NOT NULL DEFAULT 0, storage_backend TEXT NOT NULL DEFAULT 'inline', r2_key TEXT, target TEXT,
      content_encoding TEXT NOT NULL DEFAULT 'bytes', created_at INTEGER NOT NULL, modified_at INTEGER NOT NULL,
      content_id TEXT, turn_id TEXT, content BLOB)`);
    yield* this.#makeSides();
    this.#exist = true;
  }

  /** Gives a table of the original our columns; its rows stay as they are. */
  *#adopt(): SqlSteps<void> {
    yield* all(`ALTER TABLE ${this.entries} ADD COLUMN turn_id TEXT`);
    yield* all(`ALTER TABLE ${this.entries} ADD COLUMN content_id TEXT`);
    yield* this.#makeSides();
  }

  *#makeSides(): SqlSteps<void> {
    const { entries, chunks, versions, garbage } = this;
    yield* all(`CREATE INDEX IF NOT EXISTS ${entries}__children ON ${entries} (parent_path, type, name)`);
    yield* all(
      `CREATE INDEX IF NOT EXISTS ${entries}__content ON ${entries} (content_id) WHERE storage_backend = 'chunks'`
    );
    yield* all(
      `CREATE TABLE IF NOT EXISTS ${chunks} (content_id TEXT NOT NULL, chunk INTEGER NOT NULL, bytes BLOB NOT NULL,
      PRIMARY KEY (content_id, chunk))`
    );
    // `held`: bytes counted against the limit of the history. `change`: what ended this version.
    yield* all(`CREATE TABLE IF NOT EXISTS ${versions} (
      version INTEGER PRIMARY KEY, path TEXT NOT NULL, mime_type TEXT, size INTEGER NOT NULL,
      storage_backend TEXT NOT NULL, content_encoding TEXT NOT NULL, content_id TEXT, modified_at INTEGER NOT NULL,
      turn_id TEXT, change TEXT NOT NULL, replaced_at INTEGER NOT NULL, replaced_turn_id TEXT, held INTEGER NOT NULL,
      content BLOB)`);
    yield* all(`CREATE INDEX IF NOT EXISTS ${versions}__path ON ${versions} (path, version)`);
    yield* all(
      `CREATE INDEX IF NOT EXISTS ${versions}__content ON ${versions} (content_id) WHERE storage_backend = 'chunks'`
    );
    // Objects in R2, and contents without an entry, that have to go. Written before they are made.
    yield* all(`CREATE TABLE IF NOT EXISTS ${garbage} (key TEXT PRIMARY KEY, since INTEGER NOT NULL)`);
  }

  /** Counts the bytes of the history: they are summed up once per start, then advanced with every change. */
  *held(): SqlSteps<number> {
    if (this.heldBytes === undefined) {
      const row = yield* one<{ held: number | null }>(`SELECT SUM(held) AS held FROM ${this.versions}`);
      this.heldBytes = row?.held ?? 0;
    }
    return this.heldBytes;
  }
}
