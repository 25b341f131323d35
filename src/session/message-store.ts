// A conversation's messages as a tree in SQLite; the active path runs from a root to its newest message: the newest of
// all, or of the branch that was chosen. Appending writes one row and reads two, whatever the length of the history: the
// newest message carries the sums of its path.
// Every call is synchronous and one transaction, or part of the caller's. A row that cannot be read is set aside and
// skipped. Deleting and rewriting branches is left to tree-surgery.ts.
import type { ConversationRow } from "../journal/conversation.ts";
import { moveToBranch } from "./branches.ts";
import { recordChange, RUNNER, USER_CODE, type ChangeOrigin } from "./change-log.ts";
import { findCalls } from "./find-calls.ts";
import type { StoredForms } from "./full-message.ts";
import { childrenOf, exactTotals, locate, type Location } from "./location.ts";
import {
  encodeMessage,
  encodeShortened,
  fullRefOf,
  keepFull,
  messageOwner,
  readFull,
  type MessageBody
} from "./message-body.ts";
import { SET_ASIDE, type MessageHeader, type MessageRow, type MessageRows } from "./message-rows.ts";
import {
  Overlays,
  readRecentPath,
  readUntilKnown,
  storedCompaction,
  type KnownLimits,
  type RecentPath
} from "./overlays.ts";
import {
  addTotals,
  ownTotals,
  pathTotals,
  subtractTotals,
  sumTotals,
  withTotals,
  ZERO_TOTALS,
  type PathTotals
} from "./path-totals.ts";
import { SearchIndex } from "./search-index.ts";
import { searchLimit, searchMessages, type SearchResult } from "./search.ts";
import { createdAt, type SessionScope } from "./session-host.ts";
import { isCompactionMessage, parseStoredMessage, requireMessage, type SessionMessage } from "./session-message.ts";
import type { HistoryRowStat, RecentHistoryResult, SessionProvider, StoredCompaction } from "./session-provider.ts";
import { ReportedUsage, type UsageReport } from "./tokens-reported.ts";
import { deleteFromTree, recoverLeaf, replaceAsBranch } from "./tree-surgery.ts";

export interface SizedMessage {
  readonly message: SessionMessage;
  readonly sizeBytes: number;
}

export class MessageStore implements SessionProvider {
  readonly scope: SessionScope;
  readonly rows: MessageRows;
  readonly index: SearchIndex;
  readonly overlays: Overlays;
  readonly usage: ReportedUsage;
  #isRecovering = false;

  constructor(scope: SessionScope) {
    this.scope = scope;
    this.rows = scope.rows;
    this.index = new SearchIndex(this);
    this.overlays = new Overlays(this);
    this.usage = new ReportedUsage(this);
  }

  /** Newest message of the active path. */
  get leafId(): string | null {
    const { leaf } = this.scope.conversation.row;
    const isThere = leaf === null || this.#isRecovering || this.rows.newestHeader(leaf) !== undefined;
    return isThere ? leaf : this.#recoverLeaf(leaf);
  }

  has(id: string): boolean {
    return this.rows.header(id) !== undefined;
  }

  /** The whole message, also when histories show it shortened. */
  getMessage(id: string): SessionMessage | null {
    const row = this.rows.row(id);
    const shown = row && this.decode(row);
    if (row === undefined || shown === undefined) return null;
    const ref = fullRefOf(row);
    return (ref && readFull(this.scope.host.blobs, ref)) ?? shown;
  }

  /** Of the whole message, if its row shows less. */
  wholeBytes(id: string): number | null {
    return this.rows.header(id)?.fullBytes ?? null;
  }

  /** The message as histories show it. */
  getShown(id: string): SessionMessage | null {
    return this.readSized(id)?.message ?? null;
  }

  getHistory(leafId?: string | null): SessionMessage[] {
    return this.readRecent(leafId, Number.POSITIVE_INFINITY).messages.map(({ message }) => message);
  }

  getRecentHistory(
    leafId: string | null | undefined,
    maxContentBytes: number,
    minRecentMessages = 1
  ): RecentHistoryResult {
    const { messages, rowsRead } = this.readRecent(leafId, maxContentBytes, minRecentMessages);
    const { bytes, length } = this.totals(leafId);
    return {
      messages: messages.map(({ message }) => message),
      truncated: rowsRead < length,
      totalContentBytes: bytes
    };
  }

  /** The longest end of the shown path that fits into `maxBytes`, but at least `minMessages`; oldest first. */
  readRecent(leafId: string | null | undefined, maxBytes: number, minMessages = 1): RecentPath {
    const start = leafId ?? this.leafId;
    return start === null ? { messages: [], rowsRead: 0 } : readRecentPath(this, start, { maxBytes, minMessages });
  }

  /**
   * What was added to a path since a view was last read: from `leafId` up to a message it has. Undefined if there is
   * none within `maxRows`.
   */
  readUntil(leafId: string, limits: KnownLimits): { messages: SizedMessage[]; knownId: string } | undefined {
    return readUntilKnown(this, leafId, limits);
  }

  readSized(id: string): SizedMessage | undefined {
    const row = this.rows.row(id);
    const message = row && this.decode(row);
    return row && message && { message, sizeBytes: row.sizeBytes };
  }

  getLatestLeaf(): SessionMessage | null {
    return this.leafId === null ? null : this.getShown(this.leafId);
  }

  getBranches(messageId: string): SessionMessage[] {
    const parent = this.rows.header(messageId);
    if (parent === undefined) return [];
    const children = childrenOf(this, parent, this.locate(parent)).map(({ id }) => id);
    const rows = this.rows.rows(children);
    return children.flatMap((id) => {
      const row = rows.get(id);
      return (row && this.decode(row)) ?? [];
    });
  }

  getPathLength(leafId?: string | null): number {
    return this.totals(leafId).length;
  }

  getHistoryRowStats(leafId?: string | null): HistoryRowStat[] {
    const start = leafId ?? this.leafId;
    if (start === null) return [];
    return [...this.rows.path(start)].reverse().map(({ id, role, sizeBytes }) => ({ id, role, bytes: sizeBytes }));
  }

  /** Sums of a path. Of the active one it reads a single row. */
  totals(leafId?: string | null): PathTotals {
    const start = leafId ?? this.leafId;
    if (start === null) return ZERO_TOTALS;
    if (start !== this.leafId) return sumTotals(this.rows.path(start));
    const leaf = this.rows.newestHeader(start);
    return leaf === undefined ? ZERO_TOTALS : pathTotals(leaf);
  }

  /** No message was ever written that is not on the active path: none was deleted, and there are no branches. */
  get isLinear(): boolean {
    return this.totals().length === this.scope.conversation.row.nextMessage - 1;
  }

  /** Sums of the active path as histories show it. */
  shownTotals(): PathTotals {
    return subtractTotals(this.totals(), this.overlays.saved());
  }

  /** The newest message of the active path that holds a tool call. */
  messageOfCall(toolCallId: string): SessionMessage | null {
    return this.messagesOfCalls(new Set([toolCallId])).get(toolCallId) ?? null;
  }

  /** The same for several calls, in one walk that ends when all are found. */
  messagesOfCalls(toolCallIds: ReadonlySet<string>): Map<string, SessionMessage> {
    return findCalls(this, toolCallIds);
  }

  /** Best first, of all branches. Asynchronous, because a long history is indexed in several steps. */
  searchMessages(query: string, limit?: number): Promise<SearchResult[]> {
    return searchMessages(this, query, searchLimit(limit));
  }

  /**
   * True if something was written; false if the id is already stored, or is that of a summary: those are shown, never
   * stored. Below a summary means below the last message it stands for.
   */
  appendMessage(message: SessionMessage, parentId?: string | null, origin: ChangeOrigin = USER_CODE): boolean {
    requireMessage(message);
    if (isCompactionMessage(message)) return false;
    return this.scope.conversation.join((row) => {
      const wanted = parentId === undefined ? row.leaf : this.overlays.standFor(parentId);
      const found = this.rows.headers(distinct(message.id, row.leaf, wanted));
      if (found.has(message.id)) {
        this.scope.changes.emit({ kind: "repeated", id: message.id });
        return false;
      }
      const leaf = this.#currentLeaf(row, found);
      const parent = parentId === undefined ? leaf : wanted === null ? undefined : found.get(wanted);
      const { totals, isBranch } = this.#place(parent, leaf);
      this.#insert(row, message, { parentId: parent?.id ?? null, totals, isBranch });
      recordChange(this.scope, origin, { change: "appended", ids: [message.id] });
      return true;
    });
  }

  /** True if the content changed. An unknown id stores nothing. */
  updateMessage(message: SessionMessage, origin: ChangeOrigin = USER_CODE): boolean {
    return this.updateMessages([message], origin);
  }

  /** The same for several, as one change. */
  updateMessages(messages: readonly SessionMessage[], origin: ChangeOrigin): boolean {
    messages.forEach(requireMessage);
    return this.scope.conversation.transaction(() => {
      const ids = messages.filter((message) => this.#update(message)).map(({ id }) => id);
      recordChange(this.scope, origin, { change: "edited", ids });
      return ids.length > 0;
    });
  }

  #update(message: SessionMessage): boolean {
    const before = this.rows.row(message.id);
    if (before === undefined) return false;
    const body = encodeMessage(message, this.forms(before));
    const changed = this.#rewrite(before, { ...body, role: message.role });
    this.scope.changes.emit({ kind: "updated", id: message.id, sizeBytes: body.sizeBytes });
    return changed;
  }

  /**
   * Shows less of a message from now on, without telling clients. With `keepWhole`, `getMessage` still gives what was
   * there; without it, the caller has put it somewhere else. `isOnPath` saves looking for it on the active path.
   */
  shortenMessage(shown: SessionMessage, options: { keepWhole: boolean; isOnPath?: boolean }): boolean {
    return this.scope.conversation.transaction(() => {
      const before = this.rows.row(shown.id);
      if (before === undefined) return false;
      const forms = this.forms(before);
      const whole = forms === undefined ? before.content : JSON.stringify(forms.full);
      const body = options.keepWhole ? encodeShortened(shown, whole) : encodeMessage(shown, forms);
      const changed = this.#rewrite(before, { ...body, role: before.role }, options.isOnPath);
      if (changed) recordChange(this.scope, RUNNER, { change: "evicted", ids: [shown.id] });
      this.scope.changes.emit({ kind: "shortened", id: shown.id });
      return changed;
    });
  }

  /** Histories of paths through both ends show the summary instead. Throws CompactionRangeError, SummaryRefusedError. */
  addCompaction(summary: string, fromMessageId: string, toMessageId: string): StoredCompaction {
    return this.scope.conversation.transaction((row) => {
      const added = this.overlays.add(row, { summary, fromId: fromMessageId, toId: toMessageId });
      // What was counted before says nothing about the shorter path.
      this.usage.forget();
      // Also one that comes by itself is written by the user's function.
      recordChange(this.scope, USER_CODE, { change: "compacted", ids: [fromMessageId, toMessageId] });
      this.scope.changes.emit({ kind: "compacted" });
      return added;
    });
  }

  /** All that were made, oldest first, also those that newer ones stand for. */
  getCompactions(): StoredCompaction[] {
    return this.overlays.rows.allWithSummary().map(storedCompaction);
  }

  /** What a provider counted, so that the size of the conversation is its number and not an estimate. */
  noteUsage(report: UsageReport): void {
    this.usage.note(report);
  }

  /** Children of a deleted message move to its parent. Scans the session once, however many ids. */
  deleteMessages(messageIds: readonly string[], origin: ChangeOrigin = USER_CODE): void {
    this.scope.conversation.transaction((row) => {
      this.index.forget(messageIds);
      const ids = deleteFromTree(this, row, messageIds);
      this.scope.log?.forgetTurns(ids);
      recordChange(this.scope, origin, { change: "deleted", ids });
      this.scope.changes.emit({ kind: "restructured" });
    });
  }

  /**
   * A new version of a message that has been answered: it keeps its id and becomes the newest message, and the old
   * version moves with everything below it to `archiveId`, its sibling. A message that has no answer is updated in place.
   */
  editMessage(message: SessionMessage, archiveId: string, origin: ChangeOrigin = USER_CODE): void {
    requireMessage(message);
    this.scope.conversation.transaction((row) => {
      const before = this.rows.row(message.id);
      replaceAsBranch(this, row, { message, archiveId });
      if (before !== undefined) this.index.edited(before, archiveId);
      const ids = [message.id, archiveId].filter((id) => this.has(id));
      recordChange(this.scope, origin, { change: "edited", ids });
      this.scope.changes.emit({ kind: "restructured" });
    });
  }

  /**
   * Makes the path through a message the active one, down to what was written last below it. False if it is that
   * already. Throws UnknownMessageError. Scans the session once.
   */
  selectBranch(messageId: string, origin: ChangeOrigin = USER_CODE): boolean {
    return this.scope.conversation.transaction((row) => {
      const isMoved = moveToBranch(this, row, this.overlays.standFor(messageId) ?? messageId);
      if (!isMoved) return false;
      recordChange(this.scope, origin, { change: "branch-chosen", ids: distinct(row.leaf) });
      this.scope.changes.emit({ kind: "restructured" });
      return isMoved;
    });
  }

  clearMessages(origin: ChangeOrigin = USER_CODE): void {
    this.scope.conversation.transaction((row) => {
      const all = this.rows.scanHeaders();
      for (const header of all) this.release(header);
      this.index.clear();
      this.overlays.clear();
      this.rows.deleteAll();
      row.leaf = null;
      this.scope.log?.clear();
      recordChange(this.scope, origin, { change: "cleared", ids: all.map(({ id }) => id) });
      this.scope.changes.emit({ kind: "cleared" });
    });
  }

  /** Walks up from the newest message: short for recent ones. */
  locate(target: MessageHeader): Location {
    return locate(this, target);
  }

  hasChildren(id: string): boolean {
    const header = id === this.leafId ? undefined : this.rows.header(id);
    return header !== undefined && childrenOf(this, header, this.locate(header)).length > 0;
  }

  /** The owner of a message's blobs. */
  ownerOf(id: string): string {
    return messageOwner(this.scope.sessionId, id);
  }

  release(header: MessageHeader): void {
    if (header.fullHash !== null) this.scope.host.blobs.release(this.ownerOf(header.id));
  }

  /** Both forms of a message whose row shows less than there is. */
  forms(row: MessageRow): StoredForms | undefined {
    const ref = fullRefOf(row);
    if (ref === null) return undefined;
    const shown = parseStoredMessage(row.content);
    const full = readFull(this.scope.host.blobs, ref);
    return shown.ok && full !== undefined ? { shown: shown.value, full } : undefined;
  }

  /** The newest message as stored. If other code removed its row, the newest that is left. */
  #currentLeaf(row: ConversationRow, found: Map<string, MessageHeader>): MessageHeader | undefined {
    const leaf = row.leaf === null ? undefined : found.get(row.leaf);
    if (row.leaf === null || leaf !== undefined) return leaf;
    const recovered = this.#recoverLeaf(row.leaf);
    return recovered === null ? undefined : this.rows.header(recovered);
  }

  #recoverLeaf(lost: string): string | null {
    this.#isRecovering = true;
    try {
      return recoverLeaf(this, lost);
    } finally {
      this.#isRecovering = false;
    }
  }

  /** The sums of the parent's path, and whether the new message will have siblings; its only sibling is marked. */
  #place(
    parent: MessageHeader | undefined,
    leaf: MessageHeader | undefined
  ): { totals: PathTotals; isBranch: boolean } {
    if (parent !== undefined && parent.id === leaf?.id) return { totals: pathTotals(leaf), isBranch: false };
    if (leaf !== undefined) this.overlays.leafMoves(parent?.id ?? null);
    if (parent === undefined) return { totals: ZERO_TOTALS, isBranch: true };
    const location = this.locate(parent);
    const children = childrenOf(this, parent, location);
    const only = children[0];
    if (only?.isBranch === 0) this.rows.replaceHeader({ ...only, isBranch: 1 });
    return { totals: exactTotals(this, parent, location), isBranch: children.length > 0 };
  }

  #insert(
    row: ConversationRow,
    message: SessionMessage,
    place: { parentId: string | null; totals: PathTotals; isBranch: boolean }
  ): void {
    const body = encodeMessage(message);
    const ref = keepFull(this.scope.host.blobs, body.full, this.ownerOf(message.id));
    const totals = addTotals(place.totals, ownTotals(body));
    const stored: MessageRow = {
      id: message.id,
      parentId: place.parentId,
      role: message.role,
      sequence: row.nextMessage,
      isBranch: place.isBranch ? 1 : 0,
      sizeBytes: body.sizeBytes,
      tokens: body.tokens,
      pathLength: totals.length,
      pathBytes: totals.bytes,
      pathTokens: totals.tokens,
      fullHash: ref?.hash ?? null,
      fullBytes: ref?.sizeBytes ?? null,
      content: body.content
    };
    this.rows.insert(stored, createdAt(this.scope.host));
    row.nextMessage += 1;
    row.leaf = message.id;
    this.scope.changes.emit({ kind: "appended", id: message.id, sizeBytes: body.sizeBytes, row: stored });
  }

  #rewrite(before: MessageRow, body: MessageBody & { role: string }, isOnPath?: boolean): boolean {
    const ref = keepFull(this.scope.host.blobs, body.full, this.ownerOf(before.id));
    const old = fullRefOf(before);
    if (old !== null && old.hash !== ref?.hash) this.scope.host.blobs.release(this.ownerOf(before.id), old);
    if (before.content === body.content && before.role === body.role && (old?.hash ?? null) === (ref?.hash ?? null)) {
      return false;
    }
    const delta = { length: 0, bytes: body.sizeBytes - before.sizeBytes, tokens: body.tokens - before.tokens };
    const isLeaf = before.id === this.leafId;
    this.rows.replace({
      ...before,
      role: body.role,
      content: body.content,
      sizeBytes: body.sizeBytes,
      tokens: body.tokens,
      fullHash: ref?.hash ?? null,
      fullBytes: ref?.sizeBytes ?? null,
      ...(isLeaf && { pathBytes: before.pathBytes + delta.bytes, pathTokens: before.pathTokens + delta.tokens })
    });
    this.index.rewritten(before);
    if (delta.bytes === 0 && delta.tokens === 0) return true;
    if (!isLeaf && !(isOnPath ?? this.locate(before).isOnPath)) return true;
    if (!isLeaf) this.#correctLeaf(delta);
    this.overlays.rows.correct(before.sequence, delta);
    return true;
  }

  /** Only the newest message's sums must be exact; a branch from elsewhere derives them from it. */
  #correctLeaf(delta: PathTotals): void {
    const leaf = this.leafId === null ? undefined : this.rows.header(this.leafId);
    if (leaf !== undefined) this.rows.replaceHeader(withTotals(leaf, addTotals(pathTotals(leaf), delta)));
  }

  /** Undefined for a row that cannot be read, which is set aside. */
  decode(row: Pick<MessageRow, "id" | "content">): SessionMessage | undefined {
    // Set aside earlier: the row only holds its children's place in the tree.
    if (row.content === SET_ASIDE) return undefined;
    const parsed = parseStoredMessage(String(row.content));
    if (parsed.ok) return parsed.value;
    this.rows.setAside(row, parsed.error);
    return undefined;
  }
}

function distinct(...ids: (string | null)[]): string[] {
  return [...new Set(ids)].filter((id) => id !== null);
}
