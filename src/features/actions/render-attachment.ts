// What `renderAttachment()` makes of an attachment where the class does not say otherwise. Pure.
import { isObject } from "../../util/json.ts";
import type { ReplyAttachment } from "../../feature/approval-contract.ts";
import type { ChannelCard, ChannelText } from "../../feature/channel-text.ts";

/** For the kinds this package knows; undefined for what text cannot show. */
export function renderAttachment(attachment: ReplyAttachment): ChannelText | undefined {
  switch (attachment.type) {
    case "card":
      return cardText(attachment);
    case "email_draft":
      return emailText(attachment);
    default:
      return undefined;
  }
}

/** A card element of the Chat SDK is one for providers that show cards; any other payload is only a text. */
function cardText(attachment: ReplyAttachment): ChannelText {
  const payload = attachment["payload"] ?? attachment;
  const markdown = `\`\`\`json\n${JSON.stringify(payload, null, 2)}\n\`\`\``;
  return isCard(payload) ? { markdown, card: payload } : { markdown };
}

function isCard(value: unknown): value is ChannelCard {
  return isObject(value) && value["type"] === "card" && Array.isArray(value["children"]);
}

/** Actions write what they like into a draft: what is not text is left out. */
function emailText(draft: { readonly [field: string]: unknown }): ChannelText | undefined {
  const { to, cc, subject, body } = draft;
  const lines = [line("To", to), line("Cc", cc), line("Subject", subject)].filter((text) => text !== undefined);
  if (typeof body === "string" && body !== "") lines.push("", body);
  return lines.length > 0 ? { markdown: ["**Email draft**", "", ...lines].join("\n") } : undefined;
}

function line(name: string, value: unknown): string | undefined {
  const texts = (Array.isArray(value) ? value : [value]).filter((item) => typeof item === "string" && item !== "");
  return texts.length === 0 ? undefined : `${name}: ${texts.join(", ")}`;
}
