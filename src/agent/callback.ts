// Durable work names the method it will call; the name is checked when the work is accepted, while the caller can fix it.
import type { AgentCore } from "./core.ts";
import { agentErrors } from "./errors.ts";

export function requireCallback(core: Pick<AgentCore, "hasMethod">, callback: unknown): string {
  if (typeof callback !== "string") throw agentErrors.CallbackError("Callback must be a string");
  if (!core.hasMethod(callback)) throw agentErrors.CallbackError(`this.${callback} is not a function`);
  return callback;
}
