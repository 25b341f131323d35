// `everthink/core/agent-tools`: sub-agents as tools: of the parent (`agentTools`), and of an agent that may be such a child (`childRuns`).
export { agentTools, childRuns, type ChildRunMembers } from "../features/agent-tools/capability.ts";
export type { AgentToolsMembers } from "../features/agent-tools/members.ts";
