// Bytes as text of two hexadecimal digits each.

export function toHex(bytes: ArrayBuffer | Uint8Array): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Reads such a text. Undefined for any other text. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(text)) return undefined;
  return new Uint8Array((text.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16)));
}

/** The SHA-256 of some bytes. */
export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  // A copy: the platform takes no bytes of a shared buffer.
  return toHex(await crypto.subtle.digest("SHA-256", bytes.slice()));
}
