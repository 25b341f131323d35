// A sub-agent as a tool of the AI SDK. The tool holds no state: what runs, and what came of it, is the agent's.
import type { Tool } from "ai";
import { installedSdk } from "../../model/index.ts";
import { currentContext } from "../../agent/context.ts";
import type { SubAgentClass } from "../../agent/tree/sub-agent-stub.ts";
import type { AgentToolDefinition, AgentToolOptions } from "./definition.ts";
import { AGENT_TOOL } from "../../feature/tool-layers.ts";
import { agentToolErrors } from "./errors.ts";
import { agentTools } from "./capability.ts";
import type { AgentToolFailure } from "./run.ts";

/**
 * Makes a tool of a chat agent: each call is one run of a child with its own conversation, tools and storage. Clients see
 * what the child says while it works. A crash starts no child twice: the call goes on with the child that it had.
 *
 * @example
 * getTools() {
 *   return {
 *     research: agentTool(Researcher, {
 *       description: "Research one topic in depth.",
 *       inputSchema: z.object({ query: z.string().min(3) }),
 *       displayName: "Researcher"
 *     })
 *   };
 * }
 */
export function agentTool<Input, Output = string>(
  childClass: SubAgentClass,
  options: AgentToolOptions<Input, Output>
): Tool<Input, Output | AgentToolFailure> {
  const { inputSchema, outputSchema, ...rest } = options;
  const { description } = rest;
  const definition: AgentToolDefinition = {
    childClass,
    options: rest,
    validate: outputSchema ? (output: unknown) => installedSdk().validateInput(outputSchema, output) : undefined
  };
  const tool = {
    description,
    inputSchema,
    execute: async (input: Input, { toolCallId, abortSignal }: { toolCallId: string; abortSignal?: AbortSignal }) => {
      const { agent } = currentContext();
      if (!agent) throw agentToolErrors.AgentToolContextError();
      // The schema of the tool says what it is.
      return (await agentTools.of(agent).runs.callTool(definition, { input, toolCallId, signal: abortSignal })) as
        Output | AgentToolFailure;
    },
    [AGENT_TOOL]: definition
  };
  // The SDK's type is conditional on the output, which is open here; these are its fields for a tool of the server's.
  return tool as object as Tool<Input, Output | AgentToolFailure>;
}
