// Which tools of a turn are deferred: what the class says, and where it says nothing, what together would take too much of
// the context window. Pure.
import type { ToolGroup } from "../../feature/tool-discovery.ts";

/** A tool that may be deferred. */
export interface DeferrableTool {
  /** As the model calls it. */
  readonly name: string;
  readonly description: string;
  /** Where it comes from: `kind` is "server", "extension", "actions" or "tools" (those of `getTools()`). */
  readonly group: ToolGroup;
}

export interface ToolDiscoveryOptions {
  /** Which tools are described only once they were found. Default: all that can be. */
  defer?: (tool: DeferrableTool) => boolean;
  /** Tools that are always described: their names, or names of servers and extensions. */
  keep?: readonly string[];
  /** Found tools that are described at once; those that were not used for longest leave. Default 32. */
  maxActive?: number;
}

/**
 * `"auto"`: above 60 tools, or above 10 % of the context window, tools of MCP servers and extensions are deferred, and the
 * class's own too if they are above it alone. `true`: all that can be, always. `false`: none.
 */
export type ToolDiscovery = boolean | "auto" | ToolDiscoveryOptions;

export const DEFAULT_MAX_ACTIVE = 32;
/** Above it, tools are deferred. */
export const MANY_TOOLS = 60;
/** Up to so many, their size is not looked at. */
export const FEW_TOOLS = 8;
/** Of the context window: tools that take more are deferred. */
export const WINDOW_SHARE = 0.1;
/** What finds deferred tools takes some 500 tokens itself: fewer than these in all are described, whatever their share. */
export const FEW_TOKENS = 2_000;
/** Of a model whose context window the class has not named. */
export const DEFAULT_WINDOW_TOKENS = 128_000;

export interface PlannedTool extends DeferrableTool {
  /** Estimated. 0 where it was not needed to decide. */
  readonly tokens: number;
}

export interface PlanInput {
  readonly setting: Exclude<ToolDiscovery, false>;
  /** Those that may be deferred. */
  readonly tools: readonly PlannedTool[];
  /** The others of the turn. */
  readonly others: { readonly count: number; readonly tokens: number };
  readonly windowTokens: number;
}

/** Names of the tools that are deferred, in their order. Throws what the class's `defer` throws. */
export function planDeferral({ setting, tools, others, windowTokens }: PlanInput): string[] {
  if (setting !== "auto") return chosenBy(setting === true ? {} : setting, tools);
  const isTooMuch = (kept: readonly PlannedTool[]) => {
    const tokens = kept.reduce((sum, tool) => sum + tool.tokens, others.tokens);
    return kept.length + others.count > MANY_TOOLS || tokens > Math.max(windowTokens * WINDOW_SHARE, FEW_TOKENS);
  };
  if (!isTooMuch(tools)) return [];
  const own = tools.filter(({ group }) => group.kind === "tools" || group.kind === "actions");
  const deferred = isTooMuch(own) ? tools : tools.filter((tool) => !own.includes(tool));
  return deferred.map(({ name }) => name);
}

function chosenBy({ defer = () => true, keep = [] }: ToolDiscoveryOptions, tools: readonly PlannedTool[]): string[] {
  const kept = new Set(keep);
  return tools.flatMap(({ tokens: _tokens, ...tool }) =>
    kept.has(tool.name) || kept.has(tool.group.name) || !defer(tool) ? [] : tool.name
  );
}
