// The transcript of the original: messages with their branches, summaries, memory blocks and search entries. The older
// layout has the tables that session/take-over.ts moves; rows of the newer one are brought into that shape first. Texts
// and files that it keeps in pieces are put together one message at a time.
import { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import { SET_ASIDE_SUFFIX } from "../host/schema.ts";
import type { TakeoverPart } from "../host/takeover.ts";
import { encodeMessage, keepFull, messageOwner } from "../session/message-body.ts";
import { parseStoredMessage, type SessionMessage } from "../session/session-message.ts";
import { moveOriginalSession } from "../session/take-over.ts";
import { encodeBase64 } from "../util/bytes.ts";
import { isObject } from "../util/json.ts";

const NEWER = "cf_agents_session_messages";
const NO_MESSAGE = "type IS NOT 'message'";
const ATTACHMENT = /^attachment:sha256:([0-9a-f]{64})$/;

const STAGE_NEWER = [
  `CREATE TABLE assistant_messages${SET_ASIDE_SUFFIX} (id TEXT NOT NULL, session_id TEXT NOT NULL, parent_id TEXT,
     role TEXT NOT NULL, content TEXT NOT NULL, created_at TEXT, PRIMARY KEY (id, session_id))`,
  `INSERT INTO assistant_messages${SET_ASIDE_SUFFIX} (id, session_id, parent_id, role, content, created_at)
   SELECT id, session_id, parent_id, role, content, datetime(created_at / 1000, 'unixepoch') FROM ${NEWER} WHERE type = 'message'
   ORDER BY seq`,
  `CREATE TABLE assistant_compactions${SET_ASIDE_SUFFIX} (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, summary TEXT,
     from_message_id TEXT, to_message_id TEXT, created_at TEXT)`,
  `INSERT OR IGNORE INTO assistant_compactions${SET_ASIDE_SUFFIX}
   SELECT id, session_id, summary, from_message_id, to_message_id, datetime(created_at / 1000, 'unixepoch')
   FROM cf_agents_session_compactions ORDER BY seq`
];

export const MESSAGES: TakeoverPart = {
  kind: "messages",
  tables:
    /^(?:assistant_(?:messages|compactions|fts\w*)|cf_agents_(?:session_(?:messages|message_chunks|compactions|attachment_\w+)|context_blocks|search_\w+))$/,
  // Ours have the names of some of them; what is left of the others is dropped by `moveOriginalSession` and below.
  keepsTables: true,
  refuses: ({ count }) => [{ what: "entries of a session that are no messages", rows: count(NEWER, NO_MESSAGE) }],
  carry({ sql, has, count }) {
    const isNewer = has(NEWER);
    // The older table has been set aside under another name by now.
    const older = has("assistant_messages") ? `assistant_messages${SET_ASIDE_SUFFIX}` : undefined;
    const found = isNewer ? count(NEWER) : older === undefined ? 0 : rowsIn(sql, older);
    if (isNewer) for (const statement of STAGE_NEWER) sql.run(statement);
    sql.catalog.refresh();
    moveOriginalSession(sql, () => (isNewer ? completeBodies(sql) : undefined));
    const others = count(NEWER, NO_MESSAGE);
    // Entries of another kind are here only if the class gives them up: they stay where they are.
    for (const name of isNewer && others === 0 ? NEWER_TABLES : []) sql.run(`DROP TABLE IF EXISTS ${name}`);
    return { found, carried: found === 0 ? 0 : rowsIn(sql, "assistant_messages"), left: others };
  }
};

const NEWER_TABLES = [
  "cf_agents_session_attachment_refs",
  "cf_agents_session_attachment_chunks",
  "cf_agents_session_attachment_meta",
  "cf_agents_session_message_chunks",
  "cf_agents_session_compactions",
  NEWER
];

function rowsIn(sql: Sql, table: string): number {
  return sql.one<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`)?.count ?? 0;
}

interface PiecedMessage {
  readonly session_id: string;
  readonly id: string;
}

/** Before the sums of paths are made: the sizes change here. */
function completeBodies(sql: Sql): void {
  const pieced = sql.all<PiecedMessage>(
    `SELECT session_id, id FROM ${NEWER} AS m WHERE content_chunks > 0 OR EXISTS (
       SELECT 1 FROM cf_agents_session_attachment_refs AS ref WHERE ref.session_id = m.session_id AND ref.message_id = m.id)`
  );
  const blobs = new Blobs(sql);
  for (const row of pieced) {
    const parsed = parseStoredMessage(wholeText(sql, row));
    // One that cannot be read is kept as it is and set aside when it is shown, as any other of its kind.
    if (!parsed.ok) continue;
    const body = encodeMessage(withFiles(sql, parsed.value));
    const full = keepFull(blobs, body.full, messageOwner(row.session_id, row.id));
    sql.run(
      `UPDATE assistant_messages SET content = ?, size_bytes = ?, tokens = ?, full_hash = ?, full_bytes = ?
       WHERE session_id = ? AND id = ?`,
      ...[
        body.content,
        body.sizeBytes,
        body.tokens,
        full?.hash ?? null,
        full?.sizeBytes ?? null,
        row.session_id,
        row.id
      ]
    );
  }
}

function wholeText(sql: Sql, { session_id, id }: PiecedMessage): string {
  const chunks = sql.all<{ content: string }>(
    "SELECT content FROM cf_agents_session_message_chunks WHERE session_id = ? AND id = ? ORDER BY idx",
    session_id,
    id
  );
  if (chunks.length > 0) return chunks.map(({ content }) => content).join("");
  const query = `SELECT content FROM ${NEWER} WHERE session_id = ? AND id = ?`;
  return sql.one<{ content: string }>(query, session_id, id)?.content ?? "";
}

/** Files that are kept apart come back into their message, as the data that was sent. */
function withFiles(sql: Sql, message: SessionMessage): SessionMessage {
  const restored = restore(message.parts, (hash) => dataUrl(sql, hash));
  return { ...message, parts: restored as SessionMessage["parts"] };
}

function restore(value: unknown, read: (hash: string) => string | undefined): unknown {
  if (typeof value === "string") return read(ATTACHMENT.exec(value)?.[1] ?? "") ?? value;
  if (Array.isArray(value)) return value.map((item) => restore(item, read));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, restore(item, read)]));
}

function dataUrl(sql: Sql, hash: string): string | undefined {
  if (hash === "") return undefined;
  const meta = sql.one<{ type: string; bytes: number }>(
    "SELECT media_type AS type, bytes FROM cf_agents_session_attachment_meta WHERE hash = ?",
    hash
  );
  if (!meta) return undefined;
  const chunks = sql.all<{ data: Uint8Array }>(
    "SELECT data FROM cf_agents_session_attachment_chunks WHERE hash = ? ORDER BY idx",
    hash
  );
  const bytes = new Uint8Array(meta.bytes);
  let at = 0;
  for (const { data } of chunks) {
    bytes.set(data, at);
    at += data.byteLength;
  }
  return `data:${meta.type};base64,${encodeBase64(bytes)}`;
}
