// Makes any message fit into one row. What is cut keeps its shape, so that a renderer still recognises it, and
// the message's metadata says what was cut. The store keeps the whole message beside the row, so nothing is lost. Order
// of sacrifice: the assistant's tool outputs, then other large values (largest first), then texts (oldest first), then
// other fields, and as the last resort the tail of the message. Pure; cutting twice changes nothing more.
import { byteLength } from "../util/bytes.ts";
import { isObject } from "../util/json.ts";
import { sliceText, truncateText, truncateToolOutput } from "../util/truncate-value.ts";
import { describeDataUrl, evictionMarker, isDataUrl } from "./file-marker.ts";
import { isToolPart } from "../model/tool-part.ts";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";

/** Of the message's JSON. Cells end at 2 MB; the rest is room for the other columns. */
export const ROW_LIMIT_BYTES = 1_800_000;
/** Shorter values are never cut, and cut ones have about this many characters. */
export const CUT_VALUE_CHARS = 1_000;
const QUOTED_TEXT_CHARS = 500;
/** Room for what the metadata says about each cut. */
const NOTE_BYTES = 64;

/** The message itself if its JSON has at most `limitBytes`; otherwise one like it that has. */
export function limitMessage(message: SessionMessage, limitBytes = ROW_LIMIT_BYTES): SessionMessage {
  const sizeBytes = jsonBytes(message);
  if (sizeBytes <= limitBytes) return message;
  const cut = new Cut(message, sizeBytes, limitBytes);
  if (message.role === "assistant") cut.toolOutputs();
  cut.largeValues();
  cut.texts();
  cut.otherFields();
  const limited = cut.result();
  return jsonBytes(limited) <= limitBytes ? limited : headOnly(message, sizeBytes, limitBytes);
}

/** The calls whose outputs a message in its row shows only in part. */
export function cutCallIds({ metadata }: { readonly metadata?: unknown }): string[] {
  const listed = isObject(metadata) ? metadata["compactedToolOutputs"] : undefined;
  return Array.isArray(listed) ? listed.filter((id): id is string => typeof id === "string") : [];
}

/** The message with a note of the calls whose outputs are not what they were before. */
export function noteCutCalls(message: SessionMessage, before: SessionMessage): SessionMessage {
  const callIds = message.parts.flatMap((part, index) => {
    const isCut = isToolPart(part) && part.output !== before.parts[index]?.["output"];
    return isCut ? [part.toolCallId] : [];
  });
  if (callIds.length === 0) return message;
  const notes = { compactedToolOutputs: [...new Set([...cutCallIds(message), ...callIds])] };
  return { ...message, metadata: { ...(isObject(message.metadata) ? message.metadata : {}), ...notes } };
}

interface Candidate {
  readonly index: number;
  readonly field: string;
  readonly sizeBytes: number;
}

class Cut {
  readonly #message: SessionMessage;
  readonly #parts: SessionMessagePart[];
  readonly #otherFields: Record<string, unknown> = {};
  readonly #limitBytes: number;
  readonly #calls: string[] = [];
  readonly #texts: number[] = [];
  readonly #others = new Set<number>();
  #sizeBytes: number;

  constructor(message: SessionMessage, sizeBytes: number, limitBytes: number) {
    this.#message = message;
    this.#parts = [...message.parts];
    this.#sizeBytes = sizeBytes;
    this.#limitBytes = limitBytes;
  }

  toolOutputs(): void {
    this.#parts.forEach((part, index) => {
      if (!isToolPart(part) || part.state !== "output-available") return;
      const output = truncateToolOutput(part.output, CUT_VALUE_CHARS);
      if (output === part.output) return;
      this.#replace(index, { ...part, output });
      this.#calls.push(part.toolCallId);
    });
  }

  largeValues(): void {
    if (this.#fits()) return;
    const candidates = this.#parts.flatMap((part, index) => largeFields(part, index));
    candidates.sort((first, second) => second.sizeBytes - first.sizeBytes);
    for (const { index, field } of candidates) {
      if (this.#fits()) return;
      const part = this.#parts[index];
      // A part that became a marker has lost its other fields with it.
      if (part === undefined || !(field in part)) continue;
      this.#replace(index, cutField(part, field));
      this.#others.add(index);
    }
  }

  texts(): void {
    this.#parts.forEach((part, index) => {
      const text = part.type === "text" ? part["text"] : undefined;
      if (this.#fits() || typeof text !== "string" || text.length <= CUT_VALUE_CHARS) return;
      this.#replace(index, { ...part, text: textMarker(text) });
      this.#texts.push(index);
    });
  }

  otherFields(): void {
    for (const [field, value] of Object.entries(this.#message)) {
      if (this.#fits()) return;
      if (field === "id" || field === "role" || field === "parts") continue;
      const shorter = truncateToolOutput(value, CUT_VALUE_CHARS);
      if (shorter === value) continue;
      this.#sizeBytes += jsonBytes(shorter) - jsonBytes(value);
      this.#otherFields[field] = shorter;
    }
  }

  result(): SessionMessage {
    const message: SessionMessage = { ...this.#message, ...this.#otherFields, parts: this.#parts };
    const notes = {
      ...(this.#calls.length > 0 && { compactedToolOutputs: this.#calls }),
      ...(this.#texts.length > 0 && { compactedTextParts: this.#texts }),
      ...(this.#others.size > 0 && { compactedParts: [...this.#others].sort((a, b) => a - b) })
    };
    if (Object.keys(notes).length === 0) return message;
    return { ...message, metadata: { ...(isObject(message.metadata) ? message.metadata : {}), ...notes } };
  }

  #fits(): boolean {
    return this.#sizeBytes + 2 * NOTE_BYTES <= this.#limitBytes;
  }

  #replace(index: number, next: SessionMessagePart): void {
    const note = isToolPart(next) ? byteLength(next.toolCallId) : 0;
    this.#sizeBytes += jsonBytes(next) - jsonBytes(this.#parts[index]) + NOTE_BYTES + note;
    this.#parts[index] = next;
  }
}

/** Every field worth cutting, except what earlier or later steps are for. */
function largeFields(part: SessionMessagePart, index: number): Candidate[] {
  return Object.entries(part).flatMap(([field, value]): Candidate[] => {
    if (field === "type" || field === "toolCallId" || (field === "text" && part.type === "text")) return [];
    if (!isLong(value)) return [];
    return [{ index, field, sizeBytes: jsonBytes(value) }];
  });
}

function isLong(value: unknown): boolean {
  if (typeof value === "string") return value.length > CUT_VALUE_CHARS;
  return typeof value === "object" && value !== null && JSON.stringify(value).length > CUT_VALUE_CHARS;
}

function cutField(part: SessionMessagePart, field: string): SessionMessagePart {
  const value = part[field];
  if (isDataUrl(value)) return fileMarker(part, value);
  const { [field]: _long, ...others } = part;
  // A provider refuses reasoning whose text no longer matches its signature, and any shortened signature.
  if (/providermetadata$/i.test(field)) return { ...others, type: part.type };
  const cut = { ...part, [field]: truncateToolOutput(value, CUT_VALUE_CHARS) };
  if (part.type === "reasoning" && field === "text") delete cut["providerMetadata"];
  return cut;
}

function fileMarker(part: SessionMessagePart, url: string): SessionMessagePart {
  const { mediaType, sizeBytes } = describeDataUrl(url);
  const stated = typeof part["mediaType"] === "string" ? truncateText(part["mediaType"], CUT_VALUE_CHARS) : mediaType;
  return { type: "text", text: evictionMarker({ mediaType: stated, sizeBytes }) };
}

function textMarker(text: string): string {
  return `[text of ${text.length} chars, shortened] ${sliceText(text, QUOTED_TEXT_CHARS)}...`;
}

/** As many leading parts as fit, and a line that says so. For messages that are long by number, not by one value. */
function headOnly(message: SessionMessage, sizeBytes: number, limitBytes: number): SessionMessage {
  const head = (parts: SessionMessagePart[]): SessionMessage => {
    const text = `[message of ${sizeBytes} bytes in ${message.parts.length} parts; the first ${parts.length} are shown]`;
    return {
      id: message.id,
      role: message.role,
      parts: [...parts, { type: "text", text }],
      metadata: { compactedMessage: true }
    };
  };
  const kept: SessionMessagePart[] = [];
  let leftBytes = limitBytes - jsonBytes(head([])) - NOTE_BYTES;
  for (const part of message.parts) {
    leftBytes -= jsonBytes(part) + 1;
    if (leftBytes < 0) break;
    kept.push(part);
  }
  return head(kept);
}

function jsonBytes(value: unknown): number {
  return byteLength(JSON.stringify(value) ?? "null");
}
