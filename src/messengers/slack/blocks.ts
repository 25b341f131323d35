// A card as blocks of Slack's Block Kit: texts and buttons, which is all that this package sends.
import { cardParts, type ChatCard } from "../chat-adapter.ts";

const SECTION_CHARS = 3_000;

export function cardBlocks(card: ChatCard): object[] {
  const { title, texts, buttons } = cardParts(card);
  const section = (text: string, type: "mrkdwn" | "plain_text") => ({
    type: "section",
    text: { type, text: text.slice(0, SECTION_CHARS) }
  });
  return [
    ...(title === undefined ? [] : [section(`*${escaped(title)}*`, "mrkdwn")]),
    ...texts.map((text) => section(text, "plain_text")),
    ...(buttons.length === 0
      ? []
      : [
          {
            type: "actions",
            elements: buttons.map(({ id, label, value, style }) => ({
              type: "button",
              action_id: id,
              text: { type: "plain_text", text: label },
              value,
              ...(style && { style })
            }))
          }
        ])
  ];
}

/** Where blocks are not shown. */
export function cardText(card: ChatCard): string {
  const { title, texts } = cardParts(card);
  return [...(title === undefined ? [] : [title]), ...texts].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
