// The newest part of a path as histories show it, read from its end: by bytes, or up to a message somebody knows. What a
// summary covers is not read. A window that ends before the newest summary still has it: without it the model would
// forget everything before the window.
import { BATCH_BYTES, BATCH_ROWS, type PathRow, type WalkLimits } from "./message-rows.ts";
import type { MessageStore, SizedMessage } from "./message-store.ts";
import { overlayMessage, overlayMessageId } from "./overlay-message.ts";
import type { Overlay } from "./overlay-rows.ts";
import { walkShown, type Shown } from "./overlay-walk.ts";

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

export function readRecentPath(
  store: MessageStore,
  leafId: string,
  { maxBytes, minMessages }: RecentLimits
): RecentPath {
  const newestFirst: SizedMessage[] = [];
  const shown = store.overlays.shownOn(leafId);
  let summary = shown.at(-1);
  // Its place is kept from the start.
  let room = maxBytes - (summary?.sizeBytes ?? 0);
  let rowsRead = 0;
  const limits = () => ({
    rows: room > 0 ? BATCH_ROWS : Math.max(1, minMessages - newestFirst.length),
    bytes: room > 0 ? Math.min(BATCH_BYTES, room) : BATCH_BYTES
  });
  for (const entry of walk(store, { leafId, shown, limits })) {
    const isSummary = summary !== undefined && entry.overlay === summary;
    if (!isSummary) room -= (entry.row ?? entry.overlay).sizeBytes;
    if (!isSummary && room < 0 && newestFirst.length >= minMessages) break;
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
): Iterable<Shown<PathRow>> {
  return walkShown(leafId, shown, {
    segment: (fromId, stop) => store.rows.pathRows(fromId, limits, stop),
    header: (id) => store.rows.header(id)
  });
}

function sized(store: MessageStore, { row, overlay }: Shown<PathRow>): SizedMessage[] {
  if (row !== undefined) {
    const message = store.decode(row);
    return message === undefined ? [] : [{ message, sizeBytes: row.sizeBytes }];
  }
  const stored = store.overlays.rows.one(overlay.id);
  return stored === undefined ? [] : [{ message: overlayMessage(stored), sizeBytes: stored.sizeBytes }];
}
