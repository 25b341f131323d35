// What a terminal shows of the bytes a command writes: lines, the cursor, erasing, and colours. Only what readline uses.

interface Cell {
  readonly character: string;
  /** The codes of its colours, as they were written. */
  readonly style: string;
}

// oxlint-disable-next-line no-control-regex
const SEQUENCE = /\u001b\[([\d;?]*)([A-Za-z])/y;

const PAPER =
  "margin:0;padding:20px 24px;display:inline-block;background:#1b1d23;color:#e6e6e6;font:14px/1.5 monospace;min-width:520px";
/** By the codes that are written. */
const COLOURS: Readonly<Record<string, string>> = { "2": "#8b909c", "32": "#7fd88f", "33": "#e5c07b" };

function coloured(character: string, style: string): string {
  const text = character.replace(/[&<]/, (one) => (one === "<" ? "&lt;" : "&amp;"));
  const colour = COLOURS[style];
  return colour === undefined ? text : `<span style="color:${colour}">${text}</span>`;
}

export class Screen {
  readonly #lines: Cell[][] = [[]];
  #row = 0;
  #column = 0;
  #style = "";

  write(text: string): void {
    for (let at = 0; at < text.length;) {
      SEQUENCE.lastIndex = at;
      const found = SEQUENCE.exec(text);
      if (found) this.#control(found[1] ?? "", found[2] ?? "");
      else this.#put(text[at] ?? "");
      at += found ? found[0].length : 1;
    }
  }

  get text(): string {
    return this.#lines
      .map((line) =>
        line
          .map(({ character }) => character)
          .join("")
          .trimEnd()
      )
      .join("\n");
  }

  /** As a page that looks like a terminal. */
  get html(): string {
    const lines = this.#lines.map((line) => line.map(({ character, style }) => coloured(character, style)).join(""));
    return `<body style="margin:0"><pre style="${PAPER}">${lines.join("\n")}</pre></body>`;
  }

  #put(character: string): void {
    if (character === "\n") this.#move(this.#row + 1, 0);
    else if (character === "\r") this.#column = 0;
    else {
      const line = this.#lines[this.#row] ?? [];
      while (line.length < this.#column) line.push({ character: " ", style: "" });
      line[this.#column] = { character, style: this.#style };
      this.#column += 1;
    }
  }

  #control(given: string, kind: string): void {
    const count = Number(given || "1");
    if (kind === "G") this.#column = count - 1;
    else if (kind === "A") this.#move(this.#row - count, this.#column);
    else if (kind === "B") this.#move(this.#row + count, this.#column);
    else if (kind === "C") this.#column += count;
    else if (kind === "D") this.#column = Math.max(0, this.#column - count);
    else if (kind === "m") this.#style = /^(0|22|39)?$/.test(given) ? "" : given;
    else if (kind === "J" || kind === "K") {
      this.#lines[this.#row]?.splice(this.#column);
      if (kind === "J") this.#lines.splice(this.#row + 1);
    } else if (kind !== "h" && kind !== "l") throw new Error(`The sequence ESC[${given}${kind} is not known.`);
  }

  #move(row: number, column: number): void {
    this.#row = Math.max(0, row);
    while (this.#lines.length <= this.#row) this.#lines.push([]);
    this.#column = column;
  }
}
