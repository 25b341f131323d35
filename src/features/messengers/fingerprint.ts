// Short names for long texts. Not for secrets.

/** Hashes a text by FNV-1a, 32 bits, in base 36. */
export function hash36(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(36);
}

export function fingerprint(text: string): string {
  return `${text.length}-${hash36(text)}`;
}
