// A message as Discord's API takes it. A card of texts and buttons is content with components; one with more is an embed.
import { buttonsOf, cardBlocks, type CardBlock, type CardButton, type CardLink } from "../card.ts";
import type { ChatCard, ChatPostable } from "../chat-adapter.ts";
import { VALUE_MARK } from "./payloads.ts";

/** Checked with Discord's documentation in November 2026. */
const CONTENT_CHARS = 2_000;
const TITLE_CHARS = 256;
/** Characters of a description, of 4,096 that are allowed: all of an embed may have 6,000. */
const DESCRIPTION_CHARS = 3_000;
const FIELDS = 10;
const FIELD_CHARS = 256;
const LABEL_CHARS = 80;
const ROW = 5;
const ROWS = 5;
const STYLES = { primary: 3, danger: 4, other: 2, link: 5 };

/**
 * Encodes a message. Mentions have no effect: a text that a model wrote must not call everyone in the channel. All fields are
 * always there: an edit would keep those that are missing.
 */
export function encodeContent(message: ChatPostable): object {
  const common = { allowed_mentions: { parse: [] } };
  if (typeof message === "string") return { ...common, content: message, embeds: [], components: [] };
  if ("markdown" in message) return { ...common, content: message.markdown, embeds: [], components: [] };
  const blocks = cardBlocks(message.card);
  const components = encodeButtons(buttonsOf(blocks));
  const isRich = blocks.some(({ kind }) => kind === "fields" || kind === "image");
  if (isRich) return { ...common, content: "", embeds: [encodeEmbed(message.card, blocks)], components };
  const { title } = message.card;
  const lines = [...(title === undefined ? [] : [`**${title}**`]), ...toMarkdown(blocks)];
  return { ...common, content: lines.join("\n").slice(0, CONTENT_CHARS), embeds: [], components };
}

/** Makes Markdown of the texts; plain ones are shown letter by letter. */
function toMarkdown(blocks: readonly CardBlock[]): string[] {
  return blocks.flatMap((block) => {
    if (block.kind !== "text") return [];
    return [block.isPlain ? block.text.replace(/[\\*_~`|[\]()<>#]/g, "\\$&") : block.text];
  });
}

function encodeEmbed({ title }: ChatCard, blocks: readonly CardBlock[]): object {
  const image = blocks.find((block) => block.kind === "image");
  const fields = blocks.flatMap((block) => (block.kind === "fields" ? block.fields : [])).slice(0, FIELDS);
  const description = toMarkdown(blocks).join("\n\n").slice(0, DESCRIPTION_CHARS);
  return {
    title: title?.slice(0, TITLE_CHARS),
    description: description || undefined,
    image: image && { url: image.url },
    fields: fields.map(({ label, value }) => ({ name: fillText(label), value: fillText(value), inline: true }))
  };
}

/** Puts a dash in the place of an empty text, which Discord does not take. */
function fillText(text: string): string {
  return text.trim() === "" ? "–" : text.slice(0, FIELD_CHARS);
}

function encodeButtons(buttons: readonly (CardButton | CardLink)[]): object[] {
  const count = Math.min(Math.ceil(buttons.length / ROW), ROWS);
  return Array.from({ length: count }, (_, row) => ({
    type: 1,
    components: buttons.slice(row * ROW, (row + 1) * ROW).map(encodeButton)
  }));
}

function encodeButton(button: CardButton | CardLink): object {
  const label = button.label.slice(0, LABEL_CHARS);
  if ("url" in button) return { type: 2, label, style: STYLES.link, url: button.url };
  const { id, value, style } = button;
  return { type: 2, label, style: STYLES[style ?? "other"], custom_id: `${id}${VALUE_MARK}${value}` };
}
