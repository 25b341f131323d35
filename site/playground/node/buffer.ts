// The few of Node's buffers that the host and the session use.
const encoder = new TextEncoder();

export class Buffer extends Uint8Array {
  static byteLength(text: string): number {
    return encoder.encode(text).byteLength;
  }

  static override from(source: unknown, encoding?: unknown): Buffer {
    const bytes =
      typeof source !== "string"
        ? new Uint8Array(source as ArrayBufferLike)
        : encoding === "base64" || encoding === "base64url"
          ? Uint8Array.from(atob(source.replaceAll("-", "+").replaceAll("_", "/")), (character) =>
              character.charCodeAt(0)
            )
          : encoder.encode(source);
    return new Buffer(bytes);
  }

  override toString(encoding?: string): string {
    if (encoding === "base64") return btoa(String.fromCharCode(...this));
    if (encoding === "hex") return Array.from(this, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return new TextDecoder().decode(this);
  }
}
