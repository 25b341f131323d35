import { toAISDKAgent } from "everthink/ai-sdk";
import { tool, WebSocketChatTransport, type UIMessage, type WebSocketChatTransportInitOptions } from "ai";
import { z } from "zod";

export function remoteAssistant(address: WebSocketChatTransportInitOptions<UIMessage>) {
  const clock = tool({ description: "Local time.", inputSchema: z.object({}), execute: () => new Date().toString() });
  return toAISDKAgent({ transport: new WebSocketChatTransport(address), tools: { clock } });
}
