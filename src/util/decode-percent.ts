/** Decodes percent-encoding once. Undefined for a malformed escape, which is expected in what clients send. */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
