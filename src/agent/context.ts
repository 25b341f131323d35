// Who is running: the current agent and, when a client caused this, its connection or request. Carried by the async
// context, so concurrent calls never see each other's, and never carried into another agent.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Agent } from "./agent.ts";
import type { Connection } from "./connections/connection.ts";

export interface AgentContext<T = Agent> {
  agent: T | undefined;
  connection: Connection | undefined;
  request: Request | undefined;
  /** Reserved for e-mail handlers. */
  email: undefined;
}

const NOBODY: AgentContext = { agent: undefined, connection: undefined, request: undefined, email: undefined };
const storage = new AsyncLocalStorage<AgentContext>();

/**
 * The agent whose code is running, with the connection or request that caused it. All fields are `undefined` outside an
 * agent.
 *
 * @example
 * function audit(message: string) {
 *   const { agent, connection } = getCurrentAgent();
 *   console.log(agent?.name, connection?.id, message);
 * }
 */
export function getCurrentAgent<T = Agent>(): AgentContext<T> {
  // The caller names the class; the context holds whichever agent is running.
  return (storage.getStore() ?? NOBODY) as AgentContext<T>;
}

export function runAs<T>(context: Partial<Omit<AgentContext, "agent">> & { agent: Agent }, work: () => T): T {
  return storage.run({ ...NOBODY, ...context }, work);
}

/** Leaves every agent: what runs inside must not inherit the caller's connection or request. */
export function runAsNobody<T>(work: () => T): T {
  return storage.run(NOBODY, work);
}
