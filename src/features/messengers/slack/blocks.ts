// A card as blocks of Slack's Block Kit.
import { cardBlocks, type CardBlock, type CardButton, type CardLink } from "../card.ts";
import type { ChatCard } from "../chat-adapter.ts";

/** Checked with Slack's documentation in November 2026. */
const SECTION_CHARS = 3_000;
const FIELD_CHARS = 2_000;
const FIELDS = 10;
const ELEMENTS = 25;
const MAX_BLOCKS = 50;
const LABEL_CHARS = 75;

export function slackBlocks(card: ChatCard): object[] {
  const title = card.title === undefined ? [] : [section(`*${escape(card.title)}*`, "mrkdwn")];
  return [...title, ...cardBlocks(card).flatMap(encodeBlock)].slice(0, MAX_BLOCKS);
}

/** Prints a card for places where blocks are not shown. */
export function printCard(card: ChatCard): string {
  const texts = cardBlocks(card).flatMap((block) => (block.kind === "text" ? [printText(block)] : []));
  return withoutBroadcast([...(card.title === undefined ? [] : [escape(card.title)]), ...texts].join("\n"));
}

/** Escapes a plain text, in which Slack would read marks such as mentions. */
function printText({ text, isPlain }: Extract<CardBlock, { kind: "text" }>): string {
  return isPlain ? escape(text) : text;
}

export function markdownBlock(text: string): object {
  return { type: "markdown", text: withoutBroadcast(text) };
}

/** Takes the effect from mentions of everyone in the channel: a text that a model wrote must not have it. */
export function withoutBroadcast(text: string): string {
  return text.replaceAll(/<!(?=(channel|here|everyone|group)\b|subteam\^)/g, "<\u200B!");
}

function encodeBlock(block: CardBlock): object[] {
  switch (block.kind) {
    case "text":
      if (block.text.trim() === "") return [];
      return [block.isPlain ? section(block.text, "plain_text") : markdownBlock(block.text)];
    case "image":
      return [{ type: "image", image_url: block.url, alt_text: block.alt || "image" }];
    case "divider":
      return [{ type: "divider" }];
    case "fields":
      return cutIntoGroups(block.fields, FIELDS).map((fields) => ({
        type: "section",
        fields: fields.map(({ label, value }) => ({
          type: "mrkdwn",
          text: `*${escape(label)}*\n${escape(value)}`.slice(0, FIELD_CHARS)
        }))
      }));
    case "buttons":
      return cutIntoGroups(block.buttons, ELEMENTS).map((buttons) => ({
        type: "actions",
        elements: buttons.map(encodeButton)
      }));
  }
}

function encodeButton(button: CardButton | CardLink, index: number): object {
  const text = { type: "plain_text", text: button.label.slice(0, LABEL_CHARS) };
  if ("url" in button) return { type: "button", action_id: `link-${index}`, text, url: button.url };
  const { id, value, style } = button;
  return { type: "button", action_id: id, text, value, style };
}

function section(text: string, type: "mrkdwn" | "plain_text"): object {
  return { type: "section", text: { type, text: text.slice(0, SECTION_CHARS) } };
}

function cutIntoGroups<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
