// A card as an Adaptive Card.
import { buttonsOf, cardBlocks, type CardBlock, type CardButton, type CardLink } from "../card.ts";
import type { ChatCard } from "../chat-adapter.ts";

export function encodeAdaptiveCard(card: ChatCard): object {
  const blocks = cardBlocks(card);
  return {
    type: "AdaptiveCard",
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    version: "1.5",
    body: [
      ...(card.title === undefined ? [] : [{ type: "TextBlock", text: card.title, weight: "Bolder", wrap: true }]),
      ...encodeBody(blocks)
    ],
    actions: buttonsOf(blocks).map(encodeButton)
  };
}

/** Encodes blocks; a divider is a line above the element that follows it. */
function encodeBody(blocks: readonly CardBlock[]): object[] {
  let separator = false;
  return blocks.flatMap((block) => {
    if (block.kind === "divider") separator = true;
    const [first, ...rest] = encodeBlock(block);
    if (!first) return [];
    const shown = separator ? { ...first, separator } : first;
    separator = false;
    return [shown, ...rest];
  });
}

function encodeBlock(block: CardBlock): object[] {
  switch (block.kind) {
    case "text":
      return block.isPlain ? encodeLines(block.text) : [{ type: "TextBlock", text: block.text, wrap: true }];
    case "image":
      return [{ type: "Image", url: block.url, altText: block.alt }];
    case "fields":
      return [{ type: "FactSet", facts: block.fields.map(({ label, value }) => ({ title: label, value })) }];
    case "buttons":
    case "divider":
      return [];
  }
}

/** Encodes a plain text: a TextRun has no Markdown. Each line is an element: within one, Teams may join lines. */
function encodeLines(text: string): object[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line, index) => ({
    type: "RichTextBlock",
    spacing: index > 0 ? "None" : undefined,
    inlines: [{ type: "TextRun", text: line }]
  }));
}

function encodeButton(button: CardButton | CardLink): object {
  if ("url" in button) return { type: "Action.OpenUrl", title: button.label, url: button.url };
  const { id, label, value, style } = button;
  return {
    type: "Action.Submit",
    title: label,
    style: style && (style === "danger" ? "destructive" : "positive"),
    data: { actionId: id, value }
  };
}
