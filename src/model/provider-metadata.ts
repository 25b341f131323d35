// The one documented removal of provider metadata before a message is stored. Everything else a provider attached is
// kept, because the next request may be refused without it (signatures of Anthropic and Google, for example).
// OpenAI's item ids point at objects on its servers which expire and which a shortened history no longer matches; the
// encrypted reasoning belongs to such an item. They are removed together: either one alone is refused. Pure.
import type { UIMessage } from "ai";
import { isObject } from "../util/json.ts";
import type { MessagePart } from "./tool-part.ts";

const METADATA_FIELDS = ["providerMetadata", "callProviderMetadata", "resultProviderMetadata"] as const;
const OPENAI_REFERENCES: readonly string[] = ["itemId", "reasoningEncryptedContent"];

/** The message without OpenAI's references, and without reasoning that is blank and has no metadata left. */
export function withoutOpenAiReferences(message: UIMessage): UIMessage {
  let changed = false;
  const parts: MessagePart[] = [];
  for (const part of message.parts) {
    const cleaned = cleanPart(part);
    if (cleaned !== part) changed = true;
    if (isEmptyReasoning(cleaned)) changed = true;
    else parts.push(cleaned);
  }
  return changed ? { ...message, parts } : message;
}

function cleanPart(part: MessagePart): MessagePart {
  const fields: Record<string, unknown> = { ...part };
  let changed = false;
  for (const name of METADATA_FIELDS) {
    const metadata = fields[name];
    if (!isObject(metadata) || !isObject(metadata["openai"])) continue;
    const kept = Object.entries(metadata["openai"]).filter(([key]) => !OPENAI_REFERENCES.includes(key));
    if (kept.length === Object.keys(metadata["openai"]).length) continue;
    changed = true;
    const { openai: _removed, ...others } = metadata;
    const next = kept.length === 0 ? others : { ...metadata, openai: Object.fromEntries(kept) };
    if (Object.keys(next).length === 0) delete fields[name];
    else fields[name] = next;
  }
  // Only optional metadata fields were changed, so it is still the same kind of part.
  return changed ? (fields as MessagePart) : part;
}

function isEmptyReasoning(part: MessagePart): boolean {
  return part.type === "reasoning" && part.text.trim() === "" && part.providerMetadata === undefined;
}
