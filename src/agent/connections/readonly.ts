// A readonly client may watch. What it causes runs in its connection's context, so methods that change something can
// tell, also when user code calls them on the client's behalf.
import type { AgentBase } from "../agent-base.ts";
import { currentContext } from "../context.ts";
import { agentErrors } from "../errors.ts";

/** Throws when what is running was caused by a readonly client. */
export function assertCallerMayChange(agent: Pick<AgentBase, "isConnectionReadonly">): void {
  const { connection } = currentContext();
  if (connection && agent.isConnectionReadonly(connection)) throw agentErrors.ReadonlyConnectionError();
}
