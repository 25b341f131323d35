// What a client sent as a message, made safe to store: checked for shape, without the keys only the server may set, and
// without parts only the server may write. Pure.
import { isUsableId } from "../util/ids.ts";
import { isObject } from "../util/json.ts";
import { REFUSED_FILES } from "../util/refused-files.ts";
import { err, ok, type Result } from "../util/result.ts";
import { isToolPart } from "../model/tool-part.ts";
import { checkMessage, isCompactionMessage, type SessionMessage } from "./session-message.ts";

/** Says where a message came from or went to, and what a provider made of it: never a client's to decide. */
export const RESERVED_METADATA_KEYS: readonly string[] = [
  "channel",
  "turnMetadata",
  "messenger",
  "deliveryKind",
  REFUSED_FILES
];

export type RejectReason =
  | "not-a-message"
  | "unusable-id"
  | "unknown-role"
  /** A summary of compacted messages, which clients see but do not own. */
  | "compaction"
  | "system-role"
  /** The id belongs to a message of another role. */
  | "role-mismatch"
  /** An answer this conversation does not have: clients do not write answers. */
  | "unknown-assistant"
  /** Older than messages that are stored: it was deleted here. */
  | "deleted"
  /** The same id twice in one request. */
  | "repeated";

/** The message, or why it is refused. */
export function acceptPosted(posted: unknown): Result<SessionMessage, RejectReason> {
  const checked = checkMessage(posted);
  if (!checked.ok) return err("not-a-message");
  const { id, role } = checked.value;
  if (!isUsableId(id)) return err("unusable-id");
  if (isCompactionMessage(checked.value)) return err("compaction");
  if (role === "system") return err("system-role");
  if (role !== "user" && role !== "assistant") return err("unknown-role");
  return ok(checked.value);
}

/** A user's message without what only the server may say in it; the same object if there is nothing of it. */
export function withoutServerFields(message: SessionMessage): SessionMessage {
  const hasCalls = message.parts.some(isToolPart);
  const cleaned = hasCalls ? { ...message, parts: message.parts.filter((part) => !isToolPart(part)) } : message;
  return withMetadata(cleaned, splitMetadata(cleaned.metadata).own);
}

/** The stored message's server fields on a client's newer version of it. */
export function withServerFields(message: SessionMessage, stored: SessionMessage): SessionMessage {
  const { reserved } = splitMetadata(stored.metadata);
  if (reserved === undefined) return message;
  return { ...message, metadata: { ...(isObject(message.metadata) ? message.metadata : {}), ...reserved } };
}

interface SplitMetadata {
  readonly own: unknown;
  readonly reserved: Record<string, unknown> | undefined;
}

function splitMetadata(metadata: unknown): SplitMetadata {
  if (!isObject(metadata)) return { own: metadata, reserved: undefined };
  const isReserved = ([key]: [string, unknown]) => RESERVED_METADATA_KEYS.includes(key);
  const reserved = Object.entries(metadata).filter(isReserved);
  if (reserved.length === 0) return { own: metadata, reserved: undefined };
  const own = Object.entries(metadata).filter((entry) => !isReserved(entry));
  return {
    own: own.length === 0 ? undefined : Object.fromEntries(own),
    reserved: Object.fromEntries(reserved)
  };
}

function withMetadata(message: SessionMessage, metadata: unknown): SessionMessage {
  if (metadata === message.metadata) return message;
  const { metadata: _replaced, ...rest } = message;
  return metadata === undefined ? rest : { ...rest, metadata };
}
