// What a message of a conversation is, as far as storage cares: an id, a role, and a list of typed parts. Every other
// field is the user's and survives storing. The SDK's UIMessage is one of these. Pure.
import type { ToolPart } from "../model/tool-part.ts";
import { messageId } from "../util/ids.ts";
import { isObject, parseJson } from "../util/json.ts";
import { err, ok, type Result } from "../util/result.ts";
import { sessionErrors } from "./errors.ts";

export interface SessionMessagePart {
  type: string;
  [field: string]: unknown;
}

/** One message. Fields beyond these are kept as JSON. */
export interface SessionMessage {
  id: string;
  role: string;
  parts: SessionMessagePart[];
  metadata?: unknown;
  createdAt?: Date;
}

/** Roles are words, not content. */
export const MAX_ROLE_CHARS = 64;
/** Messages with such ids stand for a summary; they are made at read time and never stored. */
export const COMPACTION_PREFIX = "compaction_";

export function isCompactionMessage(message: { readonly id: string }): boolean {
  return message.id.startsWith(COMPACTION_PREFIX);
}

const SETTLED_STATES: readonly unknown[] = ["output-available", "output-error", "output-denied"];

/** True when the call has its result. An output that is still preliminary is none. */
export function isSettledStoredPart(part: ToolPart): boolean {
  if (part.preliminary === true && part.state === "output-available") return false;
  return SETTLED_STATES.includes(part.state) || "output" in part || "result" in part;
}

/** Whether a value has the shape of a message; says what is missing. */
export function checkMessage(value: unknown): Result<SessionMessage> {
  if (!isObject(value)) return err("it is not an object");
  if (typeof value["id"] !== "string" || value["id"] === "") return err("it has no id");
  if (typeof value["role"] !== "string" || value["role"] === "") return err("it has no role");
  if (value["role"].length > MAX_ROLE_CHARS) return err(`its role is longer than ${MAX_ROLE_CHARS} characters`);
  if (!Array.isArray(value["parts"])) return err("it has no list of parts");
  if (!value["parts"].every((part) => isObject(part) && typeof part["type"] === "string")) {
    return err("one of its parts has no type");
  }
  // The fields above are all the type asks for; further ones are allowed.
  return ok(value as object as SessionMessage);
}

/** Refuses what could not be read back. Throws InvalidMessageError or InvalidIdError. */
export function requireMessage(message: SessionMessage): void {
  const checked = checkMessage(message);
  if (!checked.ok) throw sessionErrors.InvalidMessageError(checked.error);
  messageId(message.id);
}

/** Reads a stored message; the error says why it cannot be one. */
export function parseStoredMessage(content: string): Result<SessionMessage> {
  const parsed = parseJson(content);
  if (!parsed.ok) return err(parsed.error);
  const checked = checkMessage(parsed.value);
  if (!checked.ok || !("createdAt" in checked.value)) return checked;
  return ok(withDate(checked.value));
}

/** JSON has no dates: `createdAt` comes back as the date it was. */
function withDate(message: SessionMessage): SessionMessage {
  const stored: unknown = message.createdAt;
  const date = typeof stored === "string" || typeof stored === "number" ? new Date(stored) : undefined;
  return date !== undefined && Number.isFinite(date.getTime()) ? { ...message, createdAt: date } : message;
}
