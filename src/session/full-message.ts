// Puts the whole values back into a message that was read in its shortened form, changed, and handed in again: what the
// caller left as it was shown is what it really was. Pure.
import { canonicalJson, isObject } from "../util/json.ts";
import { isToolPart } from "../model/tool-part.ts";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";

/** A stored message in both forms. */
export interface StoredForms {
  /** As it is shown. */
  readonly shown: SessionMessage;
  readonly full: SessionMessage;
}

const CUT_NOTES = ["compactedToolOutputs", "compactedTextParts", "compactedParts"];

/** `next`, with every value that equals the shown one replaced by the full one. */
export function restoreFull(next: SessionMessage, { shown, full }: StoredForms): SessionMessage {
  // Only the head was shown: its parts say nothing about the others.
  if (isObject(shown.metadata) && shown.metadata["compactedMessage"] === true) return isSame(next, shown) ? full : next;
  const parts = next.parts.map((part, index) => {
    const at = counterpart(part, index, shown);
    const before = shown.parts[at];
    const whole = full.parts[at];
    return before === undefined || whole === undefined ? part : restorePart(part, before, whole);
  });
  const restored: Record<string, unknown> = { ...next };
  for (const [field, value] of Object.entries(next)) {
    if (isSame(value, field in shown ? Reflect.get(shown, field) : undefined))
      setField(restored, field, Reflect.get(full, field));
  }
  if (isObject(restored["metadata"])) setField(restored, "metadata", withoutNotes(restored["metadata"], full));
  return { ...restored, id: next.id, role: next.role, parts };
}

function setField(target: Record<string, unknown>, field: string, value: unknown): void {
  if (value === undefined) delete target[field];
  else target[field] = value;
}

function counterpart(part: SessionMessagePart, index: number, shown: SessionMessage): number {
  if (!isToolPart(part))
    return isSame(part, shown.parts[index]) ? index : shown.parts.findIndex((old) => isSame(old, part));
  return shown.parts.findIndex((old) => isToolPart(old) && old.toolCallId === part.toolCallId);
}

function restorePart(
  part: SessionMessagePart,
  before: SessionMessagePart,
  whole: SessionMessagePart
): SessionMessagePart {
  if (isSame(part, before)) return whole;
  if (part.type !== whole.type) return part;
  const restored = { ...part };
  for (const [field, value] of Object.entries(part)) {
    if (field in whole && isSame(value, before[field])) restored[field] = whole[field];
  }
  return restored;
}

/** The full message has no notes about cuts. */
function withoutNotes(metadata: Record<string, unknown>, full: SessionMessage): object | undefined {
  const kept = Object.fromEntries(Object.entries(metadata).filter(([key]) => !CUT_NOTES.includes(key)));
  return Object.keys(kept).length === 0 && full.metadata === undefined ? undefined : kept;
}

function isSame(first: unknown, second: unknown): boolean {
  return (
    first === second || (first !== undefined && second !== undefined && canonicalJson(first) === canonicalJson(second))
  );
}
