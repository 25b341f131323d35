// A person has several conversations: each is an agent of its own, whose name is the person's, a colon and an id. The login lets
// a person into agents of these names, and nobody else (src/login.ts).
export interface ConversationEntry {
  readonly id: string;
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  /** It was asked something. */
  readonly isUsed?: boolean;
}

export interface ConversationList {
  readonly conversations: readonly ConversationEntry[];
}

export const UNTITLED = "New conversation";
const TITLE_CHARACTERS = 60;

/** Of the agent. */
export function nameOf(person: string, id: string): string {
  return `${person}:${id}`;
}

/** Whose conversation an agent is. */
export function personOf(name: string): string {
  return name.split(":")[0] ?? name;
}

/** One line of at most 60 characters. */
export function cutTitle(text: string): string {
  const characters = [...text.replace(/\s+/g, " ").trim()];
  if (characters.length <= TITLE_CHARACTERS) return characters.join("") || UNTITLED;
  return `${characters.slice(0, TITLE_CHARACTERS - 1).join("")}…`;
}
