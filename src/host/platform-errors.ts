// What a thrown error means for the work that met it: decided once, here, through the whole cause chain, so that a
// wrapped error is judged like the bare one. Only says what happened; whether to retry is the caller's rule.
import { fieldOf } from "../util/errors.ts";

/**
 * - `reset`: new code replaced this isolate; retrying in-process is useless.
 * - `connection-lost`: the platform dropped a call; the same call may work a moment later.
 * - `overloaded`: the platform asks for less; do not retry at once.
 * - `out-of-memory`: deterministic for the same work, so never treated as transient.
 * - `overflow`: a value or the database hit a platform size limit; deterministic too.
 * - `bug`: everything else, the application's own errors included.
 */
export type ErrorKind = "reset" | "connection-lost" | "overloaded" | "out-of-memory" | "overflow" | "bug";

/** Causes looked at below the error itself. Deeper ones are not ours to explain, and a cycle must end. */
const CAUSE_DEPTH_LIMIT = 8;

// Platform texts as they arrive, bare or behind a wrapper's "…: ". Anchored, because users write sentences that
// contain the same words ("Your subscription script has been upgraded").
const RESET = [/\breset because its code was updated\b/i, /(?:^|: )this script has been upgraded\b/i];
const CONNECTION_LOST = [/(?:^|: )network connection lost\b/i];
const OVERLOADED = [/(?:^|: )durable object is overloaded\b/i];
const OUT_OF_MEMORY = [/\bexceeded its memory limit\b/i, /\bSQLITE_NOMEM\b/];
const OVERFLOW = [
  /\bSQLITE_TOOBIG\b/,
  /\bSQLITE_FULL\b/,
  /(?:^|: )string or blob too big\b/i,
  /(?:^|: )database or disk is full\b/i
];
/** Texts of SQLite itself, with or without the name of its code. */
const DATABASE = [/\bSQLITE_[A-Z]+\b/, /(?:^|: )database (?:or disk is full|disk image is malformed|is locked)\b/i];

/** What an error means. Total: anything can be thrown, and anything gets an answer. */
export function classifyError(error: unknown): ErrorKind {
  const links = chain(error);
  const says = (patterns: readonly RegExp[]) => links.some((link) => matches(link, patterns));
  // Memory first: the platform may flag such a reset as retryable, and believing it would loop for ever.
  if (says(OUT_OF_MEMORY)) return "out-of-memory";
  if (says(RESET)) return "reset";
  if (says(CONNECTION_LOST)) return "connection-lost";
  if (isOverloaded(links)) return "overloaded";
  if (links.some((link) => fieldOf(link, "retryable") === true)) return "connection-lost";
  return says(OVERFLOW) ? "overflow" : "bug";
}

/** New code took over: this isolate is finished, and only a fresh one can do the work. */
export function isSupersededIsolate(error: unknown): boolean {
  return classifyError(error) === "reset";
}

/** The platform's fault and likely to pass: the work should be kept and run again. */
export function isPlatformTransient(error: unknown): boolean {
  const kind = classifyError(error);
  return kind === "reset" || kind === "connection-lost";
}

/** The platform itself says that the same call may be made again, now. */
export function isRetryable(error: unknown): boolean {
  const links = chain(error);
  return links.some((link) => fieldOf(link, "retryable") === true) && !isOverloaded(links);
}

/** The object's database reports it, whatever the reason: a full disk, a damaged file, a wrong statement. */
export function isDatabaseError(error: unknown): boolean {
  return chain(error).some((link) => matches(link, DATABASE));
}

export function isOutOfMemory(error: unknown): boolean {
  return classifyError(error) === "out-of-memory";
}

function chain(error: unknown): unknown[] {
  const links: unknown[] = [];
  let link = error;
  while (link !== undefined && link !== null && links.length <= CAUSE_DEPTH_LIMIT) {
    links.push(link);
    link = fieldOf(link, "cause");
  }
  return links;
}

function isOverloaded(links: readonly unknown[]): boolean {
  return links.some((link) => fieldOf(link, "overloaded") === true || matches(link, OVERLOADED));
}

function matches(link: unknown, patterns: readonly RegExp[]): boolean {
  const message = typeof link === "string" ? link : fieldOf(link, "message");
  return typeof message === "string" && patterns.some((pattern) => pattern.test(message));
}
