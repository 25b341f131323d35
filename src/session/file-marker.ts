// The line of text that stands where a large value was: what it was, how big, and where it is kept. Also reads data
// URLs, the one form in which files travel inside messages. Pure.
import { Buffer } from "node:buffer";
import { encodeText } from "../util/bytes.ts";
import { decodePercent } from "../util/decode-percent.ts";

export interface EvictedValue {
  readonly mediaType?: string;
  readonly sizeBytes: number;
  /** Where it can be read again. */
  readonly path?: string;
}

/** `[evicted image/png, 5242880 bytes; preserved at /attachments/evicted/m1-0.png]` */
export function evictionMarker({ mediaType, sizeBytes, path }: EvictedValue): string {
  const kind = mediaType === undefined || mediaType === "" ? "" : `${mediaType}, `;
  const place = path === undefined ? "" : `; preserved at ${path}`;
  return `[evicted ${kind}${sizeBytes} bytes${place}]`;
}

export interface DataUrl {
  readonly mediaType: string;
  readonly sizeBytes: number;
}

export function isDataUrl(value: unknown): value is string {
  return typeof value === "string" && /^data:/i.test(value);
}

/** Kind and size without decoding. */
export function describeDataUrl(url: string): DataUrl {
  const { header, body } = split(url);
  const mediaType = header.split(";", 1)[0] ?? "";
  if (!isBase64(header)) return { mediaType, sizeBytes: encodeText(decodePercent(body) ?? body).byteLength };
  const padding = body.endsWith("==") ? 2 : body.endsWith("=") ? 1 : 0;
  return { mediaType, sizeBytes: Math.max(0, Math.floor((body.length * 3) / 4) - padding) };
}

/** The bytes a data URL stands for. */
export function decodeDataUrl(url: string): Uint8Array {
  const { header, body } = split(url);
  return isBase64(header) ? new Uint8Array(Buffer.from(body, "base64")) : encodeText(decodePercent(body) ?? body);
}

function split(url: string): { header: string; body: string } {
  const comma = url.indexOf(",");
  return {
    header: url.slice("data:".length, comma < 0 ? undefined : comma),
    body: comma < 0 ? "" : url.slice(comma + 1)
  };
}

function isBase64(header: string): boolean {
  return /;\s*base64\s*$/i.test(header);
}
