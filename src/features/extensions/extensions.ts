// Extensions as a feature of a class with `extensionLoader`: their tools in every turn, their hooks after the class's own.
// A class without them pays nothing per turn.
import type { UIMessage } from "ai";
import type { ExtensionStorage } from "./manager.ts";
import type { Session } from "../../session/session.ts";
import type { AddMessagesOptions } from "../../think/runtime.ts";
import { ExtensionRuntime } from "./extension-runtime.ts";
import type { Feature, FeatureFactory } from "../../feature/feature.ts";
import type { Features } from "../../feature/features.ts";
import type { OnStartDegradation, OptionalHook, ThinkOverrides } from "../../think/overrides.ts";

/** What extensions use of the inside of a Think. */
export interface ExtensionOwner {
  readonly overrides: ThinkOverrides;
  readonly session: Session;
  readonly features: Features;
  addMessages(messages: UIMessage[], options: AddMessagesOptions): Promise<void>;
  degrade(step: OnStartDegradation["step"], error: unknown): void;
}

interface OwnerInit {
  readonly isOverridden: (hook: OptionalHook) => boolean;
  readonly storage: ExtensionStorage;
}

/** None for a class without `extensionLoader`. */
export function extensionsOf(owner: ExtensionOwner, { isOverridden, storage }: OwnerInit): FeatureFactory[] {
  const { extensionLoader: loader, extensionManager } = owner.overrides;
  if (loader === undefined && extensionManager === undefined) {
    if (isOverridden("getExtensions"))
      console.warn("getExtensions() is not asked: extensionLoader is not set to the worker_loaders binding.");
    return [];
  }
  return [
    (host): Feature => {
      let runtime: ExtensionRuntime | undefined;
      return {
        name: "extensions",
        start: async () => {
          runtime = new ExtensionRuntime({ owner, host, storage, loader });
          await runtime.start();
        },
        ready: () => runtime?.ready(),
        inTurn: (turn) => runtime?.inTurn(turn),
        runsTool: (toolName) => runtime?.runsTool(toolName) ?? false,
        observer: {
          beforeToolCall: async (turn, call) => runtime?.beforeToolCall(turn, call),
          afterToolCall: async (turn, call) => runtime?.afterToolCall(turn, call),
          onStepFinish: async (turn, event) => runtime?.onStepFinish(turn, event),
          onChunk: (turn, event) => runtime?.onChunk(turn, event)
        },
        settled: ({ turnId }) => runtime?.turnEnded(turnId)
      };
    }
  ];
}
