// Extensions as a feature of a class with `extensionLoader`: their tools in every turn, their hooks after the class's own.
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { ExtensionRuntime } from "./extension-runtime.ts";

export function openExtensions(services: ChatServices): Feature {
  let runtime: ExtensionRuntime | undefined;
  return {
    name: "extensions",
    start: async () => {
      runtime = new ExtensionRuntime(services);
      await runtime.start();
    },
    ready: () => runtime?.ready(),
    inTurn: (turn) => runtime?.inTurn(turn),
    calls: { runsTool: (toolName) => runtime?.runsTool(toolName) ?? false },
    roles: {
      observer: {
        beforeToolCall: async (turn, call) => runtime?.beforeToolCall(turn, call),
        afterToolCall: async (turn, call) => runtime?.afterToolCall(turn, call),
        onStepFinish: async (turn, event) => runtime?.onStepFinish(turn, event),
        onChunk: (turn, event) => runtime?.onChunk(turn, event)
      }
    },
    settled: ({ turnId }) => runtime?.turnEnded(turnId)
  };
}
