// What every `Agent` has beside its base, and every `Think`. The only list.
import { agentTools, type AgentToolsMembers } from "../features/agent-tools/capability.ts";
import { email, type EmailMembers } from "../features/email/capability.ts";
import { fibers, type FiberMembers } from "../features/fibers/capability.ts";
import { mcp, type McpMembers } from "../features/mcp/capability.ts";
import { queue, type QueueMembers } from "../features/queue/capability.ts";
import { schedules, type ScheduleMembers } from "../features/schedules/capability.ts";
import { agentTakeover } from "../takeover/capability.ts";
import { workflows, type WorkflowMembers } from "../features/workflows/capability.ts";

export const AGENT_CAPABILITIES = [schedules, fibers, queue, agentTakeover, workflows, email, mcp, agentTools] as const;

/** The same, for the type of the class. */
export interface AgentMembers
  extends ScheduleMembers, FiberMembers, QueueMembers, WorkflowMembers, EmailMembers, McpMembers, AgentToolsMembers {}
