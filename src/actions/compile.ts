// Descriptors as tools of one attempt of a turn. A tool asks a human through the SDK only if its kind says so; a
// durable pause never does, it answers with an output instead.
import type { ModelMessage, Tool, ToolSet } from "ai";
import type { ActionApprovalDescriptor, ActionTurn } from "../think/actions-port.ts";
import type { AnyAction } from "./descriptor.ts";
import { approvalFor, runAction, type IncomingCall, type RunPorts } from "./run.ts";

export interface CompiledTools {
  readonly tools: ToolSet;
  readonly descriptors: ReadonlyMap<string, ActionApprovalDescriptor>;
}

/** What both majors tell a tool about its call. */
interface CallOptions {
  readonly toolCallId: string;
  readonly messages: ModelMessage[];
  readonly abortSignal?: AbortSignal | undefined;
}

export function compileActions(
  ports: RunPorts,
  turn: ActionTurn,
  actions: ReadonlyMap<string, AnyAction>
): CompiledTools {
  const descriptors = new Map<string, ActionApprovalDescriptor>();
  const tools: Record<string, Tool> = {};
  for (const [name, action] of actions) {
    const incoming = (input: unknown, options: CallOptions): IncomingCall => ({
      name,
      action,
      input,
      toolCallId: options.toolCallId,
      messages: options.messages,
      signal: options.abortSignal ?? turn.signal,
      turn,
      onParked: (descriptor) => void descriptors.set(options.toolCallId, descriptor)
    });
    const isGated = action.kind === "approval-gated";
    const tool: Tool<unknown, unknown> = {
      description: action.config.description,
      inputSchema: action.config.inputSchema,
      execute: (input: unknown, options: CallOptions) => runAction(ports, incoming(input, options)),
      ...(isGated && {
        needsApproval: async (input: unknown, options: CallOptions) => {
          const answer = await approvalFor(ports, incoming(input, options));
          if (answer.needed && answer.descriptor) descriptors.set(options.toolCallId, answer.descriptor);
          return answer.needed;
        }
      })
    };
    tools[name] = tool;
  }
  return { tools, descriptors };
}
