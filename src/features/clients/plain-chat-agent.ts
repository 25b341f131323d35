// What a class says about plain AI SDK clients.
import type { ToolLoopAgent, ToolSet } from "ai";
import { assertCallerMayChange } from "../../agent/connections/readonly.ts";
import { inProcessTransport } from "../../wire/index.ts";
import { toAISDKAgent, type AISDKAgentOptions } from "./ai-sdk/index.ts";
import { McpTurnAgent } from "../mcp/mcp-turn-agent.ts";
import { plainChatOf } from "./plain-chat.ts";

export abstract class PlainChatAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends McpTurnAgent<Env, State, Props> {
  /**
   * Whether pages and programs that have the AI SDK alone may chat, over HTTP and WebSockets below `…/chat`. Left alone it
   * is on; over HTTP only for a class without an `onConnect` of its own, which no such request passes.
   */
  plainChat: boolean | undefined = undefined;

  /**
   * Whether clients of the OpenAI API may chat, below `…/v1`: `chat/completions`, `responses` and `models`. Requests are
   * let in by the route's `onBeforeRequest`, which also sees the API key; no `onConnect` is asked.
   */
  openAIEndpoint = false;

  /**
   * Whether each answer carries what it took as `metadata.usage`, for every client and in storage: `inputTokens`,
   * `outputTokens`, `totalTokens`, `reasoningTokens`, `cachedInputTokens`, as far as the provider reports them.
   */
  sendUsage = false;

  /**
   * This agent for code that takes an agent of the AI SDK, as `createAgentUIStreamResponse` does. Outside of the agent,
   * `toAISDKAgent` of `everthink/ai-sdk` does the same over a transport.
   *
   * @example
   * const { text } = await this.toAISDKAgent().generate({ prompt: "Hello" });
   */
  toAISDKAgent<TOOLS extends ToolSet = {}>(
    options: Omit<AISDKAgentOptions<TOOLS>, "transport"> = {}
  ): ToolLoopAgent<never, TOOLS> {
    const transport = inProcessTransport(() => {
      assertCallerMayChange(this);
      return plainChatOf(this);
    });
    return toAISDKAgent({ ...options, transport });
  }
}
