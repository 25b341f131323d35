// Tool discovery as a capability: one setting.
import { chatCapability } from "../../feature/capability.ts";
import { ToolDiscoveryFeature } from "./feature.ts";
import type { ToolDiscovery } from "./plan.ts";

export class ToolDiscoveryMembers {
  /**
   * Whether tools are described to the model only once it has searched for them. `"auto"` (default): where there are more
   * than 60 tools, or they take more than 10 % of the context window. `true`: always; `false`: never. With options: always,
   * with a choice of your own.
   *
   * @example
   * toolDiscovery = { keep: ["create_ticket", "calendar"], maxActive: 20 };
   */
  toolDiscovery: ToolDiscovery = "auto";
}

export const toolDiscovery = chatCapability({
  name: "tool-discovery",
  members: ToolDiscoveryMembers,
  isUsed: (agent) => (agent as ToolDiscoveryMembers).toolDiscovery !== false,
  feature: (services) => new ToolDiscoveryFeature(services)
});
