// Reasoning the way each provider really send it. What a provider needs back in the next request sits in a
// different place of the stream for each, and losing it breaks the following call, so tests should use these shapes.
import { reasoning, text, toolCall } from "./content.ts";
import type { BlockDelta, ScriptedToolCall } from "./script-part.ts";

/**
 * Anthropic: the signature comes as an empty delta at the end of the block.
 *
 * @example reply(anthropicThinking("Let me see.", "sig-1"), text("Yes."))
 */
export function anthropicThinking(thought: string, signature: string): BlockDelta[] {
  return [reasoning(thought, { newBlock: true }), reasoning("", { metadata: { delta: { anthropic: { signature } } } })];
}

/**
 * Anthropic: a thought that was withheld. A block with metadata and no text.
 *
 * @example reply(anthropicRedactedThinking("encrypted"), text("Yes."))
 */
export function anthropicRedactedThinking(redactedData: string): BlockDelta {
  return reasoning("", { metadata: { start: { anthropic: { redactedData } } } });
}

/**
 * OpenAI: the item id on both ends of the block, the encrypted content only on the closing one.
 *
 * @example reply(openaiReasoning("Checking.", { itemId: "rs_1", encryptedContent: "gAAA" }), text("Yes."))
 */
export function openaiReasoning(summary: string, item: { itemId: string; encryptedContent: string }): BlockDelta {
  const { itemId, encryptedContent } = item;
  return reasoning(summary, {
    block: `${itemId}:0`,
    metadata: {
      start: { openai: { itemId, reasoningEncryptedContent: null } },
      delta: { openai: { itemId } },
      end: { openai: { itemId, reasoningEncryptedContent: encryptedContent } }
    }
  });
}

/**
 * Google: the thought signature on the opening part and on the delta, of thoughts and of plain text alike.
 *
 * @example reply(googleThought("Hmm.", "sig-1"), googleText("Yes.", "sig-2"))
 */
export function googleThought(thought: string, thoughtSignature: string): BlockDelta {
  const signed = { google: { thoughtSignature } };
  return reasoning(thought, { metadata: { start: signed, delta: signed } });
}

/** Google: text that carries a thought signature. */
export function googleText(content: string, thoughtSignature: string): BlockDelta {
  const signed = { google: { thoughtSignature } };
  return text(content, { metadata: { start: signed, delta: signed } });
}

/**
 * Google: a tool call that the provider refuses to see again without its thought signature.
 *
 * @example reply(googleToolCall("getWeather", { city: "Paris" }, "sig-1"))
 */
export function googleToolCall(toolName: string, input: unknown, thoughtSignature: string): ScriptedToolCall {
  const signed = { google: { thoughtSignature } };
  return toolCall(toolName, input, { startMetadata: signed, providerMetadata: signed });
}
