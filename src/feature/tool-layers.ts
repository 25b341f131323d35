// One tool set out of several named ones. Later layers win; a name keeps the place it first had, so that the order the
// provider sees does not depend on who overrides whom. Who lost is reported, not decided on: warnings are the caller's.
// Pure.
import type { Tool, ToolSet } from "ai";

/** Under which a tool holds what makes it a whole agent. Registered, so that two copies of the package agree on it. */
export const AGENT_TOOL: unique symbol = Symbol.for("everthink.agent-tool") as typeof AGENT_TOOL;

/** Where a turn's tools come from, in order of precedence: a later layer overrides an earlier one; `extensions` none. */
export const TOOL_LAYERS = [
  "workspace",
  "tools",
  "actions",
  "extensions",
  "context",
  "skills",
  "mcp",
  "client",
  "turn"
] as const;

export type ToolLayerName = (typeof TOOL_LAYERS)[number];

/** Layers whose tools a turn may have without offering them at once. */
export const DEFERRABLE_LAYERS: ReadonlySet<ToolLayerName> = new Set(["tools", "actions", "extensions", "mcp"]);

export interface ToolLayer {
  readonly name: ToolLayerName;
  readonly tools: ToolSet;
}

export interface ToolCollision {
  readonly toolName: string;
  readonly winner: ToolLayerName;
  readonly loser: ToolLayerName;
}

export interface MergedTools {
  readonly tools: ToolSet;
  readonly layerOf: ReadonlyMap<string, ToolLayerName>;
  readonly collisions: readonly ToolCollision[];
}

export interface MergeOptions {
  /** False: a client's tool gives way to the server's of the same name. An action is never replaced by a client's tool. */
  readonly clientOverrides: boolean;
}

/** Layers in any order; they are merged in theirs. */
export function mergeToolLayers(layers: readonly ToolLayer[], options: MergeOptions): MergedTools {
  const tools = new Map<string, Tool>();
  const layerOf = new Map<string, ToolLayerName>();
  const collisions: ToolCollision[] = [];
  for (const layer of layers.toSorted((a, b) => rank(a) - rank(b))) {
    for (const [toolName, tool] of Object.entries(layer.tools)) {
      // `{ search: isAllowed ? search : undefined }` is how a class leaves a tool out.
      if (tool === undefined) continue;
      const earlier = layerOf.get(toolName);
      const isReplaceable = earlier === "client" || (options.clientOverrides && earlier !== "actions");
      // An extension that was loaded at run time, perhaps by the model, never stands in for a tool of the class.
      const isGuest = layer.name === "extensions" || (layer.name === "client" && !isReplaceable);
      const gives = earlier !== undefined && isGuest;
      if (earlier !== undefined) {
        collisions.push({ toolName, winner: gives ? earlier : layer.name, loser: gives ? layer.name : earlier });
      }
      if (gives) continue;
      tools.set(toolName, tool);
      layerOf.set(toolName, layer.name);
    }
  }
  return { tools: Object.fromEntries(tools), layerOf, collisions };
}

function rank(layer: ToolLayer): number {
  return TOOL_LAYERS.indexOf(layer.name);
}
