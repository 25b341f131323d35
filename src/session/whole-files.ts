// Puts values back that did not fit into a message's row: for clients all of them but the outputs of tools, for models
// the files, so that they see the picture and not a line about it. Pure.
import { isObject } from "../util/json.ts";
import { cutCallIds } from "./row-limit.ts";
import { isToolPart } from "../model/tool-part.ts";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";

/** Some value of the message was cut that may be a file. */
export function mayMissFiles({ metadata }: SessionMessage): boolean {
  return isObject(metadata) && Array.isArray(metadata["compactedParts"]);
}

/** Something of the message was cut that clients show. */
export function isCutForPeople(message: SessionMessage): boolean {
  const { metadata } = message;
  if (!isObject(metadata)) return false;
  return (
    mayMissFiles(message) || Array.isArray(metadata["compactedTextParts"]) || metadata["compactedMessage"] === true
  );
}

/** The message as shown, with its files as they are in the whole one. Other values that were cut stay so. */
export function withWholeFiles(shown: SessionMessage, whole: SessionMessage): SessionMessage {
  return withWhole(shown, whole, ({ type }) => type === "file");
}

/** The message as shown, with everything that was cut but the outputs of tools. */
export function withWholeParts(shown: SessionMessage, whole: SessionMessage): SessionMessage {
  // Only the head was shown: which of its parts is which is not known.
  if (isObject(shown.metadata) && shown.metadata["compactedMessage"] === true) return whole;
  return withWhole(shown, whole, () => true);
}

const NOTES = ["compactedParts", "compactedTextParts"] as const;

function withWhole(
  shown: SessionMessage,
  whole: SessionMessage,
  isWanted: (part: SessionMessagePart) => boolean
): SessionMessage {
  const metadata: Record<string, unknown> = isObject(shown.metadata) ? { ...shown.metadata } : {};
  const restored = new Set<number>();
  for (const note of NOTES) {
    const cut = indexesIn(metadata[note]);
    const wanted = cut.filter((index) => whole.parts[index] !== undefined && isWanted(whole.parts[index]));
    for (const index of wanted) restored.add(index);
    const left = cut.filter((index) => !restored.has(index));
    if (left.length > 0) metadata[note] = left;
    else delete metadata[note];
  }
  if (restored.size === 0) return shown;
  const cutCalls = new Set(cutCallIds(shown));
  const parts = shown.parts.map((part, index) => {
    const full = restored.has(index) ? whole.parts[index] : undefined;
    if (full === undefined) return part;
    const isCutOutput = isToolPart(full) && isToolPart(part) && cutCalls.has(full.toolCallId);
    return isCutOutput ? { ...full, output: part["output"] } : full;
  });
  const { metadata: _notes, ...rest } = shown;
  return { ...rest, parts, ...(Object.keys(metadata).length > 0 && { metadata }) };
}

function indexesIn(note: unknown): number[] {
  return Array.isArray(note) ? note.filter((index): index is number => typeof index === "number") : [];
}
