// A terminal with lines that stay, and below them lines that are drawn again: what is not finished, and a prompt. Typing goes
// on while text comes in. It writes only what every terminal knows: moving up, erasing down, a column.
import { emitKeypressEvents } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { CliTerminal } from "../cli-context.ts";
import { paintFor } from "./paint.ts";
import { editedRows, EMPTY_LINE, editLine, enterLine, withText, type EditedLine, type Key } from "./line-editor.ts";
import { textWidth, type Paint } from "./styled-text.ts";

export interface ScreenKeys {
  /** A line was entered; with Alt it is for later. */
  onLine(text: string, isLater: boolean): void;
  /** Ctrl-C, and Ctrl-D where nothing was typed. */
  onInterrupt(isEnd: boolean): void;
  /** Before the line sees it; true keeps it from the line. */
  onKey?(key: Key): boolean;
}

/** Drawn again so many times a second at most: a model writes faster than anybody reads. */
const FRAME_MS = 30;
const ESCAPE = "\u001b[";

/** A terminal that does not know its size says 0. */
export function columnsOf(output: Writable & { readonly columns?: number }): number {
  return output.columns || Infinity;
}

export class TerminalScreen {
  readonly paint: Paint;
  readonly #input: Readable & { setRawMode?(isRaw: boolean): unknown; readonly isTTY?: boolean };
  readonly #output: Writable & { readonly columns?: number; readonly rows?: number };
  readonly #keys: ScreenKeys;
  #live: readonly string[] = [];
  #prompt: string | undefined;
  #line: EditedLine = EMPTY_LINE;
  /** Rows of the last drawing above the cursor. */
  #above = 0;
  #frame: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ input, output, hasColors }: CliTerminal, keys: ScreenKeys) {
    this.#input = input;
    this.#output = output;
    this.#keys = keys;
    this.paint = paintFor(hasColors);
    emitKeypressEvents(input);
    input.on("keypress", this.#onKey);
    input.once("end", this.#onEnd);
    output.on("resize", this.#onResize);
    this.#raw(true);
    input.resume();
  }

  /** Columns of a line: the last one stays free, because terminals differ in what they do there. */
  get width(): number {
    return columnsOf(this.#output) - 1;
  }

  get line(): string {
    return this.#line.text;
  }

  /** What is typed instead. */
  setLine(text: string): void {
    this.#line = withText(this.#line, text);
    this.#draw([]);
  }

  /** Undefined: nothing can be typed. */
  setPrompt(prompt: string | undefined): void {
    if (prompt === this.#prompt) return;
    this.#prompt = prompt;
    this.#draw([]);
  }

  /** Lines that stay. */
  print(lines: readonly string[]): void {
    if (lines.length > 0) this.#draw(lines);
  }

  /** Lines that stay, and those that are drawn below them from now on. */
  show(lines: readonly string[], live: readonly string[]): void {
    this.#live = live;
    if (lines.length > 0) this.#draw(lines);
    else this.#frame ??= setTimeout(() => this.#draw([]), FRAME_MS);
  }

  /** What is drawn again goes; the lines stay. */
  close(): void {
    if (this.#isClosed) return;
    this.#live = [];
    this.#prompt = undefined;
    this.#draw([]);
    this.#isClosed = true;
    clearTimeout(this.#frame);
    this.#input.off("keypress", this.#onKey).off("end", this.#onEnd);
    this.#output.off("resize", this.#onResize);
    this.#raw(false);
    this.#input.pause();
  }

  #raw(isRaw: boolean): void {
    if (!this.#input.isTTY) return;
    this.#input.setRawMode?.(isRaw);
    // Pasted text comes between two marks.
    this.#output.write(`${ESCAPE}?2004${isRaw ? "h" : "l"}`);
  }

  readonly #onResize = () => this.#draw([]);
  readonly #onEnd = () => this.#keys.onInterrupt(true);

  readonly #onKey = (_text: string | undefined, key: Key) => {
    if (key.ctrl && key.name === "c") return this.#keys.onInterrupt(false);
    if (key.ctrl && key.name === "d" && this.#line.text === "") return this.#keys.onInterrupt(true);
    if (this.#keys.onKey?.(key)) return;
    if (this.#prompt === undefined) return;
    const isEnter = (key.name === "return" || key.name === "enter") && !this.#line.isPasting;
    if (isEnter) return this.#enter(key.meta ?? false);
    this.#line = editLine(this.#line, key);
    this.#draw([]);
  };

  #enter(isLater: boolean): void {
    const { text } = this.#line;
    const { rows } = editedRows(this.#promptText, { text, cursor: 0 }, this.width);
    this.#line = enterLine(this.#line, true);
    this.#draw(rows);
    this.#keys.onLine(text, isLater);
  }

  get #promptText(): { text: string; width: number } {
    const text = this.#prompt ?? "";
    return { text, width: textWidth(text) };
  }

  #draw(lines: readonly string[]): void {
    if (this.#isClosed) return;
    clearTimeout(this.#frame);
    this.#frame = undefined;
    const erase = `${this.#above > 0 ? `${ESCAPE}${this.#above}A` : ""}${ESCAPE}1G${ESCAPE}0J`;
    const edited = this.#prompt === undefined ? undefined : editedRows(this.#promptText, this.#line, this.width);
    // What does not fit would scroll away, and could not be drawn over.
    const room = Math.max(1, (this.#output.rows || Infinity) - (edited?.rows.length ?? 0) - 1);
    const live = this.#live.slice(Math.max(0, this.#live.length - room));
    const below = edited?.rows ?? [];
    const text = [...lines, ...live].map((line) => `${line}\n`).join("");
    const up = below.length - 1 - (edited?.row ?? 0);
    const cursor = edited === undefined ? "" : `${up > 0 ? `${ESCAPE}${up}A` : ""}${ESCAPE}${edited.column + 1}G`;
    this.#above = live.length + (edited?.row ?? 0);
    this.#output.write(erase + text + below.join("\n") + cursor);
  }
}
