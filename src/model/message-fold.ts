// The assistant message as a pure fold of UI message chunks: the same chunks give the same message wherever they are
// folded, in one go or in pieces. Nothing passed in is ever changed; unchanged parts are shared between results. Tool
// parts only move forward (tool-chunks.ts). A fold is plain JSON, so it can be stored and taken up again.
import type { UIMessage, UIMessageChunk } from "ai";
import { isObject } from "../util/json.ts";
import { parsePartialJson } from "./partial-json.ts";
import { foldToolChunk, isToolChunk } from "./tool-chunks.ts";
import { asMessagePart, isToolPart, type MessagePart } from "./tool-part.ts";

type PartIndexes = Readonly<Record<string, number>>;

export interface MessageFold {
  /** Inputs still streaming are text only; `foldedMessage` also shows their value so far. */
  readonly message: UIMessage;
  /** Open blocks by the id their chunks carry: the index of their part. */
  readonly openText: PartIndexes;
  readonly openReasoning: PartIndexes;
}

/** Whether a value from the wire can be folded. The vocabulary is the SDK's: a chunk of an unknown type changes nothing. */
export function isChunk(value: unknown): value is UIMessageChunk {
  return isObject(value) && typeof value["type"] === "string";
}

/** A chunk as the server sends it: the SDK's vocabulary plus the keys the server adds. */
export type FoldChunk = UIMessageChunk | (UIMessageChunk & { readonly approvalDescriptor?: unknown });

/** Starts a new assistant message. */
export function startFold(messageId: string): MessageFold {
  return resumeFold({ id: messageId, role: "assistant", parts: [] });
}

/** Takes up a message in the middle of its own stream: open parts stay open. */
export function resumeFold(message: UIMessage): MessageFold {
  return { message, openText: {}, openReasoning: {} };
}

/** Extends a message with a further run: parts the earlier run left open are closed first. */
export function continueFold(message: UIMessage): MessageFold {
  return resumeFold(closeOpenParts(message));
}

export function foldChunks(fold: MessageFold, chunks: Iterable<FoldChunk>): MessageFold {
  let current = fold;
  for (const chunk of chunks) current = foldChunk(current, chunk);
  return current;
}

/** The fold after one more chunk; the same object if the chunk changes nothing. */
export function foldChunk(fold: MessageFold, chunk: FoldChunk): MessageFold {
  if (isToolChunk(chunk)) return withParts(fold, foldToolChunk(fold.message.parts, chunk));
  switch (chunk.type) {
    case "text-start":
    case "text-delta":
    case "text-end":
    case "reasoning-start":
    case "reasoning-delta":
    case "reasoning-end":
      return foldBlock(fold, chunk);
    case "start":
      return withMetadata(chunk.messageId === undefined ? fold : withId(fold, chunk.messageId), chunk.messageMetadata);
    case "finish":
    case "message-metadata":
      return withMetadata(fold, chunk.messageMetadata);
    case "start-step":
      return append(fold, { type: "step-start" });
    case "reset-step":
      return resetStep(fold);
    case "finish-step":
    case "error":
    case "abort":
      return fold;
    default:
      return foldContent(fold, chunk);
  }
}

/** The message of a fold, with the value so far of inputs that are still streaming. */
export function foldedMessage(fold: MessageFold): UIMessage {
  const { message } = fold;
  if (!message.parts.some(isStreamingInput)) return message;
  return { ...message, parts: message.parts.map((part) => (isStreamingInput(part) ? withPartialInput(part) : part)) };
}

/** For storing: text and reasoning that will not be finished is done. */
export function closeOpenParts(message: UIMessage): UIMessage {
  if (!message.parts.some(isOpenBlock)) return message;
  return { ...message, parts: message.parts.map((part) => (isOpenBlock(part) ? { ...part, state: "done" } : part)) };
}

type BlockChunk = Extract<UIMessageChunk, { type: `${"text" | "reasoning"}-${"start" | "delta" | "end"}` }>;
type BlockPart = Extract<MessagePart, { type: "text" | "reasoning" }>;

function foldBlock(fold: MessageFold, chunk: BlockChunk): MessageFold {
  const kind = chunk.type.startsWith("text") ? "text" : "reasoning";
  const key = kind === "text" ? "openText" : "openReasoning";
  const index = chunk.type.endsWith("-start") ? undefined : openIndex(fold, kind, chunk.id);
  const part = index === undefined ? undefined : fold.message.parts[index];
  if (index === undefined || part === undefined || (part.type !== "text" && part.type !== "reasoning")) {
    if (chunk.type.endsWith("-end")) return fold;
    const opened = append(fold, extendBlock(newBlock(kind, chunk.id), chunk));
    return { ...opened, [key]: { ...fold[key], [chunk.id]: fold.message.parts.length } };
  }
  const next = withParts(fold, fold.message.parts.with(index, extendBlock(part, chunk)));
  if (!chunk.type.endsWith("-end")) return next;
  const { [chunk.id]: _closed, ...stillOpen } = fold[key];
  return { ...next, [key]: stillOpen };
}

/** By id; for a fold resumed from a message, whose ids are lost, the open part of that kind in the current step. */
function openIndex(fold: MessageFold, kind: BlockPart["type"], id: string): number | undefined {
  const known = (kind === "text" ? fold.openText : fold.openReasoning)[id];
  if (known !== undefined) return known;
  const { parts } = fold.message;
  const taken = new Set(Object.values(kind === "text" ? fold.openText : fold.openReasoning));
  for (let index = parts.length - 1; index >= 0; index -= 1) {
    const part = parts[index];
    if (part === undefined || part.type === "step-start") return undefined;
    if (part.type === kind && isOpenBlock(part) && !taken.has(index)) return index;
  }
  return undefined;
}

function newBlock(kind: BlockPart["type"], id: string): BlockPart {
  return kind === "text"
    ? { type: "text", text: "", state: "streaming" }
    : { type: "reasoning", id, text: "", state: "streaming" };
}

function extendBlock(part: BlockPart, chunk: BlockChunk): BlockPart {
  const metadata = chunk.providerMetadata;
  return {
    ...part,
    ...("delta" in chunk ? { text: part.text + chunk.delta } : {}),
    ...("citations" in chunk && chunk.citations !== undefined ? { citations: chunk.citations } : {}),
    ...(metadata === undefined
      ? {}
      : { providerMetadata: part.type === "reasoning" ? mergeByProvider(part.providerMetadata, metadata) : metadata }),
    ...(chunk.type.endsWith("-end") ? { state: "done" as const } : {})
  };
}

type ProviderMetadata = NonNullable<BlockPart["providerMetadata"]>;

/** Signatures may come in one chunk and ids in another; the provider needs both back. */
function mergeByProvider(first: ProviderMetadata | undefined, second: ProviderMetadata): ProviderMetadata {
  const merged: ProviderMetadata = { ...first };
  for (const [provider, values] of Object.entries(second)) merged[provider] = { ...merged[provider], ...values };
  return merged;
}

type OtherChunk = Exclude<FoldChunk, BlockChunk>;

function foldContent(fold: MessageFold, chunk: OtherChunk): MessageFold {
  switch (chunk.type) {
    case "file":
    case "reasoning-file":
    case "source-url":
    case "source-document":
    case "custom":
    case "steering-message":
      // These chunks have exactly the fields of the part they become.
      return append(fold, withoutUndefined({ ...chunk }) as MessagePart);
    default:
      return isDataChunk(chunk) ? foldData(fold, chunk) : fold;
  }
}

interface DataChunk {
  readonly type: `data-${string}`;
  readonly id?: string;
  readonly data: unknown;
  readonly transient?: boolean;
}

function isDataChunk(chunk: { readonly type: string }): chunk is DataChunk {
  return chunk.type.startsWith("data-");
}

function foldData(fold: MessageFold, chunk: DataChunk): MessageFold {
  if (chunk.transient === true) return fold;
  const { parts } = fold.message;
  const part: MessagePart = { type: chunk.type, ...(chunk.id === undefined ? {} : { id: chunk.id }), data: chunk.data };
  const index =
    chunk.id === undefined
      ? -1
      : parts.findIndex((other) => other.type === chunk.type && "id" in other && other.id === chunk.id);
  return index < 0 ? append(fold, part) : withParts(fold, parts.with(index, part));
}

function resetStep(fold: MessageFold): MessageFold {
  const { parts } = fold.message;
  const kept = parts.slice(0, parts.findLastIndex((part) => part.type === "step-start") + 1);
  return { ...withParts(fold, kept), openText: {}, openReasoning: {} };
}

function withId(fold: MessageFold, id: string): MessageFold {
  return fold.message.id === id ? fold : { ...fold, message: { ...fold.message, id } };
}

function withMetadata(fold: MessageFold, metadata: unknown): MessageFold {
  if (!isObject(metadata)) return fold;
  const before = isObject(fold.message.metadata) ? fold.message.metadata : {};
  return { ...fold, message: { ...fold.message, metadata: { ...before, ...metadata } } };
}

function append(fold: MessageFold, part: MessagePart): MessageFold {
  return withParts(fold, [...fold.message.parts, part]);
}

function withParts(fold: MessageFold, parts: MessagePart[]): MessageFold {
  return parts === fold.message.parts ? fold : { ...fold, message: { ...fold.message, parts } };
}

function isOpenBlock(part: MessagePart): part is BlockPart {
  return (part.type === "text" || part.type === "reasoning") && part.state === "streaming";
}

function isStreamingInput(part: MessagePart): boolean {
  return isToolPart(part) && part.state === "input-streaming" && typeof part.rawInput === "string";
}

function withPartialInput(part: MessagePart): MessagePart {
  if (!isToolPart(part) || typeof part.rawInput !== "string") return part;
  const input = part.inputEncoding === "text" ? part.rawInput : parsePartialJson(part.rawInput);
  return input === undefined ? part : asMessagePart({ ...part, input });
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}
