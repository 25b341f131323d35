// Where a message is in the tree, seen from the newest one: on the active path or not, its children, the sums of its path.
// Short for recent messages; a scan only for an only child elsewhere.
import type { MessageHeader, MessageRows } from "./message-rows.ts";
import { addTotals, ownTotals, subtractTotals, sumTotals, ZERO_TOTALS, type PathTotals } from "./path-totals.ts";

/** Where a message is, seen from the newest one. */
export interface Location {
  readonly isOnPath: boolean;
  /** The message's child on the active path. */
  readonly child?: MessageHeader;
  /** Sums over the messages between it and the newest one. */
  readonly below: PathTotals;
}

/** What of the store a location is found with. */
interface Tree {
  readonly leafId: string | null;
  readonly rows: MessageRows;
  totals(): PathTotals;
}

export function locate({ leafId, rows }: Tree, target: MessageHeader): Location {
  let child: MessageHeader | undefined;
  let below = ZERO_TOTALS;
  for (const header of leafId === null ? [] : rows.path(leafId)) {
    if (header.id === target.id) return { isOnPath: true, below, child };
    if (header.sequence < target.sequence) break;
    child = header;
    below = addTotals(below, ownTotals(header));
  }
  return { isOnPath: false, below };
}

/** Oldest first. Constant for the active path; a scan for an only child elsewhere. */
export function childrenOf({ rows }: Tree, parent: MessageHeader, { isOnPath, child }: Location): MessageHeader[] {
  const siblings = rows.branches(parent.id);
  if (siblings.length > 0) return siblings;
  const onlyChild = isOnPath ? child : rows.scanForChild(parent.id);
  return onlyChild === undefined ? [] : [onlyChild];
}

/** Sums of the path that ends at a message, exact wherever it is. */
export function exactTotals(tree: Tree, target: MessageHeader, { isOnPath, below }: Location): PathTotals {
  return isOnPath ? subtractTotals(tree.totals(), below) : sumTotals(tree.rows.path(target.id));
}
