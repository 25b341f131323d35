// Whether this is a development server on the developer's own machine.
import { isObject } from "./json.ts";
import { isLoopback } from "./loopback.ts";

/** `everthink dev` sets it, and no build has it. */
export const DEVELOPMENT_VARIABLE = "EVERTHINK_DEVELOPMENT";

/** By the variables of the Worker. */
export function isDevelopment(env: unknown): boolean {
  return isObject(env) && env[DEVELOPMENT_VARIABLE] === "1";
}

/** A request that came from another machine is no development. */
export function isDeveloped(request: Request, env: unknown): boolean {
  return isDevelopment(env) && isLoopback(new URL(request.url).hostname);
}
