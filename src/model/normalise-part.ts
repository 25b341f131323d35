// Whatever a provider streams, as the part of the specification it should have been: a wrong field gets the value that
// claims least, and what cannot be a part is left out. Everything above this file may rely on the types. Pure and total:
// a provider's value may be anything, getters that throw included. Which call an id means is decided by call-ids.ts.
import { fieldOf } from "../util/errors.ts";
import { isObject } from "../util/json.ts";
import type { ModelPart } from "./coalesce.ts";
import { tokenCount } from "./usage.ts";

/** Names of tools, blocks and sources. A longer one is cut: it would be repeated with every chunk. */
export const MAX_NAME_CHARS = 256;
/** How deep values of a provider's own are copied. What is below is left out. */
const MAX_DEPTH = 32;

/** Of the model that streams. `v2` writes some fields of the last part in another form. */
export type SpecificationVersion = "v2" | "v3" | "v4";

type Fields = Record<string, unknown>;
/** What a field becomes; undefined leaves it out, `NO_PART` the whole part. */
type Rule = (value: unknown, version: SpecificationVersion) => unknown;

const NO_PART = Symbol("no part");

/** The part, or undefined for what is none. */
export function normalisePart(value: unknown, version: SpecificationVersion): ModelPart | undefined {
  try {
    return isObject(value) ? readPart(value, version) : undefined;
  } catch {
    // An object that cannot even be looked at, such as a revoked proxy.
    return undefined;
  }
}

function readPart(value: Fields, version: SpecificationVersion): ModelPart | undefined {
  const type = fieldOf(value, "type");
  const rules = typeof type === "string" ? rulesOf(type, value) : undefined;
  if (typeof type !== "string" || rules === undefined) return undefined;
  const part: Fields & ModelPart = { type };
  for (const [key, rule] of Object.entries(rules)) {
    const checked = rule(fieldOf(value, key), version);
    if (checked === NO_PART) return undefined;
    if (checked !== undefined) part[key] = checked;
  }
  // Fields that a newer specification adds are kept, as far as they can be stored.
  for (const key of Object.keys(value)) {
    if (key === "type" || Object.hasOwn(rules, key)) continue;
    const copy = jsonValue(fieldOf(value, key));
    if (copy !== undefined) part[key] = copy;
  }
  return part;
}

const needed =
  (rule: Rule): Rule =>
  (value, version) =>
    rule(value, version) ?? NO_PART;
const or =
  (fallback: unknown, rule: Rule): Rule =>
  (value, version) =>
    rule(value, version) ?? fallback;

const asGiven: Rule = (value) => value;
const flag: Rule = (value) => (typeof value === "boolean" ? value : undefined);
const label: Rule = (value) => (typeof value === "string" ? value.slice(0, MAX_NAME_CHARS) : undefined);
const address: Rule = (value) => (typeof value === "string" && value !== "" ? value : undefined);
const words: Rule = (value) => {
  if (typeof value === "string") return value;
  return typeof value === "number" && Number.isFinite(value) ? String(value) : undefined;
};
/** A word that the SDK and the fold use as a key. */
const name: Rule = (value, version) => {
  const given = words(value, version);
  if (typeof given !== "string" || given === "") return undefined;
  return given in Object.prototype ? `${given}-` : given.slice(0, MAX_NAME_CHARS);
};
/** Syntax only: whether a model can read it is for its provider to say. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+*-]+(\s*;.*)?$/;
const mediaType: Rule = (value) => (typeof value === "string" && MEDIA_TYPE.test(value) ? value : undefined);
const date: Rule = (value) => (value instanceof Date && Number.isFinite(value.getTime()) ? value : undefined);
/** Metadata is an object per provider: clients refuse a chunk with any other. */
const metadata: Rule = (value) => {
  const copy = jsonValue(value);
  if (!isObject(copy)) return undefined;
  const entries = Object.entries(copy).filter(([, values]) => isObject(values));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
};

const block = { id: or("0", name), providerMetadata: metadata };
const delta = { ...block, delta: needed(words) };
const calls = { providerExecuted: flag, dynamic: flag, providerMetadata: metadata };
const file = {
  data: needed(fileData),
  // What has no media type is still a file.
  mediaType: or("application/octet-stream", mediaType),
  providerMetadata: metadata
};

const RULES: ReadonlyMap<string, Readonly<Record<string, Rule>>> = new Map<string, Readonly<Record<string, Rule>>>([
  ["stream-start", { warnings: warningsOf }],
  ["response-metadata", { id: label, modelId: label, timestamp: date }],
  ["text-start", block],
  ["text-delta", delta],
  ["text-end", block],
  ["reasoning-start", block],
  ["reasoning-delta", delta],
  ["reasoning-end", block],
  [
    "tool-input-start",
    // Without a name, whose input it is will be known when the call is complete.
    { ...calls, id: asGiven, toolName: needed(name), title: label, inputEncoding: encoding }
  ],
  ["tool-input-delta", { id: asGiven, delta: needed(words), providerMetadata: metadata }],
  ["tool-input-end", { id: asGiven, providerMetadata: metadata }],
  // The SDK answers a call of a tool that does not exist, and the model reads that.
  ["tool-call", { ...calls, toolCallId: asGiven, toolName: or("unknown", name), input: toolInput }],
  [
    "tool-result",
    {
      ...calls,
      toolCallId: asGiven,
      toolName: or("unknown", name),
      result: (value) => jsonValue(value) ?? "",
      isError: flag,
      preliminary: flag
    }
  ],
  // Without the provider's own id its question cannot be answered.
  ["tool-approval-request", { approvalId: needed(address), toolCallId: asGiven, providerMetadata: metadata }],
  ["source url", { id: or("0", name), url: needed(address), title: words, providerMetadata: metadata }],
  [
    "source document",
    {
      id: or("0", name),
      mediaType: needed(mediaType),
      title: or("", words),
      filename: label,
      providerMetadata: metadata
    }
  ],
  ["file", file],
  ["reasoning-file", file],
  ["custom", { kind: needed(name), providerMetadata: metadata }],
  ["finish", { finishReason, usage, providerMetadata: metadata }],
  ["ping", {}],
  // Not shown unless a class asks for it.
  ["raw", { rawValue: asGiven }],
  ["error", { error: asGiven }]
]);

function rulesOf(type: string, part: Fields): Readonly<Record<string, Rule>> | undefined {
  return RULES.get(type === "source" ? `source ${String(words(fieldOf(part, "sourceType"), "v4"))}` : type);
}

function encoding(value: unknown): unknown {
  return value === "json" || value === "text" ? value : undefined;
}

function toolInput(value: unknown): string {
  if (typeof value === "string") return value;
  const json = jsonValue(value);
  return json === undefined || json === null ? "{}" : JSON.stringify(json);
}

function warningsOf(value: unknown): unknown[] {
  const copy = jsonValue(value);
  return Array.isArray(copy) ? copy.filter((warning) => isObject(warning) && typeof warning["type"] === "string") : [];
}

/** Base64 or bytes; in the newest specification with a tag, or an address. */
function fileData(value: unknown, version: SpecificationVersion): unknown {
  const given = isObject(value) && !(value instanceof Uint8Array) ? value : { type: "data", data: value };
  const [data, url] = [fieldOf(given, "data"), fieldOf(given, "url")];
  if (fieldOf(given, "type") === "url") {
    return version === "v4" && (url instanceof URL || URL.canParse(String(words(url, version))))
      ? { type: "url", url }
      : undefined;
  }
  const hasBytes = typeof data === "string" ? data !== "" : data instanceof Uint8Array && data.length > 0;
  if (!hasBytes) return undefined;
  return version === "v4" ? { type: "data", data } : data;
}

const REASONS: ReadonlySet<unknown> = new Set([
  ..."stop length content-filter tool-calls error interrupted other".split(" ")
]);

function finishReason(value: unknown, version: SpecificationVersion): unknown {
  const [unified, raw] = isObject(value) ? [fieldOf(value, "unified"), fieldOf(value, "raw")] : [value, value];
  if (version === "v2") return REASONS.has(unified) ? unified : "unknown";
  return { unified: REASONS.has(unified) ? unified : "other", raw: typeof raw === "string" ? raw : undefined };
}

function usage(value: unknown, version: SpecificationVersion): unknown {
  const given = isObject(value) ? value : {};
  if (version === "v2") {
    return counts(given, ["inputTokens", "outputTokens", "totalTokens", "reasoningTokens", "cachedInputTokens"]);
  }
  const raw = jsonValue(fieldOf(given, "raw"));
  return {
    inputTokens: counts(fieldOf(given, "inputTokens"), ["total", "noCache", "cacheRead", "cacheWrite"]),
    outputTokens: counts(fieldOf(given, "outputTokens"), ["total", "text", "reasoning"]),
    ...(isObject(raw) && { raw })
  };
}

function counts(value: unknown, keys: readonly string[]): Fields {
  const given = isObject(value) ? value : {};
  return Object.fromEntries(keys.map((key) => [key, tokenCount(fieldOf(given, key))]));
}

/** What JSON can hold of a value; undefined if that is nothing. `above`: what it is part of, so that a loop ends. */
function jsonValue(value: unknown, above: readonly object[] = []): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "object":
      if (value === null || above.length >= MAX_DEPTH || above.includes(value)) return null;
      if (Array.isArray(value)) return value.map((inner) => jsonValue(inner, [...above, value]) ?? null);
      return jsonObject(value, [...above, value]);
    default:
      return undefined;
  }
}

function jsonObject(value: object, above: readonly object[]): Fields {
  return Object.fromEntries(
    Object.keys(value).flatMap((key): [string, unknown][] => {
      const inner = jsonValue(fieldOf(value as Fields, key), above);
      return inner === undefined ? [] : [[key, inner]];
    })
  );
}
