// Makes a list of messages that lost some of its members whole again for a model: no result without its call, no call
// without a result. Pure and idempotent.
import { isToolPart } from "../model/tool-part.ts";
import { isSettledStoredPart, type SessionMessage, type SessionMessagePart } from "./session-message.ts";

const LOST_RESULT = "[The result of this call is not part of the conversation any more.]";

/**
 * Results whose call is gone are removed, and a message that becomes empty with them; a call without a result gets a
 * message `stub-<callId>` behind it.
 *
 * @example
 * const messages = sanitizeToolPairs(history.slice(-20));
 */
export function sanitizeToolPairs(messages: readonly SessionMessage[]): SessionMessage[] {
  const answered = new Set<string>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (isToolPart(part) && isSettledStoredPart(part)) answered.add(part.toolCallId);
  }
  const called = new Set<string>();
  const whole: SessionMessage[] = [];
  for (const message of messages) {
    const parts = message.parts.filter((part) => isCall(part, called));
    const stubs = parts.flatMap((part) => stubFor(part, answered));
    if (parts.length === message.parts.length) whole.push(message);
    else if (parts.length > 0) whole.push({ ...message, parts });
    whole.push(...stubs);
  }
  return whole;
}

/** False for a result whose call did not come before it. A part that holds its input is the call itself. */
function isCall(part: SessionMessagePart, called: Set<string>): boolean {
  if (!isToolPart(part)) return true;
  const isOwnCall = !isSettledStoredPart(part) || "input" in part || "args" in part;
  if (isOwnCall) called.add(part.toolCallId);
  return called.has(part.toolCallId);
}

function stubFor(part: SessionMessagePart, answered: Set<string>): SessionMessage[] {
  if (!isToolPart(part) || answered.has(part.toolCallId)) return [];
  answered.add(part.toolCallId);
  const result = { ...part, state: "output-available", output: LOST_RESULT };
  return [{ id: `stub-${part.toolCallId}`, role: "assistant", parts: [result] }];
}
