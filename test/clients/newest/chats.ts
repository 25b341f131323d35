// Pages with a chat, as their hooks: the published one, and the AI SDK's own with nothing else.
import { Chat, useChat } from "@ai-sdk/react";
import { useAgentChat } from "@cloudflare/ai-chat/react";
import { useAgent } from "agents/react";
import type { UIMessage } from "ai";
import { useLostStream } from "./connect/lost-stream.ts";

export function usePublishedChat({ host, agent, name }: { host: string; agent: string; name: string }) {
  return useAgentChat({ agent: useAgent({ host, agent, name }) });
}

export { Chat };

export function usePlainChat(chat: Chat<UIMessage>) {
  const page = useChat({ chat, resume: true });
  useLostStream(page);
  return page;
}
