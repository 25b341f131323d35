// The summaries of a conversation, over its tree. A summary's start is always an ancestor of its end, so it applies to
// every path through its end and to no other; messages are never altered. Which of them the active path shows, and what
// they save there, is kept exact by every write that moves the newest message or changes a covered one. Runs inside the
// store's transactions. Below them: the newest part of a path as histories show it, read from its end.
import type { ConversationRow } from "../journal/conversation.ts";
import { byteLength } from "../util/bytes.ts";
import { CompactionRangeError, sessionErrors } from "./errors.ts";
import { BATCH_BYTES, BATCH_ROWS, type MessageHeader, type PathRow, type WalkLimits } from "./message-rows.ts";
import type { MessageStore, SizedMessage } from "./message-store.ts";
import {
  forkOf,
  isOnPathOf,
  NO_FORK,
  overlayMessage,
  overlayIdOf,
  overlayMessageId,
  overlaySize,
  shownOf,
  walkShown,
  type Fork,
  type Overlay,
  type OverlayRows,
  type ShownEntry
} from "./overlay-rows.ts";
import { addTotals, ownTotals, ZERO_TOTALS, type PathTotals } from "./path-totals.ts";
import { createdAt } from "./session-host.ts";
import type { StoredCompaction } from "./session-provider.ts";

/** A summary is short by its nature; a larger one is refused. */
export const MAX_SUMMARY_BYTES = 256 * 1024;

export class Overlays {
  readonly rows: OverlayRows;
  readonly #store: MessageStore;

  constructor(store: MessageStore) {
    this.#store = store;
    this.rows = store.scope.summaries;
  }

  /** What histories of the path that ends at this message show, by position. */
  shownOn(leafId: string): readonly Overlay[] {
    if (leafId === this.#store.leafId) return this.rows.shown();
    const all = this.rows.all();
    return all.length === 0 ? [] : shownOf(this.#onPathOf(leafId, all));
  }

  /** The message that is meant by the id of a summary: the last one that it stands for. */
  standFor(id: string | null): string | null {
    const overlayId = id === null ? undefined : overlayIdOf(id);
    return overlayId === undefined ? id : (this.rows.one(overlayId)?.toId ?? id);
  }

  /** How much shorter the summaries make the active path. */
  saved(): PathTotals {
    let saved = ZERO_TOTALS;
    for (const shown of this.rows.shown()) {
      saved = addTotals(saved, {
        length: shown.coveredLength - 1,
        bytes: shown.coveredBytes - shown.sizeBytes,
        tokens: shown.coveredTokens - shown.tokens
      });
    }
    return saved;
  }

  /** True if histories of the active path do not show the message. */
  isCovered({ sequence }: MessageHeader): boolean {
    return this.rows.shown().some((shown) => shown.fromSequence <= sequence && sequence <= shown.toSequence);
  }

  /** Throws CompactionRangeError or SummaryRefusedError before anything is written. */
  add(row: ConversationRow, given: { summary: string; fromId: string; toId: string }): StoredCompaction {
    requireSummary(given.summary);
    const ends = this.#store.rows.headers([...new Set([given.fromId, given.toId])]);
    const [from, to] = [ends.get(given.fromId), ends.get(given.toId)];
    const before = this.rows.all();
    const covered = from && to && this.#cover(from, to, before);
    if (from === undefined || to === undefined || covered === undefined) {
      throw new CompactionRangeError(given.fromId, given.toId);
    }
    const sequence = row.nextMessage++;
    const summary = {
      id: sequence.toString(36),
      summary: given.summary,
      createdAt: createdAt(this.#store.scope.host)
    };
    const overlay = {
      ...summary,
      ...overlaySize(summary),
      ...coveredFields(covered),
      sequence,
      fromId: from.id,
      toId: to.id,
      fromSequence: from.sequence,
      toSequence: to.sequence,
      isOnPath: this.#store.locate(to).isOnPath ? 1 : 0,
      isShown: 0
    };
    this.rows.insert(overlay);
    this.#flag([...before, overlay], (each) => each.isOnPath === 1);
    return storedCompaction(overlay);
  }

  /** Before another message becomes the newest one, below `parentId` (null: as a root). */
  leafMoves(parentId: string | null): void {
    const all = this.rows.all();
    const reported = this.#store.usage.sequence();
    if (all.length === 0 && reported === undefined) return;
    const fork = parentId === null ? NO_FORK : this.#fork(parentId, all, reported);
    this.#flag(all, (each) => isOnPathOf(each, fork));
    if (reported !== undefined && reported > fork.sequence) this.#store.usage.forget();
  }

  /** An answered message gets a new version; the old one goes on under `archiveId`, and so does its place in summaries. */
  archived(id: string, archiveId: string): void {
    for (const overlay of this.rows.all()) {
      if (overlay.fromId !== id && overlay.toId !== id) continue;
      const renamed = (end: string) => (end === id ? archiveId : end);
      this.rows.replace({ ...overlay, fromId: renamed(overlay.fromId), toId: renamed(overlay.toId) });
    }
  }

  /** A message at the end of its path gets a new version, which no summary was made of: none may cover it. */
  uncover(message: MessageHeader): void {
    for (const overlay of this.rows.all()) {
      if (overlay.toId !== message.id) continue;
      const to = message.parentId === null ? undefined : this.#store.rows.header(message.parentId);
      if (to === undefined || overlay.fromId === message.id) this.rows.delete(overlay.id);
      else {
        this.rows.replace({
          ...overlay,
          toId: to.id,
          toSequence: to.sequence,
          coveredLength: overlay.coveredLength - 1,
          coveredBytes: overlay.coveredBytes - message.sizeBytes,
          coveredTokens: overlay.coveredTokens - message.tokens
        });
      }
    }
  }

  /**
   * Messages were taken out of the tree. The ends of a summary move to what is left of its range; with nothing left it
   * goes too.
   */
  removed(taken: readonly MessageHeader[], tree: ReadonlyMap<string, MessageHeader>, leafId: string | null): void {
    const all = this.rows.all();
    if (all.length > 0) {
      const gone = new Map(taken.map((header) => [header.id, header]));
      const left = all.flatMap((overlay) => this.#shrink(overlay, gone, tree) ?? []);
      const path = new Set([...upwards(tree, leafId)].map(({ id }) => id));
      this.#flag(left, (each) => path.has(each.toId));
    }
    this.#store.usage.forget();
  }

  clear(): void {
    this.rows.deleteAll();
    this.#store.usage.forget();
  }

  #shrink(
    overlay: Overlay,
    gone: ReadonlyMap<string, MessageHeader>,
    tree: ReadonlyMap<string, MessageHeader>
  ): Overlay | undefined {
    let toId: string | null = overlay.toId;
    while (toId !== null && gone.has(toId)) toId = gone.get(toId)?.parentId ?? null;
    let covered = ZERO_TOTALS;
    let from: MessageHeader | undefined;
    for (const header of upwards(tree, toId)) {
      if (header.sequence < overlay.fromSequence) break;
      covered = addTotals(covered, ownTotals(header));
      from = header;
    }
    const to = toId === null ? undefined : tree.get(toId);
    if (from === undefined || to === undefined) {
      this.rows.delete(overlay.id);
      return undefined;
    }
    const next = {
      ...overlay,
      ...coveredFields(covered),
      fromId: from.id,
      toId: to.id,
      fromSequence: from.sequence,
      toSequence: to.sequence
    };
    if (covered.length !== overlay.coveredLength) this.rows.replace(next);
    return next;
  }

  /** Writes which ones are on the active path and which of those are shown, where it changed. */
  #flag(all: readonly Overlay[], isOnPath: (overlay: Overlay) => boolean): void {
    const onPath = all.filter(isOnPath);
    const shown = new Set(shownOf(onPath));
    for (const overlay of all) {
      const flags = { isOnPath: onPath.includes(overlay) ? 1 : 0, isShown: shown.has(overlay) ? 1 : 0 };
      if (flags.isOnPath === overlay.isOnPath && flags.isShown === overlay.isShown) continue;
      const isBack = flags.isOnPath === 1 && overlay.isOnPath === 0;
      this.rows.replace({ ...overlay, ...flags, ...(isBack && this.#recount(overlay)) });
    }
  }

  /** Messages may have changed while it was not counted. */
  #recount(overlay: Overlay): object {
    const ends = this.#store.rows.headers([...new Set([overlay.fromId, overlay.toId])]);
    const [from, to] = [ends.get(overlay.fromId), ends.get(overlay.toId)];
    const covered = from && to && this.#cover(from, to, []);
    return covered === undefined ? {} : coveredFields(covered);
  }

  /** Sums of a range, by way of the summaries inside it: exact on the active path. Undefined if it is none. */
  #cover(from: MessageHeader, to: MessageHeader, all: readonly Overlay[]): PathTotals | undefined {
    if (from.sequence > to.sequence) return undefined;
    const inside = all.length === 0 ? [] : this.#onPathOf(to.id, all);
    const counted = inside.filter((each) => each.fromSequence >= from.sequence);
    const { rows } = this.#store;
    const source = {
      segment: (fromId: string, stop?: Parameters<typeof rows.path>[1]) => rows.path(fromId, stop),
      header: (id: string) => rows.header(id)
    };
    let covered = ZERO_TOTALS;
    for (const entry of walkShown(to.id, shownOf(counted), source)) {
      const [startId, totals] = entry.overlay
        ? [entry.overlay.fromId, coveredTotals(entry.overlay)]
        : [entry.row.id, ownTotals(entry.row)];
      covered = addTotals(covered, totals);
      if (startId === from.id) return covered;
      if (entry.row !== undefined && entry.row.sequence < from.sequence) return undefined;
    }
    return undefined;
  }

  #onPathOf(leafId: string, all: readonly Overlay[]): Overlay[] {
    const fork = this.#fork(leafId, all);
    return all.filter((each) => isOnPathOf(each, fork));
  }

  #fork(leafId: string, all: readonly Overlay[], alsoDownTo = Number.POSITIVE_INFINITY): Fork {
    const { rows, leafId: active } = this.#store;
    const downTo = all.reduce((least, { toSequence }) => Math.min(least, toSequence), alsoDownTo);
    return forkOf(rows.path(leafId), active === null ? [] : rows.path(active), downTo);
  }
}

export function storedCompaction(overlay: Overlay & { readonly summary: string }): StoredCompaction {
  const { id, summary, fromId, toId, createdAt } = overlay;
  return { id, summary, fromMessageId: fromId, toMessageId: toId, createdAt };
}

/** Throws SummaryRefusedError. */
export function requireSummary(summary: string): void {
  if (summary.trim() === "") throw sessionErrors.SummaryRefusedError("it is blank");
  if (byteLength(summary) > MAX_SUMMARY_BYTES) {
    throw sessionErrors.SummaryRefusedError(`it has more than ${MAX_SUMMARY_BYTES} bytes`);
  }
}

function coveredTotals(overlay: Overlay): PathTotals {
  return { length: overlay.coveredLength, bytes: overlay.coveredBytes, tokens: overlay.coveredTokens };
}

function coveredFields({ length, bytes, tokens }: PathTotals) {
  return { coveredLength: length, coveredBytes: bytes, coveredTokens: tokens };
}

/** From a message to its root, in a tree that is in memory. */
function* upwards(tree: ReadonlyMap<string, MessageHeader>, fromId: string | null): Generator<MessageHeader> {
  let header = fromId === null ? undefined : tree.get(fromId);
  while (header !== undefined) {
    yield header;
    const above: MessageHeader | undefined = header.parentId === null ? undefined : tree.get(header.parentId);
    header = above !== undefined && above.sequence < header.sequence ? above : undefined;
  }
}

export interface RecentPath {
  /** Oldest first. */
  readonly messages: SizedMessage[];
  /** Messages of the path that are in it, also those a summary stands for. */
  readonly rowsRead: number;
}

export interface RecentLimits {
  readonly maxBytes: number;
  /** At least these, whatever their size. */
  readonly minMessages: number;
}

/**
 * What a summary covers is not read. A window that ends before the newest summary still has it: without it the model
 * would forget everything before the window.
 */
export function readRecentPath(
  store: MessageStore,
  leafId: string,
  { maxBytes, minMessages }: RecentLimits
): RecentPath {
  const newestFirst: SizedMessage[] = [];
  const shown = store.overlays.shownOn(leafId);
  let summary = shown.at(-1);
  // Its place is kept from the start.
  let left = maxBytes - (summary?.sizeBytes ?? 0);
  let rowsRead = 0;
  const limits = () => ({
    rows: left > 0 ? BATCH_ROWS : Math.max(1, minMessages - newestFirst.length),
    bytes: left > 0 ? Math.min(BATCH_BYTES, left) : BATCH_BYTES
  });
  for (const entry of walk(store, { leafId, shown, limits })) {
    const isSummary = summary !== undefined && entry.overlay === summary;
    if (!isSummary) left -= (entry.row ?? entry.overlay).sizeBytes;
    if (!isSummary && left < 0 && newestFirst.length >= minMessages) break;
    if (isSummary) summary = undefined;
    rowsRead += entry.overlay?.coveredLength ?? 1;
    newestFirst.push(...sized(store, entry));
  }
  if (summary !== undefined) newestFirst.push(...sized(store, { overlay: summary }));
  return { messages: newestFirst.reverse(), rowsRead };
}

export interface KnownLimits {
  isKnown(id: string): boolean;
  readonly maxRows: number;
}

/** Undefined if nothing known is within `maxRows`. */
export function readUntilKnown(
  store: MessageStore,
  leafId: string,
  { isKnown, maxRows }: KnownLimits
): { messages: SizedMessage[]; knownId: string } | undefined {
  const newestFirst: SizedMessage[] = [];
  let rowsRead = 0;
  // Mostly a question and an answer were added: never more rows are read in vain than there are new ones.
  const limits = () => ({ rows: Math.min(BATCH_ROWS, Math.max(2, rowsRead)), bytes: BATCH_BYTES });
  for (const entry of walk(store, { leafId, shown: store.overlays.shownOn(leafId), limits })) {
    const id = entry.overlay === undefined ? entry.row.id : overlayMessageId(entry.overlay);
    if (isKnown(id)) return { messages: newestFirst.reverse(), knownId: id };
    if (++rowsRead > maxRows) return undefined;
    newestFirst.push(...sized(store, entry));
  }
  return undefined;
}

function walk(
  store: MessageStore,
  { leafId, shown, limits }: { leafId: string; shown: readonly Overlay[]; limits: () => WalkLimits }
): Iterable<ShownEntry<PathRow>> {
  return walkShown(leafId, shown, {
    segment: (fromId, stop) => store.rows.pathRows(fromId, limits, stop),
    header: (id) => store.rows.header(id)
  });
}

function sized(store: MessageStore, { row, overlay }: ShownEntry<PathRow>): SizedMessage[] {
  if (row !== undefined) {
    const message = store.decode(row);
    return message === undefined ? [] : [{ message, sizeBytes: row.sizeBytes }];
  }
  const stored = store.overlays.rows.one(overlay.id);
  return stored === undefined ? [] : [{ message: overlayMessage(stored), sizeBytes: stored.sizeBytes }];
}
