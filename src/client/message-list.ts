// Lists of messages, changed by id. Unchanged messages stay the same objects, so a renderer can skip them. Tool parts
// only move forward: an older update that arrives late changes nothing. Pure.
import type { UIMessage } from "ai";
import { asMessagePart, isSettledToolPart, isToolPart, type ToolPart } from "../model/tool-part.ts";

/** In its place; a new one behind the message with the given id, or at the end. */
export function putMessage(list: readonly UIMessage[], message: UIMessage, behind?: string): readonly UIMessage[] {
  const index = list.findIndex(({ id }) => id === message.id);
  if (index < 0) {
    const place = behind === undefined ? -1 : list.findIndex(({ id }) => id === behind);
    return place < 0 ? [...list, message] : list.toSpliced(place + 1, 0, message);
  }
  return list[index] === message ? list : list.with(index, message);
}

/** A stored message changed: the one with its id, or the one that holds its call under another id. Never added. */
export function replaceMessage(list: readonly UIMessage[], message: UIMessage): readonly UIMessage[] {
  const index = indexOfSame(list, message);
  const before = list[index];
  if (before === undefined) return list;
  const next = adoptToolParts({ ...message, id: before.id }, before);
  return list.with(index, next);
}

function indexOfSame(list: readonly UIMessage[], message: UIMessage): number {
  const byId = list.findIndex(({ id }) => id === message.id);
  if (byId >= 0) return byId;
  const calls = new Set(toolPartsOf(message).map(({ toolCallId }) => toolCallId));
  return list.findLastIndex(({ parts }) => parts.some((part) => isToolPart(part) && calls.has(part.toolCallId)));
}

export function toolPartsOf(message: UIMessage): ToolPart[] {
  return message.parts.flatMap((part) => (isToolPart(part) ? [part] : []));
}

/** The message with those tool parts of the other that are further. The same object if there are none. */
export function adoptToolParts(message: UIMessage, other: UIMessage): UIMessage {
  return withToolParts(message, other, (part, known) => progressOf(known) > progressOf(part));
}

/** The same with a newer one, whose output of a settled call is a correction. */
export function adoptNewerToolParts(message: UIMessage, newer: UIMessage): UIMessage {
  return withToolParts(message, newer, (part, known) => {
    const ahead = progressOf(known) - progressOf(part);
    return ahead > 0 || (ahead === 0 && isSettledToolPart(part) && JSON.stringify(part) !== JSON.stringify(known));
  });
}

function withToolParts(
  message: UIMessage,
  other: UIMessage,
  isBetter: (part: ToolPart, known: ToolPart) => boolean
): UIMessage {
  const known = new Map<string, ToolPart>();
  for (const part of toolPartsOf(other)) known.set(part.toolCallId, part);
  if (known.size === 0) return message;
  let isChanged = false;
  const parts = message.parts.map((part) => {
    const better = isToolPart(part) ? known.get(part.toolCallId) : undefined;
    if (!isToolPart(part) || better === undefined || !isBetter(part, better)) return part;
    isChanged = true;
    return asMessagePart(better);
  });
  return isChanged ? { ...message, parts } : message;
}

const PROGRESS: Readonly<Record<ToolPart["state"], number>> = {
  "input-streaming": 0,
  "input-available": 1,
  "approval-requested": 2,
  "approval-responded": 3,
  "output-available": 4,
  "output-error": 4,
  "output-denied": 4
};

/** A parked call is settled with a note that it waits; the decision of the user comes after that. */
function progressOf(part: ToolPart): number {
  if (!isSettledToolPart(part)) return Math.min(PROGRESS[part.state], 3);
  return isParked(part) ? 4 : 5;
}

/** An action that waits for a human, for days if need be: its output says so and names the execution. */
export function isParked(part: ToolPart): part is ToolPart & { output: { status: "paused"; executionId: string } } {
  const { output } = part;
  return (
    part.state === "output-available" &&
    typeof output === "object" &&
    output !== null &&
    "status" in output &&
    output.status === "paused" &&
    "executionId" in output &&
    typeof output.executionId === "string"
  );
}

/** Which question a parked call asks: given back with the decision, so that no other one is decided by it. */
export interface AskedQuestion {
  /** Of the question and its input. */
  readonly inputHash?: string;
  /** Of executed code that waits: the number of the call. */
  readonly seq?: number;
  /** It was begun before and may have run: the process died in it. */
  readonly mayHaveRun?: true;
}

export function questionIn({ approvalDescriptor }: Pick<ToolPart, "approvalDescriptor">): AskedQuestion {
  if (typeof approvalDescriptor !== "object" || approvalDescriptor === null) return {};
  const { inputHash, seq, mayHaveRun } = approvalDescriptor as Record<string, unknown>;
  return {
    ...(typeof inputHash === "string" && { inputHash }),
    ...(typeof seq === "number" && { seq }),
    ...(mayHaveRun === true && { mayHaveRun })
  };
}
