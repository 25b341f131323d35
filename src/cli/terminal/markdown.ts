// Blocks of Markdown as lines of a terminal: what is bold is bold, a list has its marks, a table its columns. HTML of the
// model is shown as the characters it is. Pure.
import type { MarkedToken, Token, Tokens } from "marked";
import { isOwnToken } from "../../client/parts/markdown/blocks.ts";
import { printable } from "../message-text.ts";
import { textWidth, wrapSpans, type Paint, type Span, type Style } from "./styled-text.ts";

export interface MarkdownLook {
  readonly width: number;
  readonly paint: Paint;
}

/** A cell that is wider is wrapped by the terminal's own means: the table is then shown as it was written. */
const TABLE_GAP = "  ";

export function blockLines(token: MarkedToken, look: MarkdownLook): string[] {
  const { width, paint } = look;
  switch (token.type) {
    case "space":
      return [""];
    case "heading":
      return wrapSpans(inlineSpans(token.tokens, token.depth === 1 ? ["bold", "underline"] : ["bold"]), look);
    case "code":
      return codeLines(token, look);
    case "blockquote": {
      const mark = paint("dim", "│ ");
      return blocksOf(token.tokens, { ...look, width: width - 2 }).map((line) => mark + line);
    }
    case "list":
      return listLines(token as Tokens.List, look);
    case "table":
      return tableLines(token as Tokens.Table, look);
    case "hr":
      return [paint("dim", "─".repeat(Math.min(width, 40)))];
    case "paragraph":
      return wrapSpans(inlineSpans(token.tokens, []), look);
    case "text":
      return wrapSpans(token.tokens ? inlineSpans(token.tokens, []) : [plainSpan(token.text, [])], look);
    case "def":
      return [];
    default:
      return wrapSpans([{ text: clean(token.raw).replace(/\n+$/, ""), styles: [] }], look);
  }
}

function blocksOf(tokens: readonly Token[], look: MarkdownLook): string[] {
  return tokens.filter(isOwnToken).flatMap((token) => blockLines(token, look));
}

function codeLines({ text }: Tokens.Code | Tokens.Generic, { width, paint }: MarkdownLook): string[] {
  const first = paint("dim", "│ ");
  return wrapSpans([{ text: clean(String(text)), styles: ["cyan"] }], { width, paint, first });
}

function listLines({ items, ordered, start, loose }: Tokens.List, look: MarkdownLook): string[] {
  return items.flatMap((item, index) => {
    const box = item.task ? (item.checked ? "☑ " : "☐ ") : "";
    const mark = ordered ? `${Number(start || 1) + index}. ` : box === "" ? "• " : "";
    const margin = mark + box;
    const content = item.tokens.filter((token) => token.type !== "checkbox");
    const lines = blocksOf(content, { ...look, width: look.width - textWidth(margin) });
    const shown = (lines.length > 0 ? lines : [""]).map((line, row) =>
      line === "" && row > 0 ? "" : (row === 0 ? look.paint("dim", margin) : " ".repeat(textWidth(margin))) + line
    );
    return loose && index < items.length - 1 && shown.at(-1) !== "" ? [...shown, ""] : shown;
  });
}

function tableLines({ header, rows, align, raw }: Tokens.Table, { width, paint }: MarkdownLook): string[] {
  const styled = (spans: Span[]) => wrapSpans(spans, { width: Infinity, paint }).join(" ");
  const cells = [
    header.map(({ tokens }) => styled(inlineSpans(tokens, ["bold"]))),
    ...rows.map((row) => row.map(({ tokens }) => styled(inlineSpans(tokens, []))))
  ];
  const widths = header.map((_, column) => Math.max(...cells.map((row) => textWidth(row[column] ?? ""))));
  const whole = widths.reduce((sum, one) => sum + one, 0) + TABLE_GAP.length * (widths.length - 1);
  if (whole > width) return wrapSpans([{ text: clean(raw).trimEnd(), styles: [] }], { width, paint });
  const [head = "", ...body] = cells.map((row) =>
    row
      .map((cell, column) => aligned(cell, widths[column] ?? 0, align[column]))
      .join(TABLE_GAP)
      .trimEnd()
  );
  const line = paint("dim", widths.map((one) => "─".repeat(one)).join(TABLE_GAP));
  return [head, line, ...body];
}

function aligned(cell: string, width: number, align: "center" | "left" | "right" | null | undefined): string {
  const space = width - textWidth(cell);
  const before = align === "right" ? space : align === "center" ? Math.floor(space / 2) : 0;
  return " ".repeat(before) + cell + " ".repeat(space - before);
}

function inlineSpans(tokens: readonly Token[] | undefined, styles: readonly Style[]): Span[] {
  return (tokens ?? []).filter(isOwnToken).flatMap((token) => spansOf(token, styles));
}

function spansOf(token: MarkedToken, styles: readonly Style[]): Span[] {
  switch (token.type) {
    case "strong":
      return inlineSpans(token.tokens, [...styles, "bold"]);
    case "em":
      return inlineSpans(token.tokens, [...styles, "italic"]);
    case "del":
      return inlineSpans(token.tokens, [...styles, "strikethrough"]);
    case "codespan":
      return [{ text: clean(token.text), styles: [...styles, "cyan"] }];
    case "br":
      return [{ text: "\n", styles }];
    case "link":
      return withAddress(inlineSpans(token.tokens, [...styles, "underline"]), token.href, styles);
    case "image":
      return withAddress([plainSpan(token.text, [...styles, "underline"])], token.href, styles);
    case "text":
      return token.tokens ? inlineSpans(token.tokens, styles) : [plainSpan(token.text, styles)];
    case "escape":
      return [plainSpan(token.text, styles)];
    default:
      return [{ text: clean(token.raw), styles }];
  }
}

/** The address is seen: words of a model may name another one. */
function withAddress(label: Span[], href: string, styles: readonly Style[]): Span[] {
  const said = label.map(({ text }) => text).join("");
  const address = clean(href);
  if (said === address || `mailto:${said}` === address) return label;
  return [
    ...(said === "" ? [] : [...label, { text: " ", styles }]),
    { text: `(${address})`, styles: [...styles, "dim"] }
  ];
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** One paragraph: where its source was broken is a space. */
function plainSpan(text: string, styles: readonly Style[]): Span {
  const decoded = text
    .replace(/&#(\d{1,7});/g, (_, number: string) => characterOf(Number(number)))
    .replace(/&#x([\da-f]{1,6});/gi, (_, number: string) => characterOf(Number.parseInt(number, 16)))
    .replace(/&([a-z]{2,6});/g, (entity, name: string) => ENTITIES[name] ?? entity);
  return { text: clean(decoded).replaceAll("\n", " "), styles };
}

function characterOf(code: number): string {
  return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : "\u{fffd}";
}

/** A tab would take as many columns as the terminal likes. */
function clean(text: string): string {
  return printable(text).replaceAll("\t", "    ");
}
