// A message as a row's content and back. Everything written passes here: cleaned, made to fit, counted. When the row
// shows less than the message, the whole of it is kept as a blob that lives as long as the row.
import { BlobCorruptError, BlobMissingError, MAX_BLOB_BYTES, type BlobRef, type Blobs } from "../host/blobs.ts";
import { byteLength } from "../util/bytes.ts";
import { restoreFull, type StoredForms } from "./full-message.ts";
import type { MessageHeader } from "./message-rows.ts";
import { limitMessage, ROW_LIMIT_BYTES } from "./row-limit.ts";
import { sanitizeMessage } from "../util/sanitize-message.ts";
import { parseStoredMessage, type SessionMessage } from "./session-message.ts";
import { estimateMessageTokens } from "./tokens.ts";

export interface MessageBody {
  readonly content: string;
  readonly sizeBytes: number;
  readonly tokens: number;
  /** The whole message, if the content is less. */
  readonly full: string | null;
}

/** `before`: the stored message this one replaces; what it only showed in part is taken over whole. */
export function encodeMessage(message: SessionMessage, before?: StoredForms): MessageBody {
  const clean = sanitizeMessage(message);
  const whole = before === undefined ? clean : restoreFull(clean, before);
  const wholeText = JSON.stringify(whole);
  const cleanText = whole === clean ? wholeText : JSON.stringify(clean);
  const cleanBytes = byteLength(cleanText);
  const isCut = cleanBytes > ROW_LIMIT_BYTES;
  const shown = isCut ? limitMessage(clean) : clean;
  if (isCut) console.warn(`Message ${message.id} has ${cleanBytes} bytes; its row shows a shortened form.`);
  const content = isCut ? JSON.stringify(shown) : cleanText;
  return {
    content,
    sizeBytes: isCut ? byteLength(content) : cleanBytes,
    tokens: estimateMessageTokens(shown),
    full: wholeText === content ? null : wholeText
  };
}

/** A body that shows `shown` of a message whose whole text is `full`. */
export function encodeShortened(shown: SessionMessage, full: string): MessageBody {
  const body = encodeMessage(shown);
  return { ...body, full: full === body.content ? null : full };
}

/** Where the whole message is, if the row shows less. */
export function fullRefOf(header: MessageHeader): BlobRef | null {
  if (header.fullHash === null || header.fullBytes === null) return null;
  return { hash: header.fullHash, sizeBytes: header.fullBytes };
}

/** The whole message, or undefined when it is not there any more (then what the row shows is all there is). */
export function readFull(blobs: Blobs, ref: BlobRef): SessionMessage | undefined {
  try {
    const parsed = parseStoredMessage(blobs.readText(ref));
    return parsed.ok ? parsed.value : undefined;
  } catch (error) {
    if (!(error instanceof BlobMissingError) && !(error instanceof BlobCorruptError)) throw error;
    console.warn(error.message, error.hint);
    return undefined;
  }
}

/** The owner of a message's blobs. */
export function messageOwner(sessionId: string, id: string): string {
  return `message:${sessionId.length}:${sessionId}:${id}`;
}

/** Keeps the whole text for as long as `owner` holds it. Null: there is none, or it is too large even for a blob. */
export function keepFull(blobs: Blobs, full: string | null, owner: string): BlobRef | null {
  if (full === null) return null;
  const sizeBytes = byteLength(full);
  if (sizeBytes <= MAX_BLOB_BYTES) return blobs.put(full, owner);
  console.warn(`A message of ${sizeBytes} bytes is kept in its shortened form only; the limit is ${MAX_BLOB_BYTES}.`);
  return null;
}
