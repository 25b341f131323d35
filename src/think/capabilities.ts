// What every `Think` has beside its core and what every agent has. The only list. Its order is that of prompt sections and of
// asking; nothing else depends on it.
import { actions, type ActionMembers } from "../features/actions/capability.ts";
import { childRuns, type ChildRunMembers } from "../features/agent-tools/capability.ts";
import { approvals, type ApprovalMembers } from "../features/approvals/capability.ts";
import { browser, type BrowserMembers } from "../features/browser/capability.ts";
import { budgets, type BudgetMembers } from "../features/budgets/capability.ts";
import { channels, messengerAccess, messengers, type ChannelMembers } from "../features/channels/capability.ts";
import { plainClients, type PlainChatMembers } from "../features/clients/capability.ts";
import { executions, type ExecutionMembers } from "../features/execute/capability.ts";
import { extensions, type ExtensionMembers } from "../features/extensions/capability.ts";
import { inspection, type InspectionMembers } from "../features/inspection/capability.ts";
import { toolDiscovery, type ToolDiscoveryMembers } from "../features/discovery/capability.ts";
import { mcpTools, type McpTurnMembers } from "../features/mcp/capability.ts";
import { models, type ModelsMembers } from "../features/models/capability.ts";
import { skills, type SkillsMembers } from "../features/skills/capability.ts";
import { steering, type SteeringMembers } from "../features/steering/capability.ts";
import { submissions, type SubmissionMembers } from "../features/submissions/capability.ts";
import { scheduledTasks, type ScheduledTaskMembers } from "../features/tasks/capability.ts";
import { web, type WebMembers } from "../features/web/capability.ts";
import { workflowPrompts, type WorkflowPromptMembers } from "../features/workflows/prompts.ts";
import { thinkTakeover } from "../takeover/capability.ts";
import { workspace, type WorkspaceMembers } from "../features/workspace/capability.ts";

export const THINK_CAPABILITIES = [
  thinkTakeover,
  messengerAccess,
  submissions,
  scheduledTasks,
  workflowPrompts,
  channels,
  messengers,
  approvals,
  budgets,
  actions,
  workspace,
  web,
  browser,
  mcpTools,
  extensions,
  toolDiscovery,
  skills,
  models,
  childRuns,
  executions,
  inspection,
  plainClients,
  steering
] as const;

/** The same, for the type of the class. */
export interface ThinkMembers
  extends
    SubmissionMembers,
    ScheduledTaskMembers,
    WorkflowPromptMembers,
    ChannelMembers,
    ApprovalMembers,
    BudgetMembers,
    ActionMembers,
    WorkspaceMembers,
    WebMembers,
    BrowserMembers,
    McpTurnMembers,
    ExtensionMembers,
    ToolDiscoveryMembers,
    SkillsMembers,
    ModelsMembers,
    ChildRunMembers,
    ExecutionMembers,
    InspectionMembers,
    PlainChatMembers,
    SteeringMembers {}
