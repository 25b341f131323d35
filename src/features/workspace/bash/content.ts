// Texts and bytes as the interpreter names them.
import { decodeText, encodeText } from "../../../util/bytes.ts";
import type { ShellEncoding, ShellEncodingOption } from "./interpreter.ts";

export function toBytes(content: string | Uint8Array, options: ShellEncodingOption): Uint8Array {
  if (typeof content !== "string") return content.slice();
  switch (encodingOf(options)) {
    case "binary":
    case "latin1":
    case "ascii":
      return latin1Bytes(content);
    case "base64":
      return latin1Bytes(atob(content));
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
      return latin1Text(bytes);
    case "base64":
      return btoa(latin1Text(bytes));
    case "hex":
      return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    default:
      return decodeText(bytes);
  }
}

function encodingOf(options: ShellEncodingOption): ShellEncoding | undefined {
  return typeof options === "object" ? (options.encoding ?? undefined) : options;
}

function latin1Bytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}

function latin1Text(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
