// Texts and sizes of replies where the definition does not say otherwise.
import type { MessengerDeliveryPolicy } from "./definition.ts";
import { splitMarkdown } from "./split.ts";

export const EMPTY_MESSENGER_RESPONSE = "I have no answer to that. Please try again.";
export const ERROR_MESSENGER_RESPONSE = "I cannot answer right now. Please try again later.";
export const INTERRUPTED_MESSENGER_RESPONSE = "My reply was interrupted. Please send your message again.";

const DEFAULT_TEXTS = {
  empty: EMPTY_MESSENGER_RESPONSE,
  error: ERROR_MESSENGER_RESPONSE,
  interrupted: INTERRUPTED_MESSENGER_RESPONSE
};

/** Characters of a message that every provider takes. */
export const DEFAULT_LIMIT = 1_800;

/** The texts of a policy, with their defaults. */
export function textsOf(policy: MessengerDeliveryPolicy): typeof DEFAULT_TEXTS {
  return {
    empty: policy.emptyResponseText ?? DEFAULT_TEXTS.empty,
    error: policy.errorResponseText ?? DEFAULT_TEXTS.error,
    interrupted: policy.interruptedResponseText ?? DEFAULT_TEXTS.interrupted
  };
}

/** Makes the function that splits a text as the policy says. */
export function splitterOf(policy: MessengerDeliveryPolicy): (text: string) => string[] {
  const { visibleSoftLimit: first = DEFAULT_LIMIT, followupLimit: next = first, weight, splitText } = policy;
  if (!splitText) return (text) => splitMarkdown(text, { first, next, weight });
  return (text) => {
    const rest = text.slice(first);
    return [text.slice(0, first), ...(rest === "" ? [] : splitText(rest))].filter((piece) => piece.trim() !== "");
  };
}
