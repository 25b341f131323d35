// What becomes of the tool calls of a stored message that have no result, by the one rule for open calls (`openCall` of the
// journal), and what stands for a call that was cut off: an error that says so, unless the class has something else to
// say. Pure.
import { openCall, type OpenCall } from "../journal/folds/calls-fold.ts";
import type { CallExecutor } from "../journal/records.ts";
import { isToolPart, toolNameOf, type ToolPart } from "../model/tool-part.ts";
import { isSettledStoredPart, type SessionMessagePart } from "./session-message.ts";

export const INTERRUPTED_TEXT =
  "The call was interrupted before a result was recorded. It may or may not have taken effect.";
/** Of a call that did not start: nothing may be said of an effect. */
export const NOT_RUN_TEXT = "The call was interrupted before it started. It was not run and has no effect.";
/** In prompts only. */
export const AWAITS_DECISION_TEXT =
  "This call has not run. It waits for the user's decision, which may come later. Do not repeat the call; go on without its result.";
/** In prompts only. */
export const AWAITS_CLIENT_TEXT =
  "This call has no result yet. It waits for the user's answer, which may come later. Do not repeat the call; go on without its result.";

/** Whether a client runs a tool, for calls that do not say themselves who answers them. */
export type IsClientTool = (toolName: string) => boolean;

/** Undefined: the part is no call, or one with its result. */
export function openCallOf(part: object, isClientTool: IsClientTool = () => false): OpenCall | undefined {
  if (!isPart(part) || !isToolPart(part)) return undefined;
  const isPreliminary = part.state === "output-available" && part.preliminary === true;
  return openCall({
    state: isPreliminary ? "preliminary" : part.state,
    executor: executorOf(part, isClientTool)
  });
}

function executorOf(part: ToolPart, isClientTool: IsClientTool): CallExecutor {
  if (part.clientExecuted === true) return "client";
  if (part.providerExecuted === true) return "provider";
  return part.state === "input-available" && isClientTool(toolNameOf(part)) ? "client" : "server";
}

/** A call that a client or the user still has to answer: it has not run, and no turn ends it. */
export function isPendingInteraction(part: object, isClientTool?: IsClientTool): boolean {
  return openCallOf(part, isClientTool) === "awaited";
}

/** The default: an error that says so. Parts that are no open call stay as they are. */
export function interruptedPart<Part extends object>(part: Part): Part {
  if (!isPart(part) || !isToolPart(part) || isSettledStoredPart(part)) return part;
  // The same part in another state.
  return interrupted(part) as Part & ToolPart;
}

export function interrupted(part: ToolPart): ToolPart {
  if (isPendingInteraction(part)) return withError(part, awaitsText(part));
  const hasStarted = part.state !== "input-streaming" && part.state !== "approval-responded";
  return withError(part, hasStarted ? INTERRUPTED_TEXT : NOT_RUN_TEXT);
}

/**
 * What stands for a call that was cut off: what `repairPart` gives, in which the default says no word of an effect where
 * the call is known not to have started. What a class says of it in its own words stays.
 */
export function cutOffPart<Part extends object, Repaired extends object>(
  part: Part,
  { hasStarted, repairPart }: { readonly hasStarted: boolean; readonly repairPart: (part: Part) => Repaired }
): Repaired {
  const repaired = repairPart(part);
  const isDefault = "errorText" in repaired && repaired.errorText === INTERRUPTED_TEXT;
  return isDefault && !hasStarted ? { ...repaired, errorText: NOT_RUN_TEXT } : repaired;
}

export function awaitsText(part: ToolPart): string {
  return part.state === "approval-requested" ? AWAITS_DECISION_TEXT : AWAITS_CLIENT_TEXT;
}

export function withError(part: ToolPart, errorText: string): ToolPart {
  const { preliminary: _preliminary, output: _unfinished, ...call } = part;
  return { ...call, type: part.type, toolCallId: part.toolCallId, state: "output-error", errorText };
}

function isPart(part: object): part is SessionMessagePart {
  return "type" in part && typeof part.type === "string";
}
