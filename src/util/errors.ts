// The base of every error this package throws. It is read by two: the caller sees `message`, the operator also `hint`.
import { byteLength, cutToBytes, isLongerThan } from "./bytes.ts";

export interface ThinkErrorInit {
  /** Stable, kebab-case; what programs match on. */
  code: string;
  /** Safe to show to a caller: no stack, no internal path, no other agent's name. */
  message: string;
  /** What the operator can do about it. */
  hint?: string;
  cause?: unknown;
}

export class ThinkError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(init: ThinkErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = new.target.name;
    this.code = init.code;
    this.hint = init.hint;
  }
}

/**
 * Makes the errors of one area from a table of their names, codes and texts, for errors that no code catches by class. A row is
 * called like a function and returns the error to throw. `Base` is `ThinkError`, or the class of a family that is caught as a whole.
 *
 * ```ts
 * export const queueErrors = errorTable(ThinkError, {
 *   QueueFullError: (limit: number) => ({ code: "turn-queue-full", message: `At most ${limit} turns wait.` })
 * });
 * throw queueErrors.QueueFullError(10);
 * ```
 *
 * @__NO_SIDE_EFFECTS__ lets bundlers leave out a table that is not used.
 */
export function errorTable<Init, Family extends Error, Rows extends Record<string, (...values: never[]) => Init>>(
  Base: new (init: Init) => Family,
  rows: Rows
) {
  const makers = Object.entries(rows).map(([name, row]) => [
    name,
    (...values: never[]) => Object.assign(new Base(row(...values)), { name })
  ]);
  return Object.fromEntries(makers) as { [Name in keyof Rows]: (...values: Parameters<Rows[Name]>) => Family };
}

/** Links of a cause chain that are reported, and characters of each. */
const MAX_CAUSES = 4;
const MAX_CAUSE_CHARS = 500;

/**
 * What is behind an error, for logs and events: the names, HTTP statuses and messages of its causes, nearest first.
 * Undefined for an error without a cause. For operators only: a provider's words may not reach a client.
 */
export function causeOf(error: unknown): string | undefined {
  const causes = new Set<string>();
  let link = fieldOf(error, "cause");
  // Counted, because an error may be its own cause.
  for (let count = 0; link !== undefined && link !== null && count < MAX_CAUSES; count += 1) {
    causes.add(linkText(link));
    link = fieldOf(link, "lastError") ?? fieldOf(link, "cause");
  }
  return causes.size === 0 ? undefined : [...causes].join(" Cause: ");
}

/** What events carry of a failure besides the text that clients are shown. */
export function failureDetails(error: unknown): { code?: string; cause?: string } {
  return { code: error instanceof ThinkError ? error.code : undefined, cause: causeOf(error) };
}

function linkText(link: unknown): string {
  const name = fieldOf(link, "name");
  const status = fieldOf(link, "statusCode");
  const words = [
    typeof name === "string" ? name : typeof link,
    ...(typeof status === "number" ? [String(status)] : [])
  ];
  const said = typeof link === "object" ? fieldOf(link, "message") : link;
  const message = errorMessage(said ?? link);
  return `${words.join(" ")}: ${message.slice(0, MAX_CAUSE_CHARS).replaceAll(/\s+/g, " ")}`;
}

/** A getter that throws says nothing. */
export function fieldOf(value: unknown, name: string): unknown {
  try {
    return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  } catch {
    // The value says nothing under this name.
    return undefined;
  }
}

/** The text of anything thrown. Total: what is thrown may be a provider's or a user's value, and have a getter that throws. */
export function errorMessage(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    return String(message);
  } catch {
    return "";
  }
}

/** The most of an error's text that is kept: it is stored, sent to clients, and that of a tool is part of every later prompt. */
export const MAX_ERROR_TEXT_BYTES = 16 * 1024;

/** Of a text that is too long, its beginning and how much is missing. */
export function cutErrorText(text: string): string {
  if (!isLongerThan(text, MAX_ERROR_TEXT_BYTES)) return text;
  const bytes = byteLength(text);
  // The note about the cut fits in what is left.
  const kept = cutToBytes(text, MAX_ERROR_TEXT_BYTES - 100);
  return `${kept}... [cut: ${bytes - byteLength(kept)} of ${bytes} bytes of this error text are left out]`;
}
