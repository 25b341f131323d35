// Which values of an old message are too large to keep in the history, and the message with a line of text in place of
// each. Candidates are files given as data URLs and long strings inside tool outputs; what the user or the model wrote is
// never touched. Pure: keeping the values somewhere is media-evictor.ts.
import { byteLength, encodeText } from "../util/bytes.ts";
import { isObject } from "../util/json.ts";
import { decodeDataUrl, describeDataUrl, evictionMarker, isDataUrl } from "./file-marker.ts";
import { isToolPart, toolNameOf } from "../model/tool-part.ts";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";

/** Strings deeper inside an output stay. */
const MAX_OUTPUT_DEPTH = 8;
const FOLDER = "/attachments/evicted";

/** A value to be taken out. */
export interface EvictableValue {
  /** Where it should be kept. */
  readonly name: string;
  readonly mediaType: string | undefined;
  readonly sizeBytes: number;
  /** Decodes on call: only one value is in memory at a time. */
  bytes(): Uint8Array;
}

/** A call and what came of it. */
export interface EvictableCall {
  readonly toolName: string;
  readonly input: unknown;
  readonly output: unknown;
}

export interface EvictionRule {
  /** Characters a single value has at least. */
  readonly minChars: number;
  /** Outputs that stay, however long they are. */
  readonly keeps?: (call: EvictableCall) => boolean;
}

/** In the order in which `evict` replaces them. */
export function evictableValues(message: SessionMessage, rule: EvictionRule): EvictableValue[] {
  const values: EvictableValue[] = [];
  let number = firstFreeNumber(message);
  replaceValues(message, rule, (value) => {
    values.push(describe(value, `${FOLDER}/${encodeURIComponent(message.id)}-${number++}`));
    return value;
  });
  return values;
}

/** The message with each of its evictable values replaced by a marker that names its path, if it has one. */
export function evict(
  message: SessionMessage,
  rule: EvictionRule,
  paths: readonly (string | undefined)[]
): SessionMessage {
  let next = 0;
  return replaceValues(message, rule, (value) => {
    const path = paths[next++];
    const { mediaType, sizeBytes } = describe(value, "");
    return evictionMarker({
      sizeBytes,
      ...(mediaType !== undefined && { mediaType }),
      ...(path !== undefined && { path })
    });
  });
}

function describe(value: string, name: string): EvictableValue {
  if (!isDataUrl(value)) {
    return { name: `${name}.txt`, mediaType: undefined, sizeBytes: byteLength(value), bytes: () => encodeText(value) };
  }
  const { mediaType, sizeBytes } = describeDataUrl(value);
  const subtype = (mediaType.split("/")[1] ?? "").replace(/[^a-z0-9]/gi, "");
  const extension = subtype === "" ? "bin" : subtype;
  return { name: `${name}.${extension}`, mediaType, sizeBytes, bytes: () => decodeDataUrl(value) };
}

/** A message may be evicted again after it changed; earlier files must not be overwritten. */
function firstFreeNumber(message: SessionMessage): number {
  const used = [...JSON.stringify(message.parts).matchAll(/\/attachments\/evicted\/[^\s"\]]*-(\d+)\.\w+\]/g)];
  return used.reduce((next, match) => Math.max(next, Number(match[1]) + 1), 0);
}

function replaceValues(
  message: SessionMessage,
  { minChars, keeps }: EvictionRule,
  replace: (value: string) => string
): SessionMessage {
  const parts = message.parts.map((part): SessionMessagePart => {
    if (isToolPart(part)) {
      if (keeps?.({ toolName: toolNameOf(part), input: part.input, output: part.output })) return part;
      const output = replaceStrings(part.output, 0, (text) => (text.length >= minChars ? replace(text) : text));
      return output === part.output ? part : { ...part, output };
    }
    const url = part.type === "file" ? part["url"] : undefined;
    if (!isDataUrl(url) || url.length < minChars) return part;
    const text = replace(url);
    return text === url ? part : { type: "text", text };
  });
  return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts };
}

/** Unchanged values are the same objects. */
function replaceStrings(value: unknown, depth: number, replace: (text: string) => string): unknown {
  if (typeof value === "string") return replace(value);
  if (depth >= MAX_OUTPUT_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => replaceStrings(item, depth + 1, replace));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(
    ([key, child]) => [key, replaceStrings(child, depth + 1, replace)] as const
  );
  return entries.every(([key, child]) => child === value[key]) ? value : Object.fromEntries(entries);
}
