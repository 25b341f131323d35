// The simulated messenger as a person sees it: both sides of the chat in one list, and whether the bot is writing.
import { useEffect, useMemo, useState } from "react";
import type { UseThinkResult } from "everthink/react";
import type { Assistant } from "../../agents/assistant/agent.ts";
import type { MessengerChat } from "../../shared/demo.ts";

/** As long as Telegram shows it after the bot said so. */
const TYPING_MS = 5_000;

export interface ChatMessage {
  readonly id: number;
  readonly text: string;
  /** Undefined: the bot. */
  readonly name?: string;
  /** The bot's cards are plain lines; everything else it says is Markdown. */
  readonly isCard: boolean;
  readonly buttons: readonly string[];
}

export interface Messenger {
  readonly messages: readonly ChatMessage[];
  readonly isTyping: boolean;
  /** Why the last thing that was done did not work. */
  readonly problem: string | undefined;
  /** False when it was refused. */
  say(text: string): Promise<boolean>;
  press(messageId: number, label: string): void;
}

type Agent = Pick<UseThinkResult<typeof Assistant>, "call" | "state">;

export function useMessenger({ call, state }: Agent): Messenger {
  const chat = state?.messenger;
  const messages = useMemo(() => messagesOf(chat), [chat]);
  const isTyping = useTyping(chat?.typingAt);
  const [problem, setProblem] = useState<string>();
  const attempt = async (work: Promise<unknown>): Promise<boolean> => {
    setProblem(undefined);
    try {
      await work;
      return true;
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      return false;
    }
  };
  return {
    messages,
    isTyping,
    problem,
    say: (text) => attempt(call("sayInMessenger", [text])),
    press: (messageId, label) => void attempt(call("pressInMessenger", [messageId, label]))
  };
}

/** In the order in which they were sent: both sides share one row of numbers. */
function messagesOf(chat: MessengerChat | undefined): ChatMessage[] {
  const { said = [], messages = [] } = chat?.chats ?? {};
  return [
    ...said.map(({ id, text, name }) => ({ id, text, name, isCard: false, buttons: [] })),
    ...messages.map(({ id, text, parseMode, buttons }) => ({ id, text, isCard: parseMode !== undefined, buttons }))
  ].sort((one, other) => one.id - other.id);
}

function useTyping(typingAt: number | undefined): boolean {
  const [over, setOver] = useState<number>();
  useEffect(() => {
    if (typingAt === undefined) return;
    const timer = setTimeout(() => setOver(typingAt), Math.max(0, typingAt + TYPING_MS - Date.now()));
    return () => clearTimeout(timer);
  }, [typingAt]);
  return typingAt !== undefined && typingAt !== over;
}
