// The words of a message, without its tools and thoughts: for editing, for announcing, for measuring how far it is. Pure.
import type { UIMessage } from "ai";

/**
 * The words of a message, without its tools and thoughts.
 *
 * @example
 * const title = messageText(message).slice(0, 60);
 */
export function messageText(message: UIMessage): string {
  return message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** Grows with everything that is added to the answer. */
export function answerLength(message: UIMessage | undefined): number {
  if (message === undefined) return 0;
  return message.parts.reduce(
    (sum, part) => sum + 1 + (part.type === "text" || part.type === "reasoning" ? part.text.length : 0),
    0
  );
}

/** "Ada Lovelace in Telegram"; undefined for what was written in the page. */
export function originOf({ metadata }: UIMessage): string | undefined {
  const { messenger } = (metadata ?? {}) as { messenger?: { author?: { fullName?: string }; provider?: string } };
  if (messenger === undefined) return undefined;
  const { author, provider = "a messenger" } = messenger;
  return `${author?.fullName ?? "A user"} in ${provider.charAt(0).toUpperCase()}${provider.slice(1)}`;
}

export function picturesOf(message: UIMessage) {
  return message.parts.filter((part) => part.type === "file");
}
