// The public names that every `Agent` and every `Think` has by its capabilities: the list AGENT_CAPABILITIES as a type. A test
// compares the two. It stands apart from the list, whose type names the AI SDK.
import type { AgentToolsMembers } from "../features/agent-tools/members.ts";
import type { EmailMembers } from "../features/email/members.ts";
import type { FiberMembers } from "../features/fibers/members.ts";
import type { McpMembers } from "../features/mcp/members.ts";
import type { QueueMembers } from "../features/queue/members.ts";
import type { ScheduleMembers } from "../features/schedules/members.ts";
import type { WorkflowMembers } from "../features/workflows/members.ts";
import type { NOT_IN_STUBS } from "../agent/tree/sub-agent-stub.ts";

/** What a parent asks of a child about its run: for the parent, although the class has the names. */
type RunNames = "inspectAgentToolRun" | "cancelAgentToolRun" | "readAgentToolRun";

interface PublicNames
  extends ScheduleMembers, FiberMembers, QueueMembers, WorkflowMembers, EmailMembers, McpMembers, AgentToolsMembers {}

export interface AgentMembers extends PublicNames {
  /** For types only. */
  readonly [NOT_IN_STUBS]?: Exclude<keyof PublicNames, RunNames>;
}
