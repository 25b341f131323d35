// Searching a session's history: every word, in any branch, also of messages that a summary hides; messages that hold
// the words next to each other come first, then the best by bm25. A search indexes what is new before it answers.
import type { MessageStore } from "./message-store.ts";
import { searchText } from "./search-index.ts";
import { labelOf } from "./session-host.ts";
import { matchQuery, phraseQuery } from "./search-query.ts";

/** Results of one search when the caller names no limit, and at most. */
export const DEFAULT_SEARCH_RESULTS = 20;
export const MAX_SEARCH_RESULTS = 100;

/** A message that was found. */
export interface SearchResult {
  readonly id: string;
  readonly role: string;
  /** The message's text. */
  readonly content: string;
  readonly createdAt?: Date;
  /** The message it follows; null for the first of a conversation. */
  readonly parentId?: string | null;
  /** False for a message of another branch: `getHistory(id)` shows it with what came before it. */
  readonly onActivePath?: boolean;
}

/** Best first. Nothing to look for finds nothing; no text is an error. */
export async function searchMessages(store: MessageStore, query: string, limit: number): Promise<SearchResult[]> {
  const expressions = [phraseQuery(query), matchQuery(query)].filter((expression) => expression !== undefined);
  if (expressions.length === 0 || limit === 0) return [];
  // Long histories are indexed in several transactions, and others get their turn in between.
  while (!store.index.catchUp()) await store.scope.host.pause?.();
  const ids = new Set(expressions.flatMap((expression) => find(store, expression, limit)));
  return describe(store, [...ids].slice(0, limit));
}

/** A whole number of results from 0 to the maximum. */
export function searchLimit(limit: number | undefined): number {
  if (limit === undefined || Number.isNaN(limit)) return DEFAULT_SEARCH_RESULTS;
  return Math.min(MAX_SEARCH_RESULTS, Math.max(0, Math.floor(limit)));
}

/** An index that cannot be read is made again, once. */
function find(store: MessageStore, expression: string, limit: number): string[] {
  try {
    return store.index.find(expression, limit);
  } catch (error) {
    console.warn(
      `${labelOf(store.scope.host)}the search index (cf_search_text) could not be read and is made anew.`,
      error
    );
    store.index.drop();
    while (!store.index.catchUp());
    return store.index.find(expression, limit);
  }
}

interface Place {
  readonly id: string;
  readonly role: string;
  readonly parentId: string | null;
  readonly sequence: number;
  readonly createdAt: string;
}

function describe(store: MessageStore, ids: readonly string[]): SearchResult[] {
  const places = ids.flatMap((id) => placeOf(store, id) ?? []);
  const isOnActivePath = activePath(store, places);
  return places.flatMap((place) => {
    const message = store.getMessage(place.id);
    if (message === null) return [];
    const createdAt = message.createdAt ?? storedTime(place.createdAt);
    return {
      id: place.id,
      role: place.role,
      content: searchText(message),
      createdAt,
      parentId: place.parentId,
      onActivePath: isOnActivePath(place.id)
    };
  });
}

function placeOf(store: MessageStore, id: string): Place | undefined {
  return store.rows.table.one<Place>(
    `SELECT id, role, parent_id AS parentId, sequence, created_at AS createdAt FROM assistant_messages
       WHERE session_id = ? AND id = ?`,
    store.scope.sessionId,
    id
  );
}

/** Walks from the newest message up to the oldest of those asked about, and returns only these. */
const ON_ACTIVE_PATH = `WITH RECURSIVE path AS (
    SELECT session_id, id, parent_id, sequence FROM assistant_messages WHERE session_id = ? AND id = ?
    UNION ALL
    SELECT m.session_id, m.id, m.parent_id, m.sequence
      FROM path CROSS JOIN assistant_messages AS m ON m.session_id = path.session_id AND m.id = path.parent_id
      WHERE m.sequence < path.sequence AND m.sequence >= ?
  ) SELECT id FROM path WHERE id IN (SELECT value FROM json_each(?))`;

/** Without branches every message is on the path, and nothing needs to be walked. */
function activePath(store: MessageStore, places: readonly Place[]): (id: string) => boolean {
  const { sessionId } = store.scope;
  const { table } = store.rows;
  const starts = table.all(
    "SELECT 1 FROM assistant_messages WHERE session_id = ? AND is_branch = 1 LIMIT 2",
    sessionId
  );
  if (starts.length < 2) return () => true;
  const oldest = Math.min(...places.map(({ sequence }) => sequence));
  const asked = JSON.stringify(places.map(({ id }) => id));
  const found = table.all<{ id: string }>(ON_ACTIVE_PATH, sessionId, store.leafId, oldest, asked);
  const path = new Set(found.map(({ id }) => id));
  return (id) => path.has(id);
}

/** The column is SQLite's form of a time in UTC, without saying so. */
function storedTime(text: string): Date | undefined {
  const time = new Date(`${text.replace(" ", "T").replace(/Z$/, "")}Z`);
  return Number.isFinite(time.getTime()) ? time : undefined;
}
