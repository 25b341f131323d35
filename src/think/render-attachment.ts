// Reply attachments as text, for channels that can only deliver text. Pure.
import type { ReplyAttachment } from "./actions-port.ts";

/** Markdown for the kinds this package knows; undefined for what text cannot show. */
export function renderAttachment(attachment: ReplyAttachment): string | undefined {
  switch (attachment.type) {
    case "card":
      return `\`\`\`json\n${JSON.stringify(attachment, null, 2)}\n\`\`\``;
    case "email_draft":
      return emailText(attachment);
    default:
      return undefined;
  }
}

/** Actions write what they like into a draft: what is not text is left out. */
function emailText(draft: { readonly [field: string]: unknown }): string | undefined {
  const { to, cc, subject, body } = draft;
  const lines = [line("To", to), line("Cc", cc), line("Subject", subject)].filter((text) => text !== undefined);
  if (typeof body === "string" && body !== "") lines.push("", body);
  return lines.length > 0 ? lines.join("\n") : undefined;
}

function line(name: string, value: unknown): string | undefined {
  const texts = (Array.isArray(value) ? value : [value]).filter((item) => typeof item === "string" && item !== "");
  return texts.length === 0 ? undefined : `${name}: ${texts.join(", ")}`;
}
