// What a failure says about itself, gathered from all of its links: the SDK's wrapper, the provider's refusal, an error
// part of a stream, the network's own error. Pure, total and bounded: anything can be thrown, and a chain may be a loop.
import { fieldOf } from "../util/errors.ts";
import { isObject } from "../util/json.ts";

/** Links that are looked at. Deeper ones have nothing to say that the outer ones do not. */
const MAX_LINKS = 24;
/** A text that is longer is not read to its end. */
const MAX_TEXT_LENGTH = 16_384;
/** Where errors keep the error below them, and providers the one inside their answer. */
const LINKS = ["lastError", "cause", "error", "data", "$metadata"];
/** Fields with words about what happened. */
const WORDS = ["message", "responseBody", "code", "type", "status", "reason", "name"];
const STATUSES = ["statusCode", "status", "httpStatusCode", "code"];
/** What the user and the agent wrote, and what is not about the failure: never a reason to believe anything. */
const NOT_ABOUT_THE_FAILURE = new Set([
  ..."requestBodyValues requestBody request prompt messages body headers responseHeaders stack url".split(" ")
]);

export interface FailureSignals {
  /** What was said, outermost first. */
  readonly texts: readonly string[];
  /** The HTTP status of the refusal: the outermost that is one. */
  readonly status: number | undefined;
  /** Response headers with lower-case names, outermost first. */
  readonly headers: readonly ReadonlyMap<string, string>[];
  /** True if the provider or the SDK said that the same call may work later. */
  readonly isRetryable: boolean;
}

export function failureSignals(error: unknown): FailureSignals {
  const texts: string[] = [];
  const statuses: number[] = [];
  const headers: ReadonlyMap<string, string>[] = [];
  let isRetryable = false;
  for (const link of linksOf(error)) {
    if (typeof link === "string") texts.push(link);
    if (!isObject(link)) continue;
    texts.push(...wordsOf(link));
    statuses.push(...STATUSES.flatMap((field) => asStatus(fieldOf(link, field)) ?? []));
    headers.push(...["responseHeaders", "headers"].flatMap((field) => headersOf(fieldOf(link, field)) ?? []));
    isRetryable ||= fieldOf(link, "isRetryable") === true;
  }
  return { texts: texts.map((text) => text.slice(0, MAX_TEXT_LENGTH)), status: statuses[0], headers, isRetryable };
}

/** The error and everything below it, nearest first. */
function linksOf(error: unknown): unknown[] {
  const links: unknown[] = isReadable(error) ? [error] : [];
  for (let at = 0; at < links.length && links.length < MAX_LINKS; at += 1) {
    const link = links[at];
    for (const each of below(link)) {
      const isNew = (typeof each === "object" || typeof each === "string") && each !== null && !links.includes(each);
      if (isNew && links.length < MAX_LINKS && isReadable(each)) links.push(each);
    }
  }
  return links;
}

/** A revoked proxy does not even say what it is. */
function isReadable(link: unknown): boolean {
  try {
    Array.isArray(link);
    return true;
  } catch {
    return false;
  }
}

function below(link: unknown): unknown[] {
  if (Array.isArray(link)) return link.slice(0, MAX_LINKS);
  if (!isObject(link)) return [];
  const found = LINKS.map((field) => fieldOf(link, field));
  // Of several attempts the last one decides; the SDK lists all of them in `errors`.
  return fieldOf(link, "lastError") === undefined ? [...found, fieldOf(link, "errors")] : found;
}

function wordsOf(link: Record<string, unknown>): string[] {
  const words = WORDS.flatMap((field) => {
    const value = fieldOf(link, field);
    return typeof value === "string" ? [value] : [];
  });
  // Bodies come in many shapes; without a message, all of it is read.
  if (link instanceof Error || typeof fieldOf(link, "message") === "string") return words;
  return [...words, printed(link)];
}

function printed(value: object): string {
  try {
    return JSON.stringify(value, (key, inner: unknown) => (NOT_ABOUT_THE_FAILURE.has(key) ? undefined : inner)) ?? "";
  } catch {
    // A loop, or a number JSON cannot hold: its fields were read one by one above.
    return "";
  }
}

function asStatus(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && number >= 400 && number <= 599 ? number : undefined;
}

function headersOf(given: unknown): ReadonlyMap<string, string> | undefined {
  if (given instanceof Headers) return new Map(given);
  if (!isObject(given)) return undefined;
  const entries = Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return new Map(entries.map(([name, value]) => [name.toLowerCase(), value]));
}
