// Puts files back that did not fit into a message's row, so that people and models see the picture and not a line about
// it. Other values that were cut stay as histories show them. Pure.
import { isObject } from "../util/json.ts";
import type { SessionMessage } from "./session-message.ts";

/** Some value of the message was cut that may be a file. */
export function mayMissFiles({ metadata }: SessionMessage): boolean {
  return isObject(metadata) && Array.isArray(metadata["compactedParts"]);
}

/** The message as shown, with its files as they are in the whole one. */
export function withWholeFiles(shown: SessionMessage, whole: SessionMessage): SessionMessage {
  const { compactedParts, ...metadata } = isObject(shown.metadata) ? shown.metadata : {};
  const cut = new Set(Array.isArray(compactedParts) ? compactedParts : []);
  const isFile = (index: number) => cut.has(index) && whole.parts[index]?.type === "file";
  if (!shown.parts.some((_part, index) => isFile(index))) return shown;
  const parts = shown.parts.map((part, index) => (isFile(index) ? (whole.parts[index] ?? part) : part));
  const stillCut = [...cut].filter((index) => typeof index === "number" && !isFile(index));
  const notes = { ...metadata, ...(stillCut.length > 0 && { compactedParts: stillCut }) };
  const { metadata: _notes, ...rest } = shown;
  return { ...rest, parts, ...(Object.keys(notes).length > 0 && { metadata: notes }) };
}
