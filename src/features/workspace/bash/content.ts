// Texts and bytes as the interpreter names them.
import { decodeText, encodeText } from "../../../util/bytes.ts";
import { toHex } from "../../../util/hex.ts";
import type { ShellEncoding, ShellEncodingOption } from "./interpreter.ts";

export function toBytes(content: string | Uint8Array, options: ShellEncodingOption): Uint8Array {
  if (typeof content !== "string") return content.slice();
  switch (encodingOf(options)) {
    case "binary":
    case "latin1":
    case "ascii":
      return encodeLatin1(content);
    case "base64":
      return encodeLatin1(atob(content));
    case "hex":
      return Uint8Array.from(content.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    default:
      return encodeText(content);
  }
}

export function toText(bytes: Uint8Array, options: ShellEncodingOption): string {
  switch (encodingOf(options)) {
    case "binary":
    case "latin1":
    case "ascii":
      return decodeLatin1(bytes);
    case "base64":
      return btoa(decodeLatin1(bytes));
    case "hex":
      return toHex(bytes);
    default:
      return decodeText(bytes);
  }
}

function encodingOf(options: ShellEncodingOption): ShellEncoding | undefined {
  return typeof options === "object" ? (options.encoding ?? undefined) : options;
}

function encodeLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}

function decodeLatin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
