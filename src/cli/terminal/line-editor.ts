// One line of input: from a key to the line and its cursor. Pure. What is pasted is one text, with its line ends: pasting a
// page of text must not send a message per line.
import { characterWidth } from "./styled-text.ts";

export interface EditedLine {
  readonly text: string;
  /** In characters as strings count them. */
  readonly cursor: number;
  /** Lines that were entered, oldest first, and which of them is shown. */
  readonly history: readonly string[];
  readonly recalled: number | undefined;
  readonly isPasting: boolean;
}

/** As Node's keypress events have it. */
export interface Key {
  readonly name?: string | undefined;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
  readonly sequence?: string | undefined;
}

export const EMPTY_LINE: EditedLine = { text: "", cursor: 0, history: [], recalled: undefined, isPasting: false };
/** Lines that arrow keys bring back; the oldest is dropped past the limit. */
const MAX_HISTORY = 100;
/** Characters; more are not taken. */
const MAX_LINE = 100_000;

export function editLine(line: EditedLine, key: Key): EditedLine {
  const { text, cursor, isPasting } = line;
  const at = (next: number) => ({ ...line, cursor: Math.max(0, Math.min(text.length, next)) });
  const cut = (from: number, to: number) => ({ ...line, text: text.slice(0, from) + text.slice(to), cursor: from });
  if (key.name === "paste-start") return { ...line, isPasting: true };
  if (key.name === "paste-end") return { ...line, isPasting: false };
  if (isPasting) return insert(line, key.name === "return" || key.name === "enter" ? "\n" : (key.sequence ?? ""));
  switch (key.ctrl ? `^${key.name ?? ""}` : key.meta ? `alt-${key.name ?? ""}` : key.name) {
    case "backspace":
    case "^h":
      return cursor === 0 ? line : cut(before(text, cursor), cursor);
    case "delete":
      return cut(cursor, after(text, cursor));
    case "left":
    case "^b":
      return at(before(text, cursor));
    case "right":
    case "^f":
      return at(after(text, cursor));
    case "home":
    case "^a":
      return at(0);
    case "end":
    case "^e":
      return at(text.length);
    case "^u":
      return cut(0, cursor);
    case "^k":
      return cut(cursor, text.length);
    case "^w":
    case "alt-backspace":
      return cut(text.slice(0, cursor).replace(/\S+\s*$/, "").length, cursor);
    case "up":
    case "^p":
      return recall(line, (line.recalled ?? line.history.length) - 1);
    case "down":
    case "^n":
      return recall(line, (line.recalled ?? line.history.length) + 1);
    default:
      return key.ctrl || key.meta ? line : insert(line, key.sequence ?? "");
  }
}

/** The line is entered: it is empty then, and what was entered can be brought back. */
export function enterLine({ text, history }: EditedLine, isKept: boolean): EditedLine {
  const kept = isKept && text.trim() !== "" && text !== history.at(-1) ? [...history, text] : history;
  return { ...EMPTY_LINE, history: kept.slice(-MAX_HISTORY) };
}

export function withText(line: EditedLine, text: string): EditedLine {
  return { ...line, text, cursor: text.length, recalled: undefined };
}

function insert(line: EditedLine, sequence: string): EditedLine {
  // Escape sequences of keys that mean nothing here.
  // oxlint-disable-next-line no-control-regex
  const added = sequence.replace(/\u001b.*/s, "").replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, "");
  if (added === "" || line.text.length + added.length > MAX_LINE) return line;
  const text = line.text.slice(0, line.cursor) + added + line.text.slice(line.cursor);
  return { ...line, text, cursor: line.cursor + added.length, recalled: undefined };
}

function recall(line: EditedLine, index: number): EditedLine {
  if (index < 0) return line;
  if (index >= line.history.length) return line.recalled === undefined ? line : { ...withText(line, "") };
  return { ...withText(line, line.history[index] ?? ""), recalled: index };
}

const before = (text: string, cursor: number) => cursor - ([...text.slice(0, cursor)].at(-1)?.length ?? 0);
const after = (text: string, cursor: number) => cursor + ([...text.slice(cursor)][0]?.length ?? 0);

/** Rows of a prompt and its line, and where its cursor is. A line end is shown by a mark. */
export function editedRows(
  prompt: { readonly text: string; readonly width: number },
  { text, cursor }: Pick<EditedLine, "text" | "cursor">,
  width: number
): { readonly rows: readonly string[]; readonly row: number; readonly column: number } {
  const rows = [prompt.text];
  let column = prompt.width;
  let place = { row: 0, column };
  let at = 0;
  for (const character of text) {
    const shown = character === "\n" ? "⏎" : character;
    const columns = characterWidth(shown);
    if (column + columns > width) {
      rows.push("");
      column = 0;
    }
    if (at === cursor) place = { row: rows.length - 1, column };
    rows[rows.length - 1] += shown;
    column += columns;
    at += character.length;
  }
  if (at === cursor) place = { row: rows.length - 1, column };
  return { rows, ...place };
}
