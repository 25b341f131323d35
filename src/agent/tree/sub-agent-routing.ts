// Reaching a sub-agent from the Worker: by URL, with the parent's say, or by name, as trusted code.
import type { AgentBase } from "../agent-base.ts";
import { callAgent, type AgentStub } from "./agent-call.ts";
import { SUB_PREFIX } from "../../host/path.ts";
import { remoteStub, type SubAgentClass, type SubAgentStub } from "./sub-agent-stub.ts";

/** Anything that forwards to the parent: a stub from `getAgentByName`. */
interface ParentStub {
  fetch(request: Request): Promise<Response>;
}

/**
 * Forwards a request with a `/sub/{class}/{name}` path to a parent found by other means than the URL. The parent's
 * `onBeforeSubAgent` decides. `fromPath` replaces the path; the query stays unless it brings its own.
 */
export async function routeSubAgentRequest(
  request: Request,
  parent: ParentStub,
  options: { fromPath?: string } = {}
): Promise<Response> {
  const target = new URL(request.url);
  if (options.fromPath !== undefined) {
    const replacement = new URL(options.fromPath, target);
    target.pathname = replacement.pathname;
    if (replacement.search) target.search = replacement.search;
  }
  const segments = target.pathname.split("/");
  const hasSubPath = segments.some((segment, index) => segment === SUB_PREFIX && (segments[index + 2] ?? "") !== "");
  if (!hasSubPath) return new Response("Bad Request", { status: 400 });
  return parent.fetch(new Request(target, request));
}

/**
 * A stub of a child, for trusted code: each call is one hop through the parent, and no hook is asked.
 *
 * @example
 * const team = await getAgentByName(env.Team, "blue");
 * const bob = await getSubAgentByName(team, Member, "bob");
 * await bob.greet();
 */
export async function getSubAgentByName<T extends AgentBase>(
  parent: object,
  childClass: SubAgentClass<T>,
  name: string
): Promise<SubAgentStub<T>> {
  const child = { className: childClass.name, name };
  // Every agent class answers it; the stub's type is the caller's.
  const agent = parent as AgentStub;
  await callAgent(agent, { to: [], call: { op: "spawn-child", child } });
  return remoteStub<T>({
    className: child.className,
    ask: (call) => callAgent(agent, { to: [child], call }),
    fetch: () => {
      throw new TypeError(
        "getSubAgentByName() stubs do not fetch; use routeSubAgentRequest() so that the parent can decide."
      );
    }
  });
}
