const encoder = new TextEncoder();
// A leading byte order mark is content: what was encoded comes back.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Size of a text as stored and sent. Never use `.length` for limits: it counts UTF-16 units, not bytes. */
export function byteLength(text: string): number {
  return encoder.encode(text).byteLength;
}

/** Counts only where it is not plain from the number of characters, of which each is one to three bytes. */
export function isLongerThan(text: string, limitBytes: number): boolean {
  return text.length > limitBytes || (text.length * 3 > limitBytes && byteLength(text) > limitBytes);
}

/** The beginning of a text that has at most so many bytes, cut between two characters. */
export function cutToBytes(text: string, limitBytes: number): string {
  if (!isLongerThan(text, limitBytes)) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(limitBytes));
  return text.slice(0, read);
}

export function encodeText(text: string): Uint8Array {
  return encoder.encode(text);
}

export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** A body as text; undefined when it is longer than `limitBytes`. Stops reading there: a sender may never end. */
export async function readText(
  body: ReadableStream<Uint8Array> | null,
  limitBytes: number
): Promise<string | undefined> {
  // Not `decoder`: a body's byte order mark is no content, and this one keeps the start of a character between chunks.
  const parts = new TextDecoder();
  let text = "";
  let sizeBytes = 0;
  // Leaving the loop cancels the body.
  for await (const chunk of body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > limitBytes) return undefined;
    text += parts.decode(chunk, { stream: true });
  }
  return text + parts.decode();
}

/** A body's bytes; undefined when there are more than `limitBytes`. Stops reading there: a sender may never end. */
export async function readBytes(
  body: ReadableStream<Uint8Array> | null,
  limitBytes: number
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  // Leaving the loop cancels the body.
  for await (const chunk of body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > limitBytes) return undefined;
    chunks.push(chunk);
  }
  return joinBytes(chunks, sizeBytes);
}

export function joinBytes(chunks: readonly Uint8Array[], sizeBytes: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/** In pieces: a call takes a limited number of arguments. */
const BASE64_PIECE = 0x8000;

export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += BASE64_PIECE) {
    binary += String.fromCharCode(...bytes.subarray(start, start + BASE64_PIECE));
  }
  return btoa(binary);
}

/** Throws for what is not base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
