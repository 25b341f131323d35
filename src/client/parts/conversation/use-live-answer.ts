// Which answer is being written. Messages that do not change stay the same objects, so what was there when nothing ran
// is not being written now, and a message that changed since is. Messages behind it wait for their turn.
import { useEffect, useRef } from "react";
import type { UIMessage } from "ai";
import type { Status } from "../think.ts";

export interface LiveAnswer {
  readonly messageId: string | undefined;
  /** Questions that are answered after the one that is being answered. */
  readonly waiting: ReadonlySet<string>;
}

export function isBusy(status: Status): boolean {
  return status === "queued" || status === "running" || status === "recovering";
}

export function useLiveAnswer(messages: readonly UIMessage[], status: Status): LiveAnswer {
  const settled = useRef(new WeakSet<UIMessage>());
  const busy = isBusy(status);
  useEffect(() => {
    if (!busy) for (const message of messages) settled.current.add(message);
  }, [messages, busy]);
  if (!busy) return { messageId: undefined, waiting: new Set() };
  const last = messages.findLast(({ role }) => role === "assistant");
  const live = last !== undefined && !settled.current.has(last) ? last : undefined;
  return { messageId: live?.id, waiting: waitingQuestions(messages, live) };
}

function waitingQuestions(messages: readonly UIMessage[], live: UIMessage | undefined): ReadonlySet<string> {
  const answered = messages.findLastIndex(({ role }) => role === "assistant");
  const questions = messages.slice(answered + 1).filter(({ role }) => role === "user");
  // Without an answer of its own yet, the first of them is the one being answered.
  const waiting = live === undefined ? questions.slice(1) : questions;
  return new Set(waiting.map(({ id }) => id));
}
