// What one provider wrote for itself is no use to another, and some refuse it: signatures of thoughts, ids of stored items,
// marks of caches. Parts that carry such metadata are labelled with their model as they are streamed; in a prompt, what is
// labelled with another model, or with none, loses it. Pure; a prompt in which nothing changes is returned as it is.
import { sha256 } from "../../host/blobs.ts";
import { isObject } from "../../util/json.ts";

/** The key of the label beside the provider's own. A model of another class, or none, never looks at it. */
const LABEL_KEY = "everthink";

interface PromptMessage {
  readonly role: string;
  readonly content: string | readonly unknown[];
  readonly providerOptions?: unknown;
}

export interface PromptReader {
  /** What stands for the model's name: clients are sent labels with the metadata. */
  readonly label: string;
  /** As the SDK calls it. */
  readonly providerId: string;
  /** What has no label is taken for its own: it is the first of its list, and wrote what was there before. */
  readonly ownsUnlabelled: boolean;
}

export function modelLabelOf(name: string): string {
  return sha256(name).slice(0, 8);
}

/** A part of a model's stream, with the label if it carries metadata. */
export function labelled<Part extends { readonly type: string }>(part: Part, label: string): Part {
  const metadata: unknown = "providerMetadata" in part ? part.providerMetadata : undefined;
  // Of a step as a whole: it is no part of a message.
  if (!isObject(metadata) || part.type === "finish") return part;
  return { ...part, providerMetadata: { ...metadata, [LABEL_KEY]: { model: label } } };
}

/** The prompt as this model may read it. */
export function withoutForeignParts<Message extends PromptMessage>(prompt: Message[], reader: PromptReader): Message[] {
  let isChanged = false;
  const read = prompt.map((message) => {
    const own = readMessage(message, reader);
    isChanged ||= own !== message;
    return own;
  });
  return isChanged ? read : prompt;
}

function readMessage<Message extends PromptMessage>(message: Message, reader: PromptReader): Message {
  const isAnswer = message.role === "assistant" || message.role === "tool";
  const options = readOptions(message.providerOptions, reader, isAnswer);
  const content = typeof message.content === "string" ? message.content : readParts(message.content, reader, isAnswer);
  if (options === message.providerOptions && content === message.content) return message;
  return { ...message, content, providerOptions: options };
}

function readParts(parts: readonly unknown[], reader: PromptReader, isAnswer: boolean): readonly unknown[] {
  const read = parts.flatMap((part) => {
    if (!isObject(part) || part["providerOptions"] === undefined) return [part];
    const options = readOptions(part["providerOptions"], reader, isAnswer);
    if (options === part["providerOptions"]) return [part];
    // A thought without its signature is refused by the provider that wrote it, and means nothing to another.
    if (options === undefined && part["type"] === "reasoning") return [];
    return [{ ...part, providerOptions: options }];
  });
  return read.length === parts.length && read.every((part, index) => part === parts[index]) ? parts : read;
}

/** Undefined: nothing of it is for this model. */
function readOptions(options: unknown, reader: PromptReader, isAnswer: boolean): unknown {
  if (!isObject(options)) return options;
  const { [LABEL_KEY]: label, ...others } = options;
  if (isAnswer) {
    const isOwn = isObject(label) ? label["model"] === reader.label : reader.ownsUnlabelled;
    if (!isOwn) return undefined;
    return label === undefined ? options : others;
  }
  // Written by the class, for the provider that it names.
  if (reader.ownsUnlabelled || reader.providerId === "gateway") return options;
  const words = reader.providerId.split(/[.-]/);
  const kept = Object.entries(options).filter(([key]) => words.includes(key));
  if (kept.length === Object.keys(options).length) return options;
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
