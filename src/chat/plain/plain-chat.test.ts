// What is remembered of readers, with an engine whose one turn is over.
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { TurnEngine } from "../../turn/engine.ts";
import type { Submit } from "../submit.ts";
import { PlainChat } from "./plain-chat.ts";

const ANSWER: UIMessage = { id: "a1", role: "assistant", parts: [{ type: "text", text: "words" }] };

const turns: Partial<TurnEngine> = {
  listen: () => () => undefined,
  streaming: () => undefined,
  waiting: () => undefined,
  failed: () => null,
  lastEnded: () => ({ requestId: "r1", messageId: "a1" }) as ReturnType<TurnEngine["lastEnded"]>,
  transcript: () => [ANSWER]
};

test("an answer is not delivered to a client that is lost while it is replayed, and may be fetched again", () => {
  const chat = new PlainChat({ turns: turns as TurnEngine, submit: {} as Submit, newId: () => "new" });
  const resume = (takes: number) => {
    let taken = 0;
    const sink = { chunk: () => (taken += 1) <= takes, end: () => undefined, fail: () => undefined };
    return chat.resume(chat.reader({ sink }));
  };
  expect(resume(2)).toBe(true);
  expect(resume(Infinity)).toBe(true);
  expect(resume(Infinity)).toBe(false);
});
