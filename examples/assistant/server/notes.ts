// The notes of one conversation: rows in its own SQLite, gone with it. The same text is the same note, so that a call
// that was interrupted can be repeated. Ids are never used twice: an approval of a deletion is about one note for ever.
import type { Agent } from "everthink/agent";

export interface Note {
  id: number;
  text: string;
}

/** A further one is refused. */
export const MAX_NOTES = 200;
export const MAX_NOTE_LENGTH = 500;

export class NotebookFullError extends Error {
  override readonly name = "NotebookFullError";
  constructor() {
    super(`There are ${MAX_NOTES} notes already. Delete one first.`);
  }
}

export class NoSuchNoteError extends Error {
  override readonly name = "NoSuchNoteError";
  constructor({ id, text }: Note) {
    super(`There is no note ${id} that says "${text}".`);
  }
}

export class Notebook {
  readonly #agent: Pick<Agent, "sql">;

  constructor(agent: Pick<Agent, "sql">) {
    this.#agent = agent;
  }

  /** Call it when the agent starts. */
  open(): void {
    this.#agent.sql`CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL UNIQUE)`;
  }

  take(text: string): Note {
    const known = this.#agent.sql<Note>`SELECT id, text FROM notes WHERE text = ${text}`;
    if (known[0]) return known[0];
    if (this.list().length >= MAX_NOTES) throw new NotebookFullError();
    const [taken] = this.#agent.sql<Note>`INSERT INTO notes (text) VALUES (${text}) RETURNING id, text`;
    if (!taken) throw new Error("The note was not stored.");
    return taken;
  }

  list(): Note[] {
    return this.#agent.sql<Note>`SELECT id, text FROM notes ORDER BY id`;
  }

  /** The note with this id, if it still says what the caller thinks it says. */
  find(wanted: Note): Note {
    const [found] = this.#agent.sql<Note>`SELECT id, text FROM notes WHERE id = ${wanted.id}`;
    if (found?.text !== wanted.text) throw new NoSuchNoteError(wanted);
    return found;
  }

  delete(note: Note): void {
    const { id } = this.find(note);
    this.#agent.sql`DELETE FROM notes WHERE id = ${id}`;
  }
}
