// Paths of agents with friendly names: `/agents/support/ada/sub/researcher/1`. Names are data: encoded once, decoded once.
// Pure; the router makes requests of them.
import { decodePercent } from "../../util/decode-percent.ts";
import { kebabCase } from "../../util/kebab.ts";

/** An agent as the router needs it; the entries of `thinkAgentRegistry` and of a manifest. */
export interface RoutedAgent {
  readonly id: string;
  readonly className: string;
  readonly kind: "top-level" | "sub-agent";
  readonly parentId?: string | undefined;
  readonly aliases: readonly string[];
  readonly bindingName?: string | undefined;
}

export interface RoutedManifest {
  readonly routePrefix?: string;
  readonly agents: readonly RoutedAgent[];
}

export interface ThinkAgentStep {
  readonly agent: string;
  readonly name: string;
}

/** An agent's place: `{ agent: "support", name: "ada", sub: [{ agent: "researcher", name: "1" }] }`. */
export interface ThinkAgentRoute extends ThinkAgentStep {
  readonly sub?: readonly ThinkAgentStep[];
}

export const SUB_SEGMENT = "sub";

/** The top-level agent of a name: an id, an alias, a class or a binding, as written or as in URLs. */
export function findAgent({ agents }: RoutedManifest, name: string): RoutedAgent | undefined {
  return agents.find((agent) => agent.kind === "top-level" && isCalled(agent, name));
}

/** The sub-agent of a name below a parent: two parents may each have their own of one name. */
export function findSubAgent({ agents }: RoutedManifest, parent: string, name: string): RoutedAgent | undefined {
  return agents.find((agent) => agent.parentId === parent && isCalled(agent, name));
}

function isCalled({ id, className, aliases, bindingName }: RoutedAgent, name: string): boolean {
  const names = [id, className, ...aliases, ...(bindingName === undefined ? [] : [bindingName])];
  return names.some((one) => one === name || kebabCase(one) === name);
}

/** An id's last part: what stands in a path behind `/sub/`. */
export function localId(id: string): string {
  return id.split("/").at(-1) ?? id;
}

/**
 * The path of an agent. Names that no agent has are used as they are.
 *
 * @example
 * buildThinkAgentPath({ agent: "ThinkAgent_Assistant", name: "sunil" }, manifest); // "/agents/assistant/sunil"
 */
export function buildThinkAgentPath(route: ThinkAgentRoute, manifest: RoutedManifest): string {
  const root = findAgent(manifest, route.agent);
  const segments = [root?.id ?? route.agent, route.name];
  let parent = root?.id;
  for (const { agent, name } of route.sub ?? []) {
    const child = parent === undefined ? undefined : findSubAgent(manifest, parent, agent);
    segments.push(SUB_SEGMENT, child === undefined ? kebabCase(agent) : localId(child.id), name);
    parent = child?.id;
  }
  return `${prefixOf(manifest)}/${segments.map(encodeURIComponent).join("/")}`;
}

/** The inverse; null for another prefix, a missing part, or anything behind the address. */
export function parseThinkAgentPath(pathname: string, manifest: RoutedManifest): ThinkAgentRoute | null {
  const encoded = segmentsBelow(pathname, prefixOf(manifest));
  const segments = encoded?.map(decodePercent);
  if (segments === undefined || segments.some((segment) => segment === undefined || segment === "")) return null;
  // Checked above.
  const [agent, name, ...rest] = segments as string[];
  if (agent === undefined || name === undefined || rest.length % 3 !== 0) return null;
  const sub: ThinkAgentStep[] = [];
  for (let index = 0; index < rest.length; index += 3) {
    const [marker, child = "", childName = ""] = rest.slice(index, index + 3);
    if (marker !== SUB_SEGMENT) return null;
    sub.push({ agent: child, name: childName });
  }
  return { agent, name, ...(sub.length > 0 && { sub }) };
}

export function prefixOf({ routePrefix }: RoutedManifest): string {
  return `/${(routePrefix ?? "/agents").split("/").filter(Boolean).join("/") || "agents"}`;
}

/** What follows a prefix, compared by whole segments. */
export function segmentsBelow(pathname: string, prefix: string): string[] | undefined {
  const segments = pathname.split("/").slice(1);
  const expected = prefix.split("/").filter(Boolean);
  if (expected.some((segment, index) => segments[index] !== segment)) return undefined;
  return segments.slice(expected.length);
}
