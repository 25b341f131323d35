// Tells people who do not see the page what changed: an answer when it is complete, and what happens in between. The
// log itself is silent, since an answer that is read out letter by letter cannot be followed.
import { useEffect, useRef, useState } from "react";
import type { UIMessage } from "ai";
import type { Status } from "everthink/client";
import { messageText } from "./message-text.ts";

const ANNOUNCED_CHARACTERS = 1_500;

const WORDS: Readonly<Partial<Record<Status, string>>> = {
  queued: "Sent.",
  running: "Answering.",
  parked: "The assistant waits for your decision.",
  recovering: "The answer was interrupted and goes on by itself."
};

export function Announcer({ messages, status }: { messages: readonly UIMessage[]; status: Status }) {
  const [text, setText] = useState("");
  const before = useRef(status);
  useEffect(() => {
    if (before.current === status) return;
    before.current = status;
    const answer = status === "settled" ? messages.findLast(({ role }) => role === "assistant") : undefined;
    const news = answer === undefined ? WORDS[status] : messageText(answer).slice(0, ANNOUNCED_CHARACTERS);
    if (news !== undefined) setText(news);
  }, [messages, status]);
  return (
    <p className="only-heard" aria-live="polite">
      {text}
    </p>
  );
}
