// Which documents a conversation has loaded, read from its own messages: a result of `load_context` loads, one of
// `unload_context` or the marker that took a document's place unloads. Pure.
import { isObject } from "../../util/json.ts";
import { isToolPart, toolNameOf } from "../../model/tool-part.ts";
import type { SessionMessage, SessionMessagePart } from "../session-message.ts";

export interface DocumentId {
  readonly label: string;
  readonly key: string;
}

export interface DocumentCall extends DocumentId {
  readonly kind: "loaded" | "unloaded";
  /** Index of the part. */
  readonly at: number;
  /** The part holds the document's text. */
  readonly holdsText: boolean;
}

/** What stands in the place of a document that was unloaded. */
export const unloadedMarker = (key: string) => `[skill unloaded: ${key}]`;

export const notFound = (key: string) => `Not found: ${key}`;

export const notLoaded = ({ label, key }: DocumentId) =>
  `Error: ${JSON.stringify(key)} of ${JSON.stringify(label)} was not loaded`;

/** In the order they happened. */
export function documentCalls(message: SessionMessage): DocumentCall[] {
  if (message.role !== "assistant") return [];
  return message.parts.flatMap((part, at) => callOf(part, at) ?? []);
}

/**
 * The message with the marker in place of the documents' texts, or undefined if it holds none of them. Without
 * `documents`, of those that the message itself unloads further down.
 */
export function withoutDocuments(
  message: SessionMessage,
  documents?: readonly DocumentId[]
): SessionMessage | undefined {
  const calls = documentCalls(message);
  const isGone = (call: DocumentCall) =>
    documents === undefined
      ? calls.some((later) => later.kind === "unloaded" && later.at > call.at && isSame(later, call))
      : documents.some((document) => isSame(document, call));
  const gone = new Map(calls.filter((call) => call.holdsText && isGone(call)).map((call) => [call.at, call.key]));
  if (gone.size === 0) return undefined;
  const parts = message.parts.map((part, at) => {
    const key = gone.get(at);
    return key === undefined ? part : { ...part, output: unloadedMarker(key) };
  });
  return { ...message, parts };
}

export function isSame(first: DocumentId, second: DocumentId): boolean {
  return first.label === second.label && first.key === second.key;
}

function callOf(part: SessionMessagePart, at: number): DocumentCall | undefined {
  if (!isToolPart(part) || part.state !== "output-available" || !isObject(part.input)) return undefined;
  const { label, key } = part.input;
  if (typeof label !== "string" || typeof key !== "string") return undefined;
  const name = toolNameOf(part);
  if (name === "unload_context") return { kind: "unloaded", label, key, at, holdsText: false };
  if (name !== "load_context" || wasNotLoaded(part.output, { label, key })) return undefined;
  const isMarker = part.output === unloadedMarker(key);
  return { kind: isMarker ? "unloaded" : "loaded", label, key, at, holdsText: !isMarker };
}

/** A result of `load_context` that says why there is no document. */
export function wasNotLoaded(output: unknown, document: DocumentId): boolean {
  return output === notFound(document.key) || (typeof output === "string" && output.startsWith(notLoaded(document)));
}
