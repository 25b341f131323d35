// What every agent has beside its base. The only list.
import { agentTools, type AgentToolsMembers } from "../features/agent-tools/capability.ts";
import { email, type EmailMembers } from "../features/email/capability.ts";
import { mcp, type McpMembers } from "../features/mcp/capability.ts";
import { agentTakeover } from "../takeover/capability.ts";
import { workflows, type WorkflowMembers } from "../features/workflows/capability.ts";

export const AGENT_CAPABILITIES = [agentTakeover, workflows, email, mcp, agentTools] as const;

/** The same, for the type of the class. */
export interface AgentMembers extends WorkflowMembers, EmailMembers, McpMembers, AgentToolsMembers {}
