// What the agent tells the page about its hooks and events while a turn runs. Not stored anywhere: it begins when the
// page is opened, and only the newest notes are kept. Tokens are summed before old notes go.
import { useCallback, useEffect, useRef, useState } from "react";
import type { ConnectionState } from "everthink/client";
import type { PanelNote } from "../../shared/demo.ts";

const KEPT_NOTES = 200;

export interface Tokens {
  readonly input: number;
  readonly output: number;
}

export interface NoteList {
  /** Newest first. */
  readonly notes: readonly NumberedNote[];
  readonly total: Tokens;
  readonly lastTurn: Tokens;
}

export interface NumberedNote extends PanelNote {
  readonly number: number;
}

const NO_TOKENS: Tokens = { input: 0, output: 0 };
export const NO_NOTES: NoteList = { notes: [], total: NO_TOKENS, lastTurn: NO_TOKENS };

/** The hook with which a turn begins. */
const TURN_BEGINS = "beforeTurn";

export function withNote(list: NoteList, note: PanelNote): NoteList {
  if (list.notes.some(({ id }) => id === note.id)) return list;
  const number = (list.notes[0]?.number ?? 0) + 1;
  const lastTurn = note.name === TURN_BEGINS ? NO_TOKENS : list.lastTurn;
  return {
    notes: [{ ...note, number }, ...list.notes.slice(0, KEPT_NOTES - 1)],
    total: plus(list.total, note.usage),
    lastTurn: plus(lastTurn, note.usage)
  };
}

/** Since this page was opened. */
export function hasSeenTurn({ notes, total }: NoteList): boolean {
  return total.input + total.output > 0 || notes.some(({ name }) => name === TURN_BEGINS);
}

function plus(tokens: Tokens, usage: PanelNote["usage"]): Tokens {
  if (usage === undefined) return tokens;
  return { input: tokens.input + usage.inputTokens, output: tokens.output + usage.outputTokens };
}

/** Text from the agent that is not of the chat: ours if it says so, another program's otherwise. */
export function readNote(text: string): PanelNote | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isPanelNote(value) ? value : undefined;
  } catch {
    // Not JSON, so not a note.
    return undefined;
  }
}

function isPanelNote(value: unknown): value is PanelNote {
  if (typeof value !== "object" || value === null || !("type" in value) || value.type !== "panel") return false;
  return (
    "name" in value && typeof value.name === "string" && "id" in value && "at" in value && typeof value.at === "number"
  );
}

interface PanelNotes {
  readonly list: NoteList;
  receive(this: void, text: string): void;
  /** What the page sees itself. */
  add(this: void, note: PanelNote): void;
}

export function usePanelNotes(): PanelNotes {
  const [list, setList] = useState(NO_NOTES);
  const add = useCallback((note: PanelNote) => setList((before) => withNote(before, note)), []);
  const receive = useCallback((text: string) => {
    const note = readNote(text);
    if (note !== undefined) setList((before) => withNote(before, note));
  }, []);
  return { list, receive, add };
}

const CONNECTION_EVENTS: Readonly<Partial<Record<ConnectionState, string>>> = {
  open: "connection:open",
  reconnecting: "connection:lost"
};

/** The agent cannot tell that it is gone, so the page does. */
export function useConnectionNotes(connection: ConnectionState, add: PanelNotes["add"]): void {
  const wasOpen = useRef(false);
  useEffect(() => {
    const name = CONNECTION_EVENTS[connection];
    // That a page connects when it is opened is no event.
    if (wasOpen.current && name !== undefined)
      add({ type: "panel", id: crypto.randomUUID(), at: Date.now(), kind: "event", name, detail: "seen by this page" });
    if (connection === "open") wasOpen.current = true;
  }, [connection, add]);
}

/** Events of an interruption stand out. */
export function isAboutRecovery(name: string): boolean {
  return /recover|interrupt|resum|^connection:/i.test(name);
}
