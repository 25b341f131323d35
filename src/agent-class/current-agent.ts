// What is running, with the class of users as its type.
import { currentContext, type CurrentContext } from "../agent/context.ts";
import type { Agent } from "./agent.ts";

export interface AgentContext<T = Agent> extends CurrentContext<T> {}

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
  return currentContext<T>();
}
