// Durable work names the method it will call; the name is checked when the work is accepted, while the caller can fix it.
import { ThinkError } from "../util/errors.ts";
import type { AgentCore } from "./core.ts";

export class CallbackError extends ThinkError {
  constructor(message: string) {
    super({
      code: "invalid-callback",
      message,
      hint: "Pass the name of a method of the agent's class: the call happens later, possibly in another process, so a function cannot be kept."
    });
  }
}

export function requireCallback(core: Pick<AgentCore, "hasMethod">, callback: unknown): string {
  if (typeof callback !== "string") throw new CallbackError("Callback must be a string");
  if (!core.hasMethod(callback)) throw new CallbackError(`this.${callback} is not a function`);
  return callback;
}
