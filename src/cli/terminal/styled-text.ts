// Text with styles, cut into lines that fit a terminal. A line that is wider than the screen would take two rows, and what is
// drawn over it later would miss. Pure.

export type Style = "bold" | "dim" | "italic" | "underline" | "strikethrough" | "cyan" | "green" | "yellow" | "red";

/** Text in some styles, or as it is where the terminal has no colours. */
export type Paint = (styles: Style | readonly Style[], text: string) => string;

export interface Span {
  readonly text: string;
  readonly styles: readonly Style[];
}

export interface WrapOptions {
  readonly width: number;
  readonly paint: Paint;
  /** In front of the first line, and of those that follow it. Painted already; as wide as each other. */
  readonly first?: string;
  readonly rest?: string;
}

/** Double in a terminal: East Asian scripts and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NONE = /[\p{Mn}\p{Me}\p{Cf}]/u;
// oxlint-disable-next-line no-control-regex
const STYLE_CODES = /\u001b\[[\d;]*m/g;

/** Columns. Codes of styles take none. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text.replace(STYLE_CODES, "")) width += characterWidth(character);
  return width;
}

export function characterWidth(character: string): number {
  if (NONE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Lines at spaces; a word that is longer than a line is cut. A line end in the text stays one. */
export function wrapSpans(spans: readonly Span[], { width, paint, first = "", rest = first }: WrapOptions): string[] {
  const room = Math.max(1, width - textWidth(first));
  const lines = joinLines(spans).flatMap((line) => wrapLine(line, room));
  return lines.map((line, index) => (index === 0 ? first : rest) + paintLine(line, paint));
}

/** The spans of each line of the text. */
function joinLines(spans: readonly Span[]): Span[][] {
  const lines: Span[][] = [[]];
  for (const { text, styles } of spans) {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) lines.push([]);
      lines.at(-1)?.push({ text: part, styles });
    }
  }
  return lines;
}

function wrapLine(spans: readonly Span[], room: number): Span[][] {
  const lines: Span[][] = [];
  let line: Span[] = [];
  let used = 0;
  const end = () => {
    lines.push(line);
    line = [];
    used = 0;
  };
  for (const word of wordsOf(spans)) {
    const needed = word.reduce((sum, { text }) => sum + textWidth(text), 0);
    const isSpace = word.every(({ text }) => text.trim() === "");
    if (used + needed > room && used > 0) {
      end();
      if (isSpace) continue;
    }
    for (const { text, styles } of word) {
      for (const character of text) {
        const columns = characterWidth(character);
        if (used + columns > room && used > 0) end();
        line.push({ text: character, styles });
        used += columns;
      }
    }
  }
  return line.length > 0 || lines.length === 0 ? [...lines, line] : lines;
}

/** Words and the spaces between them; a word may have several styles. */
function wordsOf(spans: readonly Span[]): Span[][] {
  const words: Span[][] = [];
  let isInWord = false;
  for (const { text, styles } of spans) {
    for (const part of text.split(/(\s+)/)) {
      if (part === "") continue;
      const isWord = part.trim() !== "";
      const span = { text: part, styles };
      if (isWord && isInWord) words.at(-1)?.push(span);
      else words.push([span]);
      isInWord = isWord;
    }
  }
  return words;
}

function paintLine(characters: readonly Span[], paint: Paint): string {
  let [line, text] = ["", ""];
  let styles: readonly Style[] = [];
  const flush = () => {
    if (text !== "") line += styles.length > 0 ? paint(styles, text) : text;
    text = "";
  };
  for (const one of characters) {
    if (one.styles !== styles) flush();
    styles = one.styles;
    text += one.text;
  }
  flush();
  return line;
}
