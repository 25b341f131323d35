// How a feature brings tools into every turn without this room knowing the feature.
import type { ToolSet } from "ai";
import type { TruncateOptions } from "../model/index.ts";
import type { TurnContext } from "../turn/turn.ts";
import { canonicalJson } from "../util/json.ts";
import type { ToolLayerName } from "./tool-layers.ts";

export interface ToolSource {
  /** Which layer its tools join. The class's own, the client's and the turn's are not a feature's to give. */
  readonly layer: Exclude<ToolLayerName, "tools" | "client" | "turn">;
  /** Called once per attempt. A throw fails the turn. */
  tools(turn: TurnContext): ToolSet | Promise<ToolSet>;
  /** Waits until its tools are known, at most this long; `waitForMcpConnections` asks the layer "mcp" to. */
  ready?(timeoutMs: number): Promise<void>;
  /** Outputs of its tools that the model must still read in full when they are old; see TruncateOptions. */
  readonly keepOutput?: TruncateOptions["keepOutput"];
}

/** The outputs that stay whole however old they are: those of tools the class names, and those of features. */
export function keptOutputs(
  wholeOutputs: readonly string[],
  sources: readonly ToolSource[]
): NonNullable<TruncateOptions["keepOutput"]> {
  return (call) => {
    if (wholeOutputs.includes(call.toolName)) return `${call.toolName} ${canonicalJson(call.input)}`;
    for (const source of sources) {
      const key = source.keepOutput?.(call);
      if (key !== undefined) return key;
    }
    return undefined;
  };
}
