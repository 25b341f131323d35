// Tells people who do not see the page what changed: an answer when it is complete or has failed, and what happens in
// between. The log itself is silent, since an answer that is read out letter by letter cannot be followed.
import { useEffect, useRef, useState } from "react";
import type { UIMessage } from "ai";
import type { Status } from "../think.ts";
import { messageText } from "../message/message-text.ts";
import { FAILED } from "./turn-error.tsx";
import { isBusy } from "./use-live-answer.ts";

const ANNOUNCED_CHARACTERS = 1_500;

const WORDS: Readonly<Partial<Record<Status, string>>> = {
  queued: "Sent.",
  running: "Answering.",
  parked: "The assistant waits for your decision.",
  recovering: "The answer was interrupted and goes on by itself."
};

interface AnnouncerProps {
  messages: readonly UIMessage[];
  status: Status;
  error: string | undefined;
}

export function Announcer({ messages, status, error }: AnnouncerProps) {
  const [text, setText] = useState("");
  const before = useRef({ status, error });
  useEffect(() => {
    const last = before.current;
    before.current = { status, error };
    if (last.status === status && last.error === error) return;
    if (error !== undefined && !isBusy(status) && status !== "parked") setText(`${FAILED} ${error}`);
    else if (last.status !== status) setText((said) => statusText(messages, status) ?? said);
  }, [messages, status, error]);
  return (
    <p className="think-only-heard" aria-live="polite">
      {text}
    </p>
  );
}

function statusText(messages: readonly UIMessage[], status: Status): string | undefined {
  const answer = status === "settled" ? messages.findLast(({ role }) => role === "assistant") : undefined;
  return answer === undefined ? WORDS[status] : messageText(answer).slice(0, ANNOUNCED_CHARACTERS);
}
