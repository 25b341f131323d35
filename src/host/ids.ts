const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** 21 URL-safe characters, 126 random bits. */
export function randomId(): string {
  let id = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(21))) id += ALPHABET[byte & 63];
  return id;
}
