// Makes a history safe to show a model: every tool call is settled and has an object as its input. A call that was cut
// off becomes an error that says so; a question a person can still answer is only covered up for this prompt, unless a
// new message of the user has overtaken it. Settled calls keep their result and error text. Pure and idempotent.
import { isObject, parseJson } from "../util/json.ts";
import {
  isSettledToolPart,
  isToolPart,
  toolNameOf,
  type SessionMessage,
  type SessionMessagePart,
  type SessionToolPart
} from "./session-message.ts";

export const INTERRUPTED_TEXT =
  "The call was interrupted before a result was recorded. It may or may not have taken effect.";

export interface RepairOptions {
  /** Names of tools the client runs: a call that waits for one is a question, not an orphan. */
  readonly clientTools: ReadonlySet<string>;
  /** A new message of the user started this turn: open questions are over. */
  readonly isUserTurn: boolean;
  /** Calls that are being executed now, by this turn. */
  readonly runningCalls?: ReadonlySet<string>;
  /** What stands for a call that was cut off: a settled call, or any other part. Default: an error that says so. */
  readonly repairPart?: (part: SessionToolPart) => SessionMessagePart;
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
      if (stored["input"] !== part["input"] || !("input" in part)) normalizedInputs += 1;
    }
    const isShownChanged = repairs.some(({ shown: next, part }) => next !== part);
    const isStoredChanged = repairs.some(({ stored, part }) => stored !== part);
    shown.push(isShownChanged ? { ...message, parts: repairs.map((repair) => repair.shown) } : message);
    if (isStoredChanged) changed.push({ ...message, parts: repairs.map((repair) => repair.stored) });
  }
  return { messages: shown, changed, removedToolCalls, normalizedInputs, toolCallIds: [...toolCallIds] };
}

/** A question that somebody outside can still answer. */
export function isPendingInteraction(part: SessionMessagePart, clientTools: ReadonlySet<string>): boolean {
  if (!isToolPart(part)) return false;
  if (part["state"] === "approval-requested") return true;
  return part["state"] === "input-available" && clientTools.has(toolNameOf(part));
}

interface PartRepair {
  readonly part: SessionMessagePart;
  readonly shown: SessionMessagePart;
  readonly stored: SessionMessagePart;
}

function repairPart(part: SessionMessagePart, options: RepairOptions): PartRepair {
  if (!isToolPart(part)) return { part, shown: part, stored: part };
  // About to be executed, with exactly this input.
  if (part["state"] === "approval-responded") return { part, shown: part, stored: part };
  const normalized = withObjectInput(part);
  if (isSettledToolPart(part) || options.runningCalls?.has(part.toolCallId)) {
    return { part, shown: normalized, stored: normalized };
  }
  const repaired = (options.repairPart ?? interrupted)(normalized);
  const isKept = isPendingInteraction(part, options.clientTools) && !options.isUserTurn;
  return { part, shown: repaired, stored: isKept ? part : repaired };
}

/** The default: an error that says so. Parts that are no open call stay as they are. */
export function interruptedPart<Part extends SessionMessagePart>(part: Part): Part {
  // The same part in another state.
  return isToolPart(part) && !isSettledToolPart(part) ? (interrupted(part) as Part & SessionToolPart) : part;
}

function interrupted(part: SessionToolPart): SessionToolPart {
  const { preliminary: _preliminary, output: _unfinished, ...call } = part;
  return { ...call, type: part.type, toolCallId: part.toolCallId, state: "output-error", errorText: INTERRUPTED_TEXT };
}

function isOpen(part: SessionToolPart): boolean {
  return !isSettledToolPart(part);
}

function isOpenPart(part: SessionMessagePart): boolean {
  return isToolPart(part) && isOpen(part);
}

/** Objects stay, JSON text of an object is parsed, anything else is no input: providers refuse other shapes. */
function withObjectInput(part: SessionToolPart): SessionToolPart {
  if (isObject(part["input"])) return part;
  const parsed = typeof part["input"] === "string" ? parseJson(part["input"]) : undefined;
  const input = parsed?.ok && isObject(parsed.value) ? parsed.value : {};
  return { ...part, input };
}
