// User values on their way into one SQLite cell: JSON or a clear refusal, never a half-stored row. The platform's
// limit is 2 MB per row; what is refused here would fail there with a message that does not say what to do.
import { byteLength } from "../util/bytes.ts";
import { errorMessage } from "../util/errors.ts";
import { agentErrors } from "./errors.ts";

/** Bytes of one stored payload or snapshot; leaves space for the other columns of its row. */
export const STORED_JSON_LIMIT_BYTES = 1_900_000;
/** Characters of an error text kept in a row. */
const ERROR_TEXT_LIMIT = 4_000;

/** `undefined` is stored as null. */
export function encodeStored(value: unknown, what: string, limitBytes = STORED_JSON_LIMIT_BYTES): string {
  const text = stringify(value ?? null, what);
  // A UTF-16 unit is at most three bytes: most texts need no second pass.
  if (text.length * 3 <= limitBytes) return text;
  const sizeBytes = byteLength(text);
  if (sizeBytes > limitBytes) throw agentErrors.TooLargeError(what, sizeBytes, limitBytes);
  return text;
}

/** An error text as kept in a row. */
export function storedError(error: unknown): string {
  return errorMessage(error).slice(0, ERROR_TEXT_LIMIT);
}

function stringify(value: unknown, what: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw agentErrors.NotJsonError(what, error);
  }
  if (text === undefined) throw agentErrors.NotJsonError(what);
  return text;
}
