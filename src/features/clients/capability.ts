// Clients that have the AI SDK or an OpenAI client alone, as a capability.
import type { ToolLoopAgent, ToolSet } from "ai";
import { servicesOf } from "../../feature/services.ts";
import { inProcessTransport } from "./plain/in-process.ts";
import { toAISDKAgent, type AISDKAgentOptions } from "./ai-sdk/index.ts";
import { chatCapability } from "../../feature/capability.ts";
import { openPlainClients } from "./feature.ts";

export class PlainChatMembers {
  /**
   * Whether pages and programs that have the AI SDK alone may chat, over HTTP and WebSockets below `…/chat`. Left alone it
   * is on; over HTTP only for a class without an `onConnect` of its own, which no such request passes.
   * @example
   * plainChat = false;
   */
  plainChat: boolean | undefined = undefined;

  /**
   * Whether clients of the OpenAI API may chat, below `…/v1`: `chat/completions`, `responses` and `models`. Requests are
   * let in by the route's `onBeforeRequest`, which must check the API key: no `onConnect` is asked.
   * @example
   * openAIEndpoint = true; // onBeforeRequest of the route checks the API key
   */
  openAIEndpoint = false;

  /**
   * Gives this agent to code that takes an agent of the AI SDK, as `createAgentUIStreamResponse` does. Outside of the agent,
   * `toAISDKAgent` of `everthink/ai-sdk` does the same over a transport.
   *
   * @example
   * const { text } = await this.toAISDKAgent().generate({ prompt: "Hello" });
   */
  toAISDKAgent<TOOLS extends ToolSet = {}>(
    options: Omit<AISDKAgentOptions<TOOLS>, "transport"> = {}
  ): ToolLoopAgent<never, TOOLS> {
    const transport = inProcessTransport(() => {
      servicesOf(this).assertCallerMayChange();
      return plainClients.of(this).chatForCode();
    });
    return toAISDKAgent({ ...options, transport });
  }
}

export const plainClients = chatCapability({
  name: "plain-clients",
  members: PlainChatMembers,
  feature: openPlainClients
});
