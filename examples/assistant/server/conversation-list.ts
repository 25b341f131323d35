// The list of conversations and the board, as values: each function takes the state and returns the next one. Pure.
import type { ConversationEntry, DirectoryState, PublishedNote } from "../shared/demo.ts";

/** The one that was used longest ago leaves, and is destroyed. */
export const MAX_CONVERSATIONS = 200;
/** The oldest note leaves. */
export const MAX_BOARD_NOTES = 100;
export const MAX_TITLE_LENGTH = 60;
export const UNTITLED = "New conversation";

export const EMPTY_DIRECTORY: DirectoryState = { conversations: [], board: [] };

/** One line of at most 60 characters; "New conversation" for nothing. */
export function cutTitle(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const characters = [...line];
  if (characters.length <= MAX_TITLE_LENGTH) return line === "" ? UNTITLED : line;
  return `${characters.slice(0, MAX_TITLE_LENGTH - 1).join("")}…`;
}

/** Made, and never asked anything or named: `asked` sees to it that these two times tell. */
export function unusedConversation({ conversations }: DirectoryState): ConversationEntry | undefined {
  return conversations.find(({ title, createdAt, updatedAt }) => title === UNTITLED && createdAt === updatedAt);
}

/** Its time is later than that of its making, also when both happen within one tick of the clock. */
export function asked(entry: ConversationEntry, now: number): ConversationEntry {
  return { ...entry, updatedAt: Math.max(now, entry.createdAt + 1) };
}

/** `dropped`: conversations there was no room for any more. */
export function withConversation(
  state: DirectoryState,
  entry: ConversationEntry
): { state: DirectoryState; dropped: string[] } {
  const all = [entry, ...state.conversations.filter(({ id }) => id !== entry.id)];
  return {
    state: { ...state, conversations: all.slice(0, MAX_CONVERSATIONS) },
    dropped: all.slice(MAX_CONVERSATIONS).map(({ id }) => id)
  };
}

export function withoutConversation(state: DirectoryState, id: string): DirectoryState {
  return { ...state, conversations: state.conversations.filter((entry) => entry.id !== id) };
}

export function withTitle(state: DirectoryState, id: string, title: string): DirectoryState {
  const conversations = state.conversations.map((entry) =>
    entry.id === id ? { ...entry, title: cutTitle(title) } : entry
  );
  return { ...state, conversations };
}

/** The same state, if nothing is new. */
export function withWaiting(state: DirectoryState, id: string, waiting: number): DirectoryState {
  const known = state.conversations.find((entry) => entry.id === id);
  if (!known || (known.waiting ?? 0) === waiting) return state;
  const { waiting: _before, ...entry } = known;
  const next = waiting === 0 ? entry : { ...entry, waiting };
  return { ...state, conversations: state.conversations.map((one) => (one.id === id ? next : one)) };
}

/** A note that is on the board already stays as it is. */
export function withNote(state: DirectoryState, note: PublishedNote): DirectoryState {
  if (state.board.some(({ id }) => id === note.id)) return state;
  return { ...state, board: [note, ...state.board].slice(0, MAX_BOARD_NOTES) };
}
