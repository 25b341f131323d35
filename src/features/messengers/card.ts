// A card of the Chat SDK as the adapters of this package show it: its elements in order, in one flat list. Elements that they
// have no form for (selects, charts) are left out. Pure.
import type { ChannelCard } from "../../feature/channel-text.ts";
import { isObject } from "../../util/json.ts";
import { readList, readString, type Fields } from "./fields.ts";

export interface CardField {
  readonly label: string;
  readonly value: string;
}

export interface CardButton {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly style?: "primary" | "danger";
}

export interface CardLink {
  readonly label: string;
  readonly url: string;
}

export type CardBlock =
  /** `isPlain`: the text is shown letter by letter, whatever marks are in it. */
  | { readonly kind: "text"; readonly text: string; readonly isPlain: boolean }
  | { readonly kind: "image"; readonly url: string; readonly alt: string }
  | { readonly kind: "fields"; readonly fields: readonly CardField[] }
  | { readonly kind: "buttons"; readonly buttons: readonly (CardButton | CardLink)[] }
  | { readonly kind: "divider" };

/** The depth of sections in sections. */
const MAX_DEPTH = 8;

/** Lists what is below the title. */
export function cardBlocks(card: ChannelCard): CardBlock[] {
  const { subtitle, imageUrl } = card;
  return [
    ...(subtitle === undefined ? [] : [makeText(subtitle)]),
    ...(imageUrl === undefined ? [] : [{ kind: "image" as const, url: imageUrl, alt: card.title ?? "" }]),
    ...readBlocks(card.children, MAX_DEPTH)
  ];
}

/** Escapes marks in plain texts, which are plain no more: for adapters that read Markdown in every text of a card. */
export function withEscapedTexts(card: ChannelCard): ChannelCard {
  return { ...card, children: card.children.map((child) => escapeElement(child, MAX_DEPTH)) };
}

function escapeElement(child: Fields, depth: number): Fields {
  const { style, ...text } = child;
  if (child["type"] === "text" && style === "plain")
    return { ...text, content: escapeMarkdown(readString(child["content"])) };
  if (depth === 0 || !Array.isArray(child["children"])) return child;
  return { ...child, children: childrenOf(child).map((one) => escapeElement(one, depth - 1)) };
}

/** Puts a backslash before every mark of ASCII. */
function escapeMarkdown(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, "\\$&");
}

/** The buttons of a card. */
export function buttonsOf(blocks: readonly CardBlock[]): (CardButton | CardLink)[] {
  return blocks.flatMap((block) => (block.kind === "buttons" ? block.buttons : []));
}

function readBlocks(children: unknown, depth: number): CardBlock[] {
  if (!Array.isArray(children) || depth === 0) return [];
  return children.flatMap((child: unknown): CardBlock[] => (isObject(child) ? readBlock(child, depth) : []));
}

function readBlock(child: Fields, depth: number): CardBlock[] {
  switch (child["type"]) {
    case "text":
      return [{ ...makeText(readString(child["content"])), isPlain: child["style"] === "plain" }];
    case "link":
      return [makeText(`[${readString(child["label"])}](${readString(child["url"])})`)];
    case "image":
      return [{ kind: "image", url: readString(child["url"]), alt: readString(child["alt"]) }];
    case "divider":
      return [{ kind: "divider" }];
    case "section":
      return readBlocks(child["children"], depth - 1);
    case "fields":
      return [{ kind: "fields", fields: childrenOf(child).map(readField) }];
    case "table":
      return [makeText(printTable(child))];
    case "actions":
      return [{ kind: "buttons", buttons: childrenOf(child).flatMap(readButton) }];
    default:
      return [];
  }
}

function readButton(child: Fields): (CardButton | CardLink)[] {
  const { type, id, label, value, style, url } = child;
  if (type === "link-button") return [{ label: readString(label), url: readString(url) }];
  if (type !== "button") return [];
  const known = style === "primary" || style === "danger" ? style : undefined;
  return [{ id: readString(id), label: readString(label), value: readString(value), style: known }];
}

function printTable({ headers, rows }: Fields): string {
  const cells = (row: unknown) => `| ${readList(row).map(String).join(" | ")} |`;
  const rule = `|${" --- |".repeat(readList(headers).length)}`;
  return [cells(headers), rule, ...readList(rows).map(cells)].join("\n");
}

function readField({ label, value }: Fields): CardField {
  return { label: readString(label), value: readString(value) };
}

function makeText(text: string): Extract<CardBlock, { kind: "text" }> {
  return { kind: "text", text, isPlain: false };
}

function childrenOf({ children }: Fields): Fields[] {
  return readList(children).filter(isObject);
}
