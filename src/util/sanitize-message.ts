// What is removed from a message before it is stored, and nothing else: OpenAI's item ids, which point at objects on its
// servers that expire, the encrypted reasoning that belongs to them (either alone is refused by the provider), and
// reasoning parts that are blank and carry nothing for a provider. Pure and idempotent.
import { isObject } from "./json.ts";

/** Any message of the SDK or of a session: a list of parts with a type. */
interface Part {
  readonly type: string;
}

const METADATA_FIELDS = ["providerMetadata", "callProviderMetadata", "resultProviderMetadata"] as const;
const OPENAI_REFERENCES: readonly string[] = ["itemId", "reasoningEncryptedContent"];

/** The message as it may be stored; the same object if there is nothing to remove. */
export function sanitizeMessage<Message extends { readonly parts: readonly Part[] }>(message: Message): Message {
  let changed = false;
  const parts: Part[] = [];
  for (const part of message.parts) {
    const cleaned = withoutReferences(part);
    if (cleaned !== part) changed = true;
    if (isEmptyReasoning(cleaned)) changed = true;
    else parts.push(cleaned);
  }
  return changed ? { ...message, parts } : message;
}

function withoutReferences(part: Part): Part {
  let cleaned: Part & Record<string, unknown> = { ...part };
  let changed = false;
  for (const name of METADATA_FIELDS) {
    const metadata = cleaned[name];
    if (!isObject(metadata) || !isObject(metadata["openai"])) continue;
    const { openai, ...others } = metadata;
    const kept = Object.entries(openai as object).filter(([key]) => !OPENAI_REFERENCES.includes(key));
    if (kept.length === Object.keys(openai as object).length) continue;
    const next = kept.length === 0 ? others : { ...metadata, openai: Object.fromEntries(kept) };
    const { [name]: _removed, ...rest } = cleaned;
    changed = true;
    // The rest still has its type: only a metadata field was taken out.
    cleaned = (Object.keys(next).length === 0 ? rest : { ...cleaned, [name]: next }) as Part & Record<string, unknown>;
  }
  return changed ? cleaned : part;
}

function isEmptyReasoning(part: Part & { readonly providerMetadata?: unknown; readonly text?: unknown }): boolean {
  if (part.type !== "reasoning" || part.providerMetadata !== undefined) return false;
  return typeof part.text !== "string" || part.text.trim() === "";
}
