// A child's way to its ancestors. The root is an object of its own; an ancestor that is a facet is reached through it.
import type { AgentBase } from "../agent-base.ts";
import { isUpgrade } from "../connections/upgrade.ts";
import type { AgentRuntime } from "../runtime.ts";
import { subAgentErrors } from "./sub-agent-errors.ts";
import { remoteStub, type SubAgentStub } from "./sub-agent-stub.ts";

export function parentStub<T extends AgentBase>(
  runtime: AgentRuntime,
  className: string,
  level: number
): SubAgentStub<T> {
  const { parentPath } = runtime.identity;
  const ancestor = parentPath.at(-level);
  if (!ancestor || level < 1) throw subAgentErrors.NotASubAgentError(runtime.identity.className);
  if (ancestor.className !== className) throw subAgentErrors.WrongParentError(className, ancestor.className);
  const pathBelowRoot = parentPath.slice(1, parentPath.length - level + 1);
  if (pathBelowRoot.length === 0) {
    // The export of that class: its stub has that class's methods.
    return runtime.tree.namespaceOf(className).get(runtime.ctx.id) as object as SubAgentStub<T>;
  }
  return remoteStub<T>({
    className,
    ask: (call) => runtime.tree.askAt(pathBelowRoot, call),
    async fetch(request) {
      if (isUpgrade(request)) throw new TypeError("A parent stub does not take WebSocket upgrades; connect by URL.");
      // `fetch` of an agent answers with a Response.
      return (await runtime.tree.askAt(pathBelowRoot, { op: "fetch", request })) as Response;
    }
  });
}
