// A page that has the AI SDK alone, as its hook.
import { Chat, useChat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useLostStream } from "./connect/lost-stream.ts";

export { Chat };

export function usePlainChat(chat: Chat<UIMessage>) {
  const page = useChat({ chat, resume: true });
  useLostStream(page);
  return page;
}
