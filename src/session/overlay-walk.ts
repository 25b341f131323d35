// From a message up to its root as histories show the path: where a summary ends, it is given instead of what it covers,
// and the walk goes on above its start. Covered messages are not read.
import type { MessageHeader, WalkStop } from "./message-rows.ts";
import type { Overlay } from "./overlay-rows.ts";

export interface WalkSource<Row extends Pick<MessageHeader, "parentId">> {
  /** Messages from one upwards, to the root or to the message where it stops, which is not given. */
  segment(fromId: string, stop?: WalkStop): Iterable<Row>;
  header(id: string): MessageHeader | undefined;
}

export type Shown<Row> =
  { readonly row: Row; readonly overlay?: never } | { readonly overlay: Overlay; readonly row?: never };

/** `shown`: the summaries of this path, by position. */
export function* walkShown<Row extends Pick<MessageHeader, "parentId">>(
  fromId: string,
  shown: readonly Overlay[],
  source: WalkSource<Row>
): Generator<Shown<Row>, void, undefined> {
  let next: string | null = fromId;
  for (const overlay of shown.toReversed()) {
    for (const row of source.segment(next, { id: overlay.toId, sequence: overlay.toSequence })) {
      yield { row };
      next = row.parentId;
    }
    if (next === null) return;
    // Somebody else changed the rows: what the summary stood for is shown as it is.
    const start: MessageHeader | undefined = next === overlay.toId ? source.header(overlay.fromId) : undefined;
    if (start === undefined) continue;
    yield { overlay };
    if (start.parentId === null) return;
    next = start.parentId;
  }
  for (const row of source.segment(next)) yield { row };
}
