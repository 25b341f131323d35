// The active branch as clients show it, accepted messages not yet placed last.
import type { UIMessage } from "ai";
import type { TurnStore } from "./store.ts";

export function shownTranscript(store: TurnStore): UIMessage[] {
  const { transcript } = store.init;
  // A submission is not part of the conversation before its time has come.
  const queue = store.queue.flatMap((open) => store.find(open) ?? []);
  const waiting = queue.filter(({ fold, admitted }) => fold.attempt === 0 && admitted.trigger !== "submission");
  // Stored by `admit` as the messages they are.
  const unplaced = waiting.flatMap(({ admitted }) => admitted.input as readonly unknown[] as UIMessage[]);
  // An id that is stored, or waits already, stays where it is: placing it again changes nothing.
  const shown = new Set(transcript.storedOf(unplaced.map(({ id }) => id)));
  const added = unplaced.filter(({ id }) => !shown.has(id) && shown.add(id));
  return [...transcript.path(), ...added];
}
