// What a client's answer makes of the message that holds the call. Approvals answer calls that were asked about, and
// results answer calls that only a client can run; whatever else is sent is refused and changes nothing. States only
// move forward: a client's call that is settled is left alone. Pure.
import type { UIMessage } from "ai";
import { asMessagePart, isApprovedToolPart, isSettledToolPart, isToolPart, type ToolPart } from "../model/index.ts";
import { openCallOf } from "../session/open-calls.ts";
import type { AnswerRefusal } from "./errors.ts";

export const DEFAULT_ERROR_TEXT = "Tool execution denied by user";

export interface ToolResult {
  readonly toolCallId: string;
  readonly output: unknown;
  readonly errorText?: string;
}

/** The message with the answer in it. Undefined: the message does not hold the call, or it was answered before. */
export type Answered = UIMessage | { readonly refused: AnswerRefusal } | undefined;

/** `isClients`: whether only a client can run this call. */
export function withToolResult(
  message: UIMessage,
  result: ToolResult,
  isClients: (part: ToolPart) => boolean
): Answered {
  return withPart(message, result.toolCallId, (part) => {
    if (part.state === "approval-requested") {
      return result.errorText === undefined ? "needs-approval" : settled(part, result);
    }
    if (!isClients(part)) return "runs-on-server";
    if (isSettledToolPart(part)) return undefined;
    return part.state === "input-streaming" ? "incomplete" : settled(part, result);
  });
}

interface CallDecision {
  readonly approved: boolean;
  readonly reason?: string;
  /** What the call runs with in place of the input that was asked about. */
  readonly input?: unknown;
  /** That input before its schema changed it, where it did. */
  readonly givenInput?: unknown;
}

export function withApproval(
  message: UIMessage,
  toolCallId: string,
  { input, givenInput, ...decision }: CallDecision
): Answered {
  return withPart(message, toolCallId, (part) => {
    if (part.state !== "approval-requested") return "not-open";
    const approval = { id: toolCallId, ...part.approval, ...decision };
    const state = decision.approved ? "approval-responded" : "output-denied";
    const answered: ToolPart = { ...part, state, approval };
    return input === undefined ? answered : withChangedInput(answered, { input, givenInput });
  });
}

/** An approved call that runs with another input. ai 7 compares it with what the schema makes of `inputSchemaInput`. */
export function withChangedInput(
  part: ToolPart,
  { input, givenInput }: Pick<CallDecision, "input" | "givenInput">
): ToolPart {
  const { inputSchemaInput: _asked, ...approval } = part.approval ?? { id: part.toolCallId };
  const given = givenInput !== undefined && { inputSchemaInput: givenInput };
  return { ...part, input, askedInput: part.askedInput ?? part.input ?? null, approval: { ...approval, ...given } };
}

/** Some calls of the message are answered and some still wait: going on now would ignore the rest. */
export function isHalfAnswered(message: UIMessage): boolean {
  const parts = message.parts.flatMap((part) => (isToolPart(part) ? [part] : []));
  // Stored calls that no turn of ours wrote do not say who answers them. What a provider runs, no client answers.
  const isCalled = (part: ToolPart) => part.state === "input-available" && openCallOf(part) === "cut-off";
  const isWaiting = (part: ToolPart) => isCalled(part) || openCallOf(part) === "awaited";
  const isAnswered = (part: ToolPart) => isSettledToolPart(part) || part.state === "approval-responded";
  return parts.some(isAnswered) && parts.some(isWaiting);
}

/** Calls that were allowed and that the server has still to run. */
export function approvedCalls(message: UIMessage | undefined): ToolPart[] {
  return (message?.parts ?? []).flatMap((part) => (isToolPart(part) && isApproved(part) ? [part] : []));
}

function isApproved(part: ToolPart): boolean {
  return openCallOf(part) === "allowed" && isApprovedToolPart(part);
}

function settled(part: ToolPart, { output, errorText }: ToolResult): ToolPart {
  if (errorText !== undefined) return { ...part, state: "output-error", errorText };
  return { ...part, state: "output-available", output, preliminary: false };
}

function withPart(
  message: UIMessage,
  toolCallId: string,
  change: (part: ToolPart) => ToolPart | AnswerRefusal | undefined
): Answered {
  const index = message.parts.findIndex((part) => isToolPart(part) && part.toolCallId === toolCallId);
  const part = message.parts[index];
  const changed = part && isToolPart(part) ? change(part) : undefined;
  if (changed === undefined) return undefined;
  if (typeof changed === "string") return { refused: changed };
  return { ...message, parts: message.parts.with(index, asMessagePart(changed)) };
}
