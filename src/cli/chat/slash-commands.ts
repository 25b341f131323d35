// What a user types at the prompt of `everthink chat` instead of a message: words that begin with a slash. Pure.
import type { UIMessage } from "ai";
import { closest } from "../closest.ts";
import { printable } from "../message-text.ts";

const COMMANDS = {
  "/steer": { given: "text", text: "gives the running answer a message, as Enter does: it is read at the next step" },
  "/later": { given: "text", text: "a message for after this answer, as Alt+Enter does" },
  "/queue": { text: "lists the messages that wait" },
  "/edit": { given: "n [text]", text: "changes the n-th message that waits" },
  "/withdraw": { given: "n", text: "takes it back" },
  "/new": { text: "begins anew: what was said is deleted" },
  "/undo": { text: "takes the last question back; what you type next takes its place" },
  "/approve": { text: "asks again about what waits for your approval" },
  "/model": { text: "says which model answers" },
  "/help": { text: "lists these" },
  "/exit": { text: "leaves, as Ctrl-C does" }
} as const satisfies Readonly<Record<string, { given?: string; text: string }>>;

export type SlashCommandName = keyof typeof COMMANDS;

export interface SlashCommand {
  readonly name: SlashCommandName;
  /** What follows the word. */
  readonly rest: string;
}

/**
 * Undefined: a message. A message may begin with a slash, such as a path: only a single word is meant, or one of the commands
 * that take something.
 */
export function readSlashCommand(text: string): SlashCommand | { readonly unknown: string } | undefined {
  const [, word = "", rest = ""] = /^\s*(\/[a-z]+)(?:\s+(.*?))?\s*$/is.exec(text) ?? [];
  if (word === "") return undefined;
  const name = word.toLowerCase();
  if (!isSlashCommand(name)) return rest === "" ? { unknown: word } : undefined;
  return rest === "" || "given" in COMMANDS[name] ? { name, rest } : undefined;
}

function isSlashCommand(word: string): word is SlashCommandName {
  return Object.hasOwn(COMMANDS, word);
}

export function helpLines(): string[] {
  const rows = Object.entries(COMMANDS).map(([name, command]) => [
    "given" in command ? `${name} ${command.given}` : name,
    command.text
  ]);
  const width = Math.max(...rows.map(([term = ""]) => term.length)) + 2;
  return rows.map(([term = "", text = ""]) => term.padEnd(width) + text);
}

export function unknownText(word: string): string {
  const meant = closest(word, Object.keys(COMMANDS));
  return printable(`There is no ${word}.${meant === undefined ? " See /help" : ` Did you mean ${meant}?`}`);
}

/** `n` and what follows it. */
export function readPlace(rest: string): { readonly place: number; readonly text: string } | undefined {
  const [, number, text = ""] = /^(\d{1,3})(?:\s+(.+))?$/s.exec(rest.trim()) ?? [];
  return number === undefined ? undefined : { place: Number(number), text };
}

/** The last question, which `/undo` takes back. */
export function lastQuestion(messages: readonly UIMessage[]): { id: string; text: string } | undefined {
  const message = messages.findLast(({ role }) => role === "user");
  return message === undefined ? undefined : { id: message.id, text: wordsOf([message]) };
}

/** What messages say, without their files. */
export function wordsOf(messages: readonly Pick<UIMessage, "parts">[]): string {
  return messages.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : ""))).join("");
}
