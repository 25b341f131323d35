// Values of the log as text: JSON, with bytes, big integers, dates and undefined kept apart. What the text says is what a
// call is run with, so a value that crossed from an isolate is read from here and never used as it came.
import { byteLength, decodeBase64, encodeBase64 } from "../../util/bytes.ts";
import { isObject } from "../../util/json.ts";
import type { Result } from "../../util/result.ts";

/** Bytes of one argument, one result or one program. */
export const MAX_DURABLE_VALUE_BYTES = 1_000_000;
const MAX_DEPTH = 100;
const TAG = "$everthink";

/** The error says what is wrong with the value. */
export function encodeValue(value: unknown): Result<string, string> {
  try {
    const text = JSON.stringify(plain(value, 0)) ?? "null";
    const isShort = text.length <= MAX_DURABLE_VALUE_BYTES && byteLength(text) <= MAX_DURABLE_VALUE_BYTES;
    return isShort ? { ok: true, value: text } : { ok: false, error: tooLarge() };
  } catch (error) {
    return { ok: false, error: error instanceof UnsupportedValue ? error.message : "it cannot be written down" };
  }
}

/** Only for what `encodeValue` made. */
export function decodeValue(text: string): unknown {
  return revived(JSON.parse(text) as unknown);
}

/**
 * A value as a transcript, a client and a human are given it: JSON, with everything in it. As JSON writes it, a map would be
 * shown empty, and a big integer not at all.
 */
export function shownValue(value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(shownValue);
  if (value instanceof Map) return [...value].map((pair) => pair.map(shownValue));
  if (value instanceof Set) return [...value].map(shownValue);
  const bytes = bytesOf(value);
  if (bytes) return `base64:${encodeBase64(bytes)}`;
  if (value instanceof Error) return { name: value.name, message: value.message };
  if ("toJSON" in value && typeof value.toJSON === "function") return value.toJSON() as unknown;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries.map(([key, one]) => [key, shownValue(one)]));
}

function tooLarge(): string {
  return `it has more than ${MAX_DURABLE_VALUE_BYTES} bytes; write it to a file and pass the path`;
}

class UnsupportedValue extends Error {}

function plain(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new UnsupportedValue(`it is nested more than ${MAX_DEPTH} levels deep`);
  switch (typeof value) {
    case "undefined":
      return { [TAG]: "undefined" };
    case "bigint":
      return { [TAG]: "bigint", value: String(value) };
    case "function":
    case "symbol":
      throw new UnsupportedValue(`it holds a ${typeof value}`);
    case "object":
      return value === null ? null : plainObject(value, depth);
    default:
      return value;
  }
}

function plainObject(value: object, depth: number): unknown {
  if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1));
  if (value instanceof Date) return { [TAG]: "date", value: value.getTime() };
  if (value instanceof Map) return { [TAG]: "map", value: [...value].map((pair) => plain(pair, depth + 2)) };
  if (value instanceof Set) return { [TAG]: "set", value: [...value].map((one) => plain(one, depth + 2)) };
  const bytes = bytesOf(value);
  if (bytes) {
    if (bytes.byteLength > MAX_DURABLE_VALUE_BYTES) throw new UnsupportedValue(tooLarge());
    return { [TAG]: "bytes", value: encodeBase64(bytes) };
  }
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value instanceof Promise || value instanceof ReadableStream)
    throw new UnsupportedValue("it holds a promise or a stream; await it first");
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries.map(([key, one]) => [key === TAG ? `${TAG}_` : key, plain(one, depth + 1)]));
}

/** A key "__proto__" could change what an object inherits where a tool copies it: it is left out. */
function revived(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revived);
  if (!isObject(value)) return value;
  const { [TAG]: tag, value: content } = value;
  if (tag !== undefined) return tagged(String(tag), content);
  const entries = Object.entries(value).filter(([key]) => key !== "__proto__");
  return Object.fromEntries(entries.map(([key, one]) => [key, revived(one)]));
}

function tagged(tag: string, content: unknown): unknown {
  switch (tag) {
    case "bigint":
      return BigInt(String(content));
    case "date":
      return new Date(Number(content));
    case "bytes":
      return decodeBase64(String(content));
    case "map":
      return new Map(revived(content) as [unknown, unknown][]);
    case "set":
      return new Set(revived(content) as unknown[]);
    default:
      return undefined;
  }
}

function bytesOf(value: object): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return undefined;
}
