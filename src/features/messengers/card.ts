// A card of the Chat SDK as the adapters of this package show it: its elements in order, in one flat list. What they have no
// form for (selects, charts) is left out. Pure.
import type { ChannelCard } from "../channels/channels.ts";
import { isObject } from "../../util/json.ts";

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
  /** `isPlain`: shown letter by letter, whatever marks are in it. */
  | { readonly kind: "text"; readonly text: string; readonly isPlain: boolean }
  | { readonly kind: "image"; readonly url: string; readonly alt: string }
  | { readonly kind: "fields"; readonly fields: readonly CardField[] }
  | { readonly kind: "buttons"; readonly buttons: readonly (CardButton | CardLink)[] }
  | { readonly kind: "divider" };

type Fields = Record<string, unknown>;

/** Sections in sections, at most. */
const MAX_DEPTH = 8;

/** What is below the title. */
export function cardBlocks(card: ChannelCard): CardBlock[] {
  const { subtitle, imageUrl } = card;
  return [
    ...(subtitle === undefined ? [] : [textBlock(subtitle)]),
    ...(imageUrl === undefined ? [] : [{ kind: "image" as const, url: imageUrl, alt: card.title ?? "" }]),
    ...blocksOf(card.children, MAX_DEPTH)
  ];
}

/**
 * For adapters that read Markdown in every text of a card: marks in a plain one are escaped, and it is not plain any more.
 */
export function withEscapedTexts(card: ChannelCard): ChannelCard {
  return { ...card, children: card.children.map((child) => escapedElement(child, MAX_DEPTH)) };
}

function escapedElement(child: Fields, depth: number): Fields {
  const { style, ...text } = child;
  if (child["type"] === "text" && style === "plain")
    return { ...text, content: escapedMarkdown(textOf(child["content"])) };
  if (depth === 0 || !Array.isArray(child["children"])) return child;
  return { ...child, children: itemsOf(child["children"]).map((one) => escapedElement(one, depth - 1)) };
}

/** Every mark of ASCII may stand behind a backslash. */
function escapedMarkdown(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, "\\$&");
}

export function buttonsOf(blocks: readonly CardBlock[]): (CardButton | CardLink)[] {
  return blocks.flatMap((block) => (block.kind === "buttons" ? block.buttons : []));
}

function blocksOf(children: unknown, depth: number): CardBlock[] {
  if (!Array.isArray(children) || depth === 0) return [];
  return children.flatMap((child: unknown): CardBlock[] => (isObject(child) ? blockOf(child, depth) : []));
}

function blockOf(child: Fields, depth: number): CardBlock[] {
  switch (child["type"]) {
    case "text":
      return [{ ...textBlock(textOf(child["content"])), isPlain: child["style"] === "plain" }];
    case "link":
      return [textBlock(`[${textOf(child["label"])}](${textOf(child["url"])})`)];
    case "image":
      return [{ kind: "image", url: textOf(child["url"]), alt: textOf(child["alt"]) }];
    case "divider":
      return [{ kind: "divider" }];
    case "section":
      return blocksOf(child["children"], depth - 1);
    case "fields":
      return [{ kind: "fields", fields: itemsOf(child["children"]).map(fieldOf) }];
    case "table":
      return [textBlock(tableText(child))];
    case "actions":
      return [{ kind: "buttons", buttons: itemsOf(child["children"]).flatMap(buttonOf) }];
    default:
      return [];
  }
}

function buttonOf(child: Fields): (CardButton | CardLink)[] {
  const { type, id, label, value, style, url } = child;
  if (type === "link-button") return [{ label: textOf(label), url: textOf(url) }];
  if (type !== "button") return [];
  const isStyled = style === "primary" || style === "danger";
  return [{ id: textOf(id), label: textOf(label), value: textOf(value), ...(isStyled && { style }) }];
}

function tableText({ headers, rows }: Fields): string {
  const cells = (row: unknown) => `| ${(Array.isArray(row) ? row : []).map(String).join(" | ")} |`;
  const width = Array.isArray(headers) ? headers.length : 0;
  const rule = `|${" --- |".repeat(width)}`;
  return [cells(headers), rule, ...(Array.isArray(rows) ? rows : []).map(cells)].join("\n");
}

function fieldOf({ label, value }: Fields): CardField {
  return { label: textOf(label), value: textOf(value) };
}

function textBlock(text: string): Extract<CardBlock, { kind: "text" }> {
  return { kind: "text", text, isPlain: false };
}

function itemsOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
