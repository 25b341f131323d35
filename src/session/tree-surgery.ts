// The rare changes of a message tree that move rows: deleting messages, answering an edited one again, and finding a
// newest message that was lost. Afterwards no message hangs on one that is gone, every group of siblings is flagged, and
// the newest message's sums are exact. Runs inside the store's transaction.
import type { ConversationRow } from "../journal/conversation.ts";
import { byteLength } from "../util/bytes.ts";
import { recordChange } from "./change-log.ts";
import { childrenOf, exactTotals } from "./location.ts";
import { encodeMessage, fullRefOf, keepFull, readFull } from "./message-body.ts";
import type { MessageHeader, MessageRow } from "./message-rows.ts";
import type { MessageStore } from "./message-store.ts";
import { addTotals, ownTotals, pathTotals, subtractTotals, withTotals, ZERO_TOTALS } from "./path-totals.ts";
import { createdAt } from "./session-host.ts";
import { parseStoredMessage, type SessionMessage } from "./session-message.ts";

/** Of the messages without children, the one written last. */
export function newestLeaf(headers: Iterable<MessageHeader>): MessageHeader | undefined {
  const all = [...headers];
  const parents = new Set(all.map(({ parentId }) => parentId));
  return all.filter(({ id }) => !parents.has(id)).sort((first, second) => second.sequence - first.sequence)[0];
}

/** Says which of them there were. */
export function deleteFromTree(store: MessageStore, row: ConversationRow, ids: readonly string[]): string[] {
  const tree = new Map(store.rows.scanHeaders().map((header) => [header.id, header]));
  const { removed, moved } = takeOut(tree, ids);
  const removedIds = removed.map(({ id }) => id);
  if (removed.length === 0) return removedIds;
  for (const header of removed) {
    store.rows.delete(header.id);
    store.release(header);
  }
  for (const id of moved) {
    const header = tree.get(id);
    if (header !== undefined) store.rows.replaceHeader(header);
  }
  const leaf = (row.leaf === null ? undefined : tree.get(row.leaf)) ?? newestLeaf(tree.values());
  row.leaf = leaf?.id ?? null;
  store.overlays.removed(removed, tree, row.leaf);
  if (leaf !== undefined) store.rows.replaceHeader(withTotals(leaf, sumUp(tree, leaf)));
  return removedIds;
}

/** Changes `tree`; children of what is taken out hang on its parent afterwards. */
function takeOut(
  tree: Map<string, MessageHeader>,
  ids: readonly string[]
): { removed: MessageHeader[]; moved: Set<string> } {
  const children = Map.groupBy(tree.values(), ({ parentId }) => parentId);
  const removed: MessageHeader[] = [];
  const moved = new Set<string>();
  for (const id of ids) {
    const header = tree.get(id);
    if (header === undefined) continue;
    const orphans = (children.get(id) ?? []).flatMap((child) => tree.get(child.id) ?? []);
    for (const orphan of orphans) {
      // Orphans of a message with siblings become siblings of those.
      const isBranch = header.isBranch === 1 || orphan.isBranch === 1 ? 1 : 0;
      tree.set(orphan.id, { ...orphan, parentId: header.parentId, isBranch });
      moved.add(orphan.id);
    }
    children.set(header.parentId, [...(children.get(header.parentId) ?? []), ...orphans]);
    tree.delete(id);
    removed.push(header);
  }
  return { removed, moved };
}

function sumUp(tree: Map<string, MessageHeader>, leaf: MessageHeader) {
  let totals = ZERO_TOTALS;
  for (let header: MessageHeader | undefined = leaf; header !== undefined;) {
    totals = addTotals(totals, ownTotals(header));
    const above: MessageHeader | undefined = header.parentId === null ? undefined : tree.get(header.parentId);
    header = above !== undefined && above.sequence < header.sequence ? above : undefined;
  }
  return totals;
}

/** See `MessageStore.editMessage`. */
export function replaceAsBranch(
  store: MessageStore,
  row: ConversationRow,
  edit: { message: SessionMessage; archiveId: string }
): void {
  const before = store.rows.row(edit.message.id);
  if (before === undefined) return;
  const location = store.locate(before);
  const children = childrenOf(store, before, location);
  const above = subtractTotals(exactTotals(store, before, location), ownTotals(before));
  if (children.length === 0) store.overlays.uncover(before);
  store.overlays.leafMoves(before.parentId);
  if (children.length > 0) {
    archive(store, before, edit.archiveId);
    store.overlays.archived(before.id, edit.archiveId);
  }
  for (const child of children) store.rows.replaceHeader({ ...child, parentId: edit.archiveId });

  const body = encodeMessage(edit.message, store.forms(before));
  const { blobs } = store.scope.host;
  const ref = keepFull(blobs, body.full, store.ownerOf(before.id));
  const old = fullRefOf(before);
  if (old !== null && old.hash !== ref?.hash) blobs.release(store.ownerOf(before.id), old);
  const next: MessageRow = {
    ...before,
    role: edit.message.role,
    content: body.content,
    sizeBytes: body.sizeBytes,
    tokens: body.tokens,
    fullHash: ref?.hash ?? null,
    fullBytes: ref?.sizeBytes ?? null,
    // The archived copy has taken the old place in the order; its children were written after it.
    sequence: children.length > 0 ? row.nextMessage++ : before.sequence,
    isBranch: children.length > 0 ? 1 : before.isBranch
  };
  store.rows.replace(withTotals(next, addTotals(above, ownTotals(body))));
  row.leaf = before.id;
}

function archive(store: MessageStore, before: MessageRow, archiveId: string): void {
  const parsed = parseStoredMessage(before.content);
  const content = parsed.ok ? JSON.stringify({ ...parsed.value, id: archiveId }) : before.content;
  const ref = fullRefOf(before);
  const full = ref && readFull(store.scope.host.blobs, ref);
  const fullText = full ? JSON.stringify({ ...full, id: archiveId }) : null;
  const kept = keepFull(store.scope.host.blobs, fullText, store.ownerOf(archiveId));
  const copy = {
    ...before,
    id: archiveId,
    content,
    isBranch: 1,
    sizeBytes: byteLength(content),
    fullHash: kept?.hash ?? null,
    fullBytes: kept?.sizeBytes ?? null
  };
  store.rows.insert(withTotals(copy, pathTotals(before)), createdAt(store.scope.host));
}

/** The conversation's row names a newest message that is not there: it is damaged. The newest that is left takes over. */
export function recoverLeaf(store: MessageStore, lost: string): string | null {
  const { conversation, host, sessionId, changes } = store.scope;
  return conversation.transaction((row) => {
    const recovered = newestLeaf(store.rows.scanHeaders());
    const leafId = recovered?.id ?? null;
    const error = `this newest message does not exist; it is ${leafId ?? "none"} now`;
    host.setAside({ table: "cf_conversations", key: `${sessionId}.leaf`, body: lost, error });
    store.overlays.leafMoves(leafId);
    row.leaf = leafId;
    if (recovered) {
      const totals = exactTotals(store, recovered, { isOnPath: false, below: ZERO_TOTALS });
      store.rows.replaceHeader(withTotals(recovered, totals));
    }
    recordChange(store.scope, { by: "runner", why: "newest-message-lost" }, { change: "repaired", ids: [lost] });
    changes.emit({ kind: "restructured" });
    return leafId;
  });
}
