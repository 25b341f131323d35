// What was asked, as it is stored until the submission's turn takes it over, and what tells one request from another.
import { createHash } from "node:crypto";
import type { UIMessage } from "ai";
import { byteLength } from "../../util/bytes.ts";
import { canonicalJson, isObject } from "../../util/json.ts";
import { err, ok, type Result } from "../../util/result.ts";
import { submissionErrors } from "./errors.ts";

/** Bytes of the messages and the body of one submission. */
export const MAX_REQUEST_BYTES = 16 * 1024 * 1024;
/** Bytes of its metadata. */
export const MAX_METADATA_BYTES = 64 * 1024;

export interface SubmissionRequest {
  readonly messages: readonly UIMessage[];
  /** Undefined: what the client's last request had, when the turn starts. */
  readonly body?: Record<string, unknown>;
  readonly channel?: string;
}

/** Throws InvalidSubmissionError. */
export function encodeRequest(request: SubmissionRequest): string {
  const text = jsonOf(request, "its messages");
  if (byteLength(text) <= MAX_REQUEST_BYTES) return text;
  throw submissionErrors.InvalidSubmissionError(`it has more than ${MAX_REQUEST_BYTES} bytes`);
}

/** Throws InvalidSubmissionError. Null: there is none. */
export function encodeMetadata(metadata: unknown): string | null {
  if (metadata === undefined) return null;
  if (!isObject(metadata)) throw submissionErrors.InvalidSubmissionError("its metadata is not an object");
  const text = jsonOf(metadata, "its metadata");
  if (byteLength(text) <= MAX_METADATA_BYTES) return text;
  throw submissionErrors.InvalidSubmissionError(`its metadata has more than ${MAX_METADATA_BYTES} bytes`);
}

/** Metadata from outside: what begins with two underscores is the package's, and is left out. */
export function ownMetadata(metadata: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !name.startsWith("__")));
}

/** As `encodeRequest` wrote it. */
export function decodeRequest(value: unknown): Result<SubmissionRequest> {
  if (!isObject(value) || !Array.isArray(value["messages"])) return err("it is not a request");
  // Its messages were checked before they were stored.
  return ok(value as object as SubmissionRequest);
}

/** Equal for what asks the same. Ids of messages are left out: a caller that tries again may mint new ones. */
export function requestFingerprint({ messages, body, channel }: SubmissionRequest): string {
  const asked = messages.map(({ id: _id, ...message }) => message);
  return createHash("sha256")
    .update(canonicalJson([asked, body ?? null, channel ?? null]))
    .digest("base64url");
}

function jsonOf(value: unknown, what: string): string {
  try {
    return JSON.stringify(value);
  } catch {
    throw submissionErrors.InvalidSubmissionError(`${what} cannot be stored as JSON`);
  }
}
