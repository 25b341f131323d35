import { createHash } from "node:crypto";
import { pathKey } from "./tree/path.ts";
import type { AgentRuntime } from "./runtime.ts";

/** The platform id; a facet shares its root's, so its own place in the tree is hashed in. */
export function sessionAffinityOf(runtime: AgentRuntime): string {
  const id = runtime.ctx.id.toString();
  if (!runtime.identity.isFacet) return id;
  return createHash("sha256")
    .update(`${id}${pathKey(runtime.identity.pathBelowRoot)}`)
    .digest("hex");
}
