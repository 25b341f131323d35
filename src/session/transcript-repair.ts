// Makes a history safe to show a model: every tool call is settled and has an object as its input. A call that was cut
// off becomes an error that says so, also in storage. A call that waits for a person or a client stays open in storage,
// whatever turn comes: only the prompt says that it waits. Settled calls keep their result and error text. Pure and
// idempotent.
import { assertNever } from "../util/assert-never.ts";
import { sameJson } from "../util/json.ts";
import { awaitsText, interrupted, openCallOf, withError, type IsClientTool } from "./open-calls.ts";
import { isToolPart, toolInputObject, toolNameOf, type ToolPart } from "../model/tool-part.ts";
import { isSettledStoredPart, type SessionMessage, type SessionMessagePart } from "./session-message.ts";

/** In prompts only. */
export const APPROVED_TEXT =
  "The user has allowed this call. It has not run yet. Do not repeat the call; go on without its result.";

export interface RepairOptions {
  readonly isClientTool: IsClientTool;
  /** A new message of the user started this turn. */
  readonly isUserTurn: boolean;
  /** The allowed calls that this turn runs, and where the prompt shows them. */
  readonly running?: RunningCalls;
  /** What stands for a call that was cut off: a settled call, or any other part. Default: an error that says so. */
  readonly repairPart?: (part: ToolPart) => SessionMessagePart;
}

export interface RunningCalls {
  readonly callIds: ReadonlySet<string>;
  /** `elsewhere`: at the end of the prompt. A call must not be in it twice, so a text stands in its own place. */
  readonly shown: "in-place" | "elsewhere";
}

export interface RepairResult {
  /** For the model. Unchanged messages are the same objects. */
  readonly messages: SessionMessage[];
  /** The messages to store: those whose change outlives this prompt. */
  readonly changed: readonly SessionMessage[];
  /** Payload of `chat:transcript:repaired`, about stored changes. */
  readonly removedToolCalls: number;
  readonly normalizedInputs: number;
  readonly toolCallIds: readonly string[];
}

export function repairTranscript(messages: readonly SessionMessage[], options: RepairOptions): RepairResult {
  const shown: SessionMessage[] = [];
  const changed: SessionMessage[] = [];
  const toolCallIds = new Set<string>();
  let removedToolCalls = 0;
  let normalizedInputs = 0;
  for (const message of messages) {
    if (!message.parts.some(isToolPart)) {
      shown.push(message);
      continue;
    }
    const repairs = message.parts.map((part) => repairPart(part, options));
    for (const { stored, part } of repairs) {
      if (stored === part || !isToolPart(part)) continue;
      toolCallIds.add(part.toolCallId);
      if (isOpen(part) && !isOpenPart(stored)) removedToolCalls += 1;
      if (stored["input"] !== part.input || !("input" in part)) normalizedInputs += 1;
    }
    const isShownChanged = repairs.some(({ shown: next, part }) => next !== part);
    const isStoredChanged = repairs.some(({ stored, part }) => stored !== part);
    shown.push(isShownChanged ? { ...message, parts: repairs.map((repair) => repair.shown) } : message);
    if (isStoredChanged) changed.push({ ...message, parts: repairs.map((repair) => repair.stored) });
  }
  return { messages: shown, changed, removedToolCalls, normalizedInputs, toolCallIds: [...toolCallIds] };
}

interface PartRepair {
  readonly part: SessionMessagePart;
  readonly shown: SessionMessagePart;
  readonly stored: SessionMessagePart;
}

function repairPart(part: SessionMessagePart, options: RepairOptions): PartRepair {
  if (!isToolPart(part)) return { part, shown: part, stored: part };
  const open = openCallOf(part, options.isClientTool);
  switch (open) {
    case "awaited":
      return pendingPart(part, options);
    case "allowed":
      return { part, shown: approvedPart(part, options), stored: part };
    case undefined:
    case "provided":
    case "cut-off": {
      const normalized = withObjectInput(part);
      // Messages of other programs may hold a result in any state.
      const settled = isSettledStoredPart(part) ? normalized : (options.repairPart ?? interrupted)(normalized);
      return { part, shown: settled, stored: settled };
    }
    default:
      return assertNever(open);
  }
}

/**
 * Stays open. What a class has in place of a client's call is stored when the user has said something new instead of
 * answering it; in place of an approval it is only shown.
 */
function pendingPart(part: ToolPart, options: RepairOptions): PartRepair {
  const normalized = withObjectInput(part);
  const repaired = options.repairPart?.(normalized);
  const isDefault = repaired === undefined || isOpenPart(repaired) || sameJson(repaired, interrupted(normalized));
  if (isDefault) {
    return { part, shown: withError(normalized, awaitsText(part)), stored: part };
  }
  const isReplaced = options.isUserTurn && part.state !== "approval-requested";
  return { part, shown: repaired, stored: isReplaced ? repaired : part };
}

function approvedPart(part: ToolPart, { running }: RepairOptions): SessionMessagePart {
  if (!running?.callIds.has(part.toolCallId)) return withError(withObjectInput(part), APPROVED_TEXT);
  if (running.shown === "in-place") return part;
  return { type: "text", text: `[Here "${toolNameOf(part)}" was called. The user has decided about it only now.]` };
}

function isOpen(part: ToolPart): boolean {
  return !isSettledStoredPart(part);
}

function isOpenPart(part: SessionMessagePart): boolean {
  return isToolPart(part) && isOpen(part);
}

function withObjectInput(part: ToolPart): ToolPart {
  const input = toolInputObject(part.input);
  return input === part.input ? part : { ...part, input };
}
