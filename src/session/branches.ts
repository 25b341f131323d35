// The versions of messages: which stand beside those of a path, and the move to another one. Versions are messages below
// the same parent, in the order of their writing: an edited message was written last, whatever its id, and stands last.
// Listing costs what is listed. A move scans the session once, and afterwards the sums and the summaries of the new path
// are exact, so that what follows costs no more than before. Runs inside the store's transaction.
import type { ConversationRow } from "../journal/conversation.ts";
import { sessionErrors } from "./errors.ts";
import type { MessageHeader } from "./message-rows.ts";
import type { MessageStore } from "./message-store.ts";
import { addTotals, ownTotals, subtractTotals, withTotals, ZERO_TOTALS, type PathTotals } from "./path-totals.ts";

/** Versions of one message that are listed: the newest, and the one that is shown. */
export const MAX_VERSIONS = 100;
/** Messages whose versions are listed: the newest of those asked for. Their ids must fit into one parameter. */
export const MAX_LISTED_MESSAGES = 5_000;

// Messages with siblings are found by their keys, and their siblings by the small index, newest first and no further
// than the limit.
const SIBLINGS = `SELECT shown.value AS shownId, version.id AS id
  FROM json_each(?2) AS shown
  CROSS JOIN assistant_messages AS m ON m.session_id = ?1 AND m.id = shown.value AND m.is_branch = 1
  CROSS JOIN assistant_messages AS version
    ON version.session_id = ?1 AND version.parent_id IS m.parent_id AND version.is_branch = 1
    AND version.sequence >= COALESCE((
      SELECT oldest.sequence FROM assistant_messages AS oldest
        WHERE oldest.session_id = ?1 AND oldest.parent_id IS m.parent_id AND oldest.is_branch = 1
        ORDER BY oldest.sequence DESC LIMIT 1 OFFSET ?3), 0)
  ORDER BY shown.key, version.sequence`;

/** Of each message that has other versions: the ids of all of them, oldest first. */
export function versionsOf(
  { scope, rows: { table } }: MessageStore,
  shownIds: readonly string[]
): Record<string, string[]> {
  const asked = JSON.stringify(shownIds.slice(-MAX_LISTED_MESSAGES));
  const rows = table.all<{ shownId: string; id: string }>(SIBLINGS, scope.sessionId, asked, MAX_VERSIONS - 1);
  const found: [string, string[]][] = [];
  for (const [shownId, siblings] of Map.groupBy(rows, (row) => row.shownId)) {
    const versions = siblings.map(({ id }) => id);
    // Older than all that are listed.
    if (!versions.includes(shownId)) versions.unshift(shownId);
    if (versions.length > 1) found.push([shownId, versions]);
  }
  // Any text may be an id, also the name of something that every object has.
  return Object.fromEntries(found);
}

/** See `MessageStore.selectBranch`. */
export function moveToBranch(store: MessageStore, row: ConversationRow, messageId: string): boolean {
  const target = store.rows.header(messageId);
  if (target === undefined) throw sessionErrors.UnknownMessageError(messageId);
  const leafId = newestBelow(store, target);
  const leaf = leafId === row.leaf ? undefined : store.rows.header(leafId);
  if (leaf === undefined) return false;
  const totals = totalsOf(store, leafId);
  store.overlays.leafMoves(leafId);
  store.rows.replaceHeader(withTotals(leaf, totals));
  row.leaf = leafId;
  return true;
}

/** Of a message and everything below it, what was written last: nothing is below that. */
function newestBelow({ scope, rows: { table } }: MessageStore, { id, sequence }: MessageHeader): string {
  const newer = table.all<{ id: string; parentId: string | null }>(
    `SELECT id, parent_id AS parentId FROM assistant_messages
       WHERE session_id = ? AND sequence > ? ORDER BY sequence`,
    scope.sessionId,
    sequence
  );
  const below = new Set([id]);
  let newest = id;
  for (const message of newer) {
    if (message.parentId === null || !below.has(message.parentId)) continue;
    below.add(message.id);
    newest = message.id;
  }
  return newest;
}

/** Sums of another path, by way of the active one's, which are exact: only what is not on both is counted. */
function totalsOf(store: MessageStore, leafId: string): PathTotals {
  const active = store.leafId === null ? undefined : store.rows.path(store.leafId);
  let other = active?.next();
  let [left, joined] = [ZERO_TOTALS, ZERO_TOTALS];
  for (const header of store.rows.path(leafId)) {
    for (; other?.value !== undefined && other.value.sequence > header.sequence; other = active?.next()) {
      left = addTotals(left, ownTotals(other.value));
    }
    if (other?.value?.id === header.id) return addTotals(subtractTotals(store.totals(), left), joined);
    joined = addTotals(joined, ownTotals(header));
  }
  return joined;
}
