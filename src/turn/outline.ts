// An open turn as its records tell it, without what was written in it: small, whatever the turn holds. It is read once per
// process and then only advanced, because every look would otherwise pass over all of a long answer.
import type { Conversation, OpenTurn } from "../journal/conversation.ts";
import { emptyTurn, foldTurn, type TurnFold } from "../journal/folds/turn-fold.ts";
import type { Journal } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/records.ts";
import { turnId } from "../util/ids.ts";

interface Stores {
  readonly conversation: Conversation;
  readonly journal: Journal;
}

interface Known {
  readonly turn: TurnFold;
  /** Read up to here. */
  readonly cursor: number;
  /** `conversation.rollbacks` when it was read: any transaction that was undone since may have been part of it. */
  readonly rollbacks: number;
}

/** Of the turn that was looked at last: there is one that runs. */
const newest = new WeakMap<Conversation, Known>();

/** Inputs and outcomes of its calls are left out. */
export function outlineTurn({ conversation, journal }: Stores, open: OpenTurn): TurnFold {
  const id = turnId(open.turnId);
  const { rollbacks } = conversation;
  const known = newest.get(conversation);
  const start =
    known?.turn.turnId === id && known.rollbacks === rollbacks
      ? known
      : { turn: emptyTurn(id), cursor: open.firstSequence - 1 };
  let { turn, cursor } = start;
  let isDamaged = false;
  for (let more = true; more;) {
    const page = journal.reader.read({ after: cursor, turnId: id, outline: true });
    turn = foldTurn(turn, page.entries.map(withoutPayload));
    ({ cursor, more } = page);
    // What stands for the row that was set aside comes with the next look.
    isDamaged ||= page.corrupt.length > 0;
  }
  if (isDamaged) newest.delete(conversation);
  else newest.set(conversation, { turn, cursor, rollbacks });
  return turn;
}

/** The same with inputs and outcomes. */
export function wholeTurn(stores: Stores, open: OpenTurn): TurnFold {
  const outline = outlineTurn(stores, open);
  if (outline.calls.size === 0) return outline;
  let turn = emptyTurn(outline.turnId);
  const options = { after: open.firstSequence - 1, turnId: outline.turnId, outline: true };
  for (const page of stores.journal.reader.pages(options)) turn = foldTurn(turn, page.entries);
  return turn;
}

/** The values that a tool was given and returned may be of any size. */
function withoutPayload(entry: JournalEntry): JournalEntry {
  const { record } = entry;
  if (record.type === "call-started") return { ...entry, record: { ...record, input: null } };
  if (record.type !== "call-settled" || record.outcome.kind !== "output") return entry;
  return { ...entry, record: { ...record, outcome: { kind: "output", output: null } } };
}
