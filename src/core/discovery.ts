// `everthink/core/discovery`: tools that are described once they were found.
export { toolDiscovery, type ToolDiscoveryMembers } from "../features/discovery/capability.ts";
export type { DeferrableTool, ToolDiscovery, ToolDiscoveryOptions } from "../features/discovery/plan.ts";
