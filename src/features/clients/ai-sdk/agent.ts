// A durable agent as an agent of the AI SDK. The SDK's own `ToolLoopAgent` does what an agent does, so that all of its
// results are there; its model is the durable agent, which answers with what it has stored.
import { ToolLoopAgent, type ChatTransport, type ToolLoopAgentSettings, type ToolSet, type UIMessage } from "ai";
import { AgentModel } from "./model.ts";

export interface AISDKAgentOptions<TOOLS extends ToolSet = ToolSet> {
  /** The transport to the agent, as for `useChat`: `new WebSocketChatTransport({ url: "…/agents/assistant/ada/chat" })`. */
  transport: Pick<ChatTransport<UIMessage>, "sendMessages">;
  id?: string;
  /** Tools that run here. The durable agent may call them beside its own. */
  tools?: TOOLS;
}

/**
 * Makes an agent for everything that takes one of the AI SDK: a terminal, `createAgentUIStreamResponse`, an agent's
 * subagent. The conversation is the stored one: of the prompt only the last question, or the answers to calls, is read.
 *
 * @example
 * const transport = new WebSocketChatTransport({ url: "https://example.com/agents/assistant/ada/chat" });
 * const { text } = await toAISDKAgent({ transport }).generate({ prompt: "Hello" });
 */
export function toAISDKAgent<TOOLS extends ToolSet = {}>(
  options: AISDKAgentOptions<TOOLS>
): ToolLoopAgent<never, TOOLS> {
  const { transport, id, tools } = options;
  const settings = {
    model: new AgentModel(transport),
    // A question that failed is not asked again by itself: the durable agent has its own retries.
    maxRetries: 0,
    id,
    tools
  };
  // The SDK derives further settings from the tools' types, which are not known here.
  return new ToolLoopAgent<never, TOOLS>(settings as unknown as ToolLoopAgentSettings<never, TOOLS>);
}
