// What a user types at the prompt of `everthink chat` instead of a message: words that begin with a slash.
import type { UIMessage } from "ai";
import { closest } from "../closest.ts";
import { printable } from "../message-text.ts";

const COMMANDS = {
  "/new": "begins anew: what was said is deleted",
  "/undo": "takes the last question back; what you type next takes its place",
  "/approve": "asks again about what waits for your approval",
  "/model": "says which model answers",
  "/help": "lists these",
  "/exit": "leaves, as Ctrl-C does"
} as const;

export type SlashCommandRow = keyof typeof COMMANDS;

/** Undefined: a message. A message may begin with a slash, such as a path: only a single word is meant. */
export function readSlashCommand(text: string): SlashCommandRow | { readonly unknown: string } | undefined {
  const word = text.trim();
  if (!/^\/[a-z]+$/i.test(word)) return undefined;
  return isSlashCommand(word.toLowerCase()) ? (word.toLowerCase() as SlashCommandRow) : { unknown: word };
}

function isSlashCommand(word: string): word is SlashCommandRow {
  return Object.hasOwn(COMMANDS, word);
}

export function helpText(): string {
  return Object.entries(COMMANDS)
    .map(([name, text]) => `${name.padEnd(10)}${text}`)
    .join("\n");
}

export function unknownText(word: string): string {
  const meant = closest(word, Object.keys(COMMANDS));
  return printable(`There is no ${word}.${meant === undefined ? " See /help" : ` Did you mean ${meant}?`}`);
}

/** The last question, which `/undo` takes back. */
export function lastQuestion(messages: readonly UIMessage[]): { id: string; text: string } | undefined {
  const message = messages.findLast(({ role }) => role === "user");
  if (message === undefined) return undefined;
  return { id: message.id, text: message.parts.map((part) => (part.type === "text" ? part.text : "")).join("") };
}

/** As the app's login tells its page; undefined where the server does not say. */
export async function modelLabel(origin: string, query: Readonly<Record<string, string>>): Promise<string | undefined> {
  try {
    const url = new URL("/me", origin);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const response = await fetch(url, { signal: AbortSignal.timeout(MODEL_LIMIT_MS) });
    const { model } = (await response.json()) as { model?: { label?: unknown; problem?: unknown } };
    if (typeof model?.label !== "string") return undefined;
    return printable(typeof model.problem === "string" ? `${model.label}. ${model.problem}` : model.label);
  } catch {
    return undefined; // No such route: an app without the starters' login.
  }
}

const MODEL_LIMIT_MS = 5_000;
