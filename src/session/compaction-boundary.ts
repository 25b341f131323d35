// Where a history may be cut for a summary: never between a tool call and its result when they are in two messages, and
// never over a call that still waits for its result, because the answer to it could not be shown any more. And how a list
// of messages that was cut elsewhere is made whole for a model. Pure.
import { isToolPart, type ToolPart } from "../model/tool-part.ts";
import { isSettledStoredPart, type SessionMessage, type SessionMessagePart } from "./session-message.ts";
import { estimateMessageTokens } from "./tokens.ts";

/** Positions of a call and of the message with its result. */
type Pair = readonly [call: number, result: number];

/** The boundary, or the next one after it that splits no call from its result. A boundary is before the message there. */
export function alignBoundaryForward(messages: readonly SessionMessage[], boundary: number): number {
  const pairs = pairsOf(messages);
  let aligned = boundary;
  for (const split of splitsOf(pairs, () => aligned)) aligned = split[1] + 1;
  return aligned;
}

/** The boundary, or the next one before it that splits no call from its result. */
export function alignBoundaryBackward(messages: readonly SessionMessage[], boundary: number): number {
  const pairs = pairsOf(messages);
  let aligned = boundary;
  for (const split of splitsOf(pairs, () => aligned)) aligned = split[0];
  return aligned;
}

/** Position of the first message from `start` on with a call that has no result yet, or the number of messages. */
export function firstOpenCall(messages: readonly SessionMessage[], start = 0): number {
  const settled = new Set(messages.flatMap(toolParts).filter(isSettledStoredPart).map(callIdOf));
  const isOpen = (part: ToolPart) => !isSettledStoredPart(part) && !settled.has(part.toolCallId);
  for (let index = start; index < messages.length; index += 1) {
    const message = messages[index];
    if (message !== undefined && toolParts(message).some(isOpen)) return index;
  }
  return messages.length;
}

export interface TailOptions {
  /** Messages at the start that are not part of the tail. */
  readonly headEnd: number;
  readonly tailTokenBudget: number;
  readonly minTailMessages: number;
  /** Default: an estimate. */
  readonly countTokens?: (message: SessionMessage, index: number) => number;
}

/** Where the tail starts: the newest messages that fit into the budget, at least one and at least `minTailMessages`. */
export function findTailCutByTokens(messages: readonly SessionMessage[], options: TailOptions): number {
  const {
    headEnd,
    tailTokenBudget,
    minTailMessages,
    countTokens = (message) => estimateMessageTokens(message)
  } = options;
  let cut = messages.length;
  let tokens = 0;
  while (cut > headEnd) {
    const message = messages[cut - 1];
    if (message === undefined) break;
    tokens += countTokens(message, cut - 1);
    if (tokens > tailTokenBudget && cut < messages.length) break;
    cut -= 1;
  }
  const latest = Math.max(headEnd, messages.length - Math.max(1, minTailMessages));
  return alignBoundaryBackward(messages, Math.min(cut, latest));
}

function* splitsOf(pairs: readonly Pair[], boundary: () => number): Generator<Pair> {
  for (;;) {
    const split = pairs.find(([call, result]) => call < boundary() && boundary() <= result);
    if (split === undefined) return;
    yield split;
  }
}

/** Two messages are a pair if the second settles a call the first left open, or follows it with the same call. */
function pairsOf(messages: readonly SessionMessage[]): Pair[] {
  const pairs: Pair[] = [];
  const open = new Map<string, number>();
  messages.forEach((message, index) => {
    const before = messages[index - 1];
    const parts = toolParts(message);
    const earlier = new Set(before === undefined ? [] : toolParts(before).map(callIdOf));
    for (const part of parts) {
      const call = open.get(part.toolCallId);
      if (call !== undefined && call < index) pairs.push([call, index]);
      else if (earlier.has(part.toolCallId)) pairs.push([index - 1, index]);
    }
    for (const part of parts) {
      if (isSettledStoredPart(part)) open.delete(part.toolCallId);
      else if (!open.has(part.toolCallId)) open.set(part.toolCallId, index);
    }
  });
  return pairs;
}

function toolParts(message: SessionMessage): ToolPart[] {
  return message.parts.filter(isToolPart);
}

function callIdOf(part: ToolPart): string {
  return part.toolCallId;
}

const LOST_RESULT = "[The result of this call is not part of the conversation any more.]";

/**
 * Makes a list of messages that lost some of its members whole again for a model: no result without its call, no call
 * without a result. Results whose call is gone are removed, and a message that becomes empty with them; a call without a result gets a
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
