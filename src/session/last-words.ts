// When a conversation was last spoken in, what it is about and what was said last, read from the rows of an agent's database: a
// program on the same machine lists agents by it without starting one. A row that cannot be read is left out.

/** Runs one statement. */
export type ReadRows = (query: string) => readonly Readonly<Record<string, unknown>>[];

export interface LastWords {
  /** Of the newest message of any conversation; null: nothing was said yet. */
  readonly spokenAt: number | null;
  /** How the first question begins. */
  readonly title: string | null;
  /** How the newest message begins. */
  readonly words: string | null;
}

const NOTHING_SAID: LastWords = { spokenAt: null, title: null, words: null };
const MAX_CONVERSATIONS = 20;
const TITLE_CHARACTERS = 80;
const WORDS_CHARACTERS = 160;

/** The first text of a message. */
const textOf = (characters: number) => `CASE WHEN json_valid(message.content) THEN
  (SELECT substr(json_extract(part.value, '$.text'), 1, ${characters}) FROM json_each(message.content, '$.parts') AS part
    WHERE json_extract(part.value, '$.type') = 'text' LIMIT 1) END`;

const NEWEST = `SELECT message.session_id, message.created_at, ${textOf(WORDS_CHARACTERS)} AS words
  FROM (SELECT id, leaf FROM cf_conversations LIMIT ${MAX_CONVERSATIONS}) AS conversation
  JOIN assistant_messages AS message ON message.session_id = conversation.id AND message.id = conversation.leaf
  ORDER BY message.created_at DESC LIMIT 1`;

const firstQuestion = (conversation: string) => `SELECT ${textOf(TITLE_CHARACTERS)} AS title
  FROM assistant_messages AS message WHERE message.session_id = '${conversation.replaceAll("'", "''")}'
    AND message.role = 'user' ORDER BY message.sequence LIMIT 1`;

/** An agent without a conversation has no such tables: nothing was said there. */
export function readLastWords(read: ReadRows): LastWords {
  const tables = read("SELECT name FROM sqlite_master WHERE name IN ('cf_conversations', 'assistant_messages')");
  const [newest] = tables.length === 2 ? read(NEWEST) : [];
  const at = utcTime(String(newest?.["created_at"]));
  if (newest === undefined || Number.isNaN(at)) return NOTHING_SAID;
  const [first] = read(firstQuestion(String(newest["session_id"])));
  return { spokenAt: at, title: line(first?.["title"]), words: line(newest["words"]) };
}

/** SQLite's own clock leaves the zone out, which is UTC. */
function utcTime(text: string): number {
  return Date.parse(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?$/.test(text) ? `${text.replace(" ", "T")}Z` : text);
}

function line(text: unknown): string | null {
  const squeezed = typeof text === "string" ? text.replaceAll(/\s+/g, " ").trim() : "";
  return squeezed === "" ? null : squeezed;
}
