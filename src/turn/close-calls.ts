// What the calls of a turn become when the turn is over. Those that wait for a person or a client stay open. Every other
// one was cut off, and is settled as that: a stored answer holds no open call of the server's, so no client can answer
// one, and no later turn runs it. Pure.
import type { UIMessage } from "ai";
import { asMessagePart, isSettledToolPart, isToolPart, type ToolPart } from "../model/index.ts";
import type { SessionMessagePart } from "../session/session-message.ts";
import { asNotRun, isPendingInteraction } from "../session/transcript-repair.ts";

type MessagePart = UIMessage["parts"][number];

export interface ClosingCalls {
  /** Allowed calls that the turn was to run. Others belong to a continuation that is still to come. */
  readonly runs: ReadonlySet<string>;
  /** Calls whose execution had begun. */
  readonly started: ReadonlySet<string>;
  /** What stands for a call that was cut off. */
  readonly repairPart: (part: MessagePart) => MessagePart;
}

/** The same object if no call was cut off. */
export function closeCalls(message: UIMessage, closing: ClosingCalls): UIMessage {
  if (!message.parts.some((part) => isToolPart(part) && isCutOff(part, closing))) return message;
  return {
    ...message,
    parts: message.parts.map((part) => (isToolPart(part) && isCutOff(part, closing) ? closed(part, closing) : part))
  };
}

function isCutOff(part: ToolPart, { runs }: ClosingCalls): boolean {
  // What a provider runs it may still finish in a later answer.
  if (isSettledToolPart(part) || part.providerExecuted === true || isPendingInteraction(part)) return false;
  return part.state !== "approval-responded" || runs.has(part.toolCallId);
}

function closed(part: ToolPart, { started, repairPart }: ClosingCalls): MessagePart {
  const hasStarted = started.has(part.toolCallId);
  const isAllowed = part.state === "approval-responded";
  // By its state, an allowed call has not started.
  const open: ToolPart = hasStarted && isAllowed ? { ...part, state: "input-available" } : part;
  const repaired = repairPart(asMessagePart(open));
  // Stored messages hold the same JSON.
  return hasStarted ? repaired : asNotRun(repaired as MessagePart & SessionMessagePart);
}
