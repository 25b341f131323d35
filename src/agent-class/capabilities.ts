// What every `Agent` has beside its base, and every `Think`. The only list. `members.ts` has its public names as a type.
import { agentTools } from "../features/agent-tools/capability.ts";
import { email } from "../features/email/capability.ts";
import { fibers } from "../features/fibers/capability.ts";
import { mcp } from "../features/mcp/capability.ts";
import { queue } from "../features/queue/capability.ts";
import { schedules } from "../features/schedules/capability.ts";
import { workflows } from "../features/workflows/capability.ts";
import { agentTakeover } from "../takeover/capability.ts";

export const AGENT_CAPABILITIES = [schedules, fibers, queue, agentTakeover, workflows, email, mcp, agentTools] as const;
