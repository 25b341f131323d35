// What says nothing is left out of prompts: providers refuse a text without words and a message without content, and one such
// message would make every later request of its conversation fail. Works on messages as the SDK takes them and on
// those that a provider is given, of either major. Pure; a list in which nothing is empty is returned as it is.
import { isObject } from "../util/json.ts";

interface PromptMessage {
  readonly role: string;
  readonly content: string | readonly unknown[];
}

interface Part {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The messages that say something, each with the parts that do. */
export function withoutEmpty<Message extends PromptMessage>(messages: Message[]): Message[] {
  const said = messages.flatMap((message): Message[] => {
    const { content } = message;
    if (typeof content === "string") return isBlank(content) ? [] : [message];
    // The parts of a prompt, of either major: each has a type.
    const kept = spokenParts(content as readonly Part[]);
    if (kept === content) return [message];
    return kept.some(isSpoken) ? [{ ...message, content: kept }] : [];
  });
  return said.length === messages.length && said.every((message, index) => message === messages[index])
    ? messages
    : said;
}

function spokenParts(parts: readonly Part[]): readonly Part[] {
  const kept = parts.flatMap((part) => spokenPart(part) ?? []);
  // Thoughts lead to something: the stream was cut off behind these, and providers refuse a message that ends in one.
  const end = kept.findLastIndex((part) => !isThought(part)) + 1;
  const isSame = end === parts.length && kept.every((part, index) => part === parts[index]);
  return isSame && parts.some(isSpoken) ? parts : kept.slice(0, end);
}

/** The part without what is empty in it; undefined: there is nothing else in it. */
function spokenPart(part: Part): Part | undefined {
  switch (part.type) {
    case "text":
      if (!isBlank(part["text"])) return part;
      // Gemini wants its signature back, which may come after the last word.
      if (!hasThoughtSignature(part)) return undefined;
      return part["text"] === "" ? part : { ...part, text: "" };
    case "reasoning":
      return isBlank(part["text"]) && part["providerOptions"] === undefined ? undefined : part;
    case "tool-result":
      return withSpokenOutput(part);
    default:
      return part;
  }
}

/** A call needs its result, even if that says nothing. */
function withSpokenOutput(part: Part): Part {
  const { output } = part;
  if (!isObject(output) || output["type"] !== "content" || !Array.isArray(output["value"])) return part;
  const value = output["value"].filter((item) => item?.type !== "text" || !isBlank(item.text));
  if (value.length === output["value"].length && value.length > 0) return part;
  return { ...part, output: value.length > 0 ? { ...output, value } : { type: "text", value: "" } };
}

const isBlank = (text: unknown): boolean => typeof text !== "string" || text.trim() === "";

const isThought = ({ type }: Part): boolean => type === "reasoning" || type === "reasoning-file";

/** More than a thought or a signature. */
const isSpoken = (part: Part): boolean => !isThought(part) && !(part.type === "text" && isBlank(part["text"]));

function hasThoughtSignature({ providerOptions }: Part): boolean {
  if (!isObject(providerOptions)) return false;
  return Object.values(providerOptions).some((options) => isObject(options) && "thoughtSignature" in options);
}
