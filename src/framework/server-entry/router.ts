// From friendly paths to agents: `/agents/support/ada` to the object of the class that agents/support.ts exports. The base
// routing does the rest (names, upgrades, refusals of other sites); this only rewrites the path for it.
import { routeAgentRequest, type AgentRoutingOptions } from "../../agent-class/index.ts";
import { decodePercent } from "../../util/decode-percent.ts";
import { kebabCase } from "../../util/kebab.ts";
import {
  buildThinkAgentPath,
  findAgent,
  findSubAgent,
  parseThinkAgentPath,
  prefixOf,
  segmentsBelow,
  SUB_SEGMENT,
  type RoutedManifest,
  type ThinkAgentRoute,
  type ThinkAgentStep
} from "./agent-path.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

/** A Response refuses; nothing lets the request through. Called before an object is woken. */
export type ThinkAuthorize<Env = unknown> = (
  request: Request,
  route: ThinkAgentRoute,
  env: Env
) => MaybePromise<Response | void | undefined>;

export interface ThinkRouterOptions {
  readonly manifest: RoutedManifest;
  readonly authorize?: ThinkAuthorize<never>;
  /** The agent that gets `/messengers/<id>/webhook`. */
  readonly messengers?: { readonly agent: string; readonly name?: string };
  /** Serves `/__think/manifest` too. */
  readonly isDevelopment?: boolean;
  /** For the base routing. */
  readonly routing?: Omit<AgentRoutingOptions, "prefix">;
}

export interface ThinkRouter {
  buildPath(route: ThinkAgentRoute): string;
  parsePath(pathname: string): ThinkAgentRoute | null;
  /** The answer of the agent that a path addresses; null when it addresses none. */
  route(request: Request, env: unknown, ctx?: unknown): Promise<Response | null>;
  /** Passes a request on to a parent that was found by other means, with friendly names of sub-agents resolved. */
  routeSubAgent(request: Request, parent: RequestTarget, options: { parent: string }): Promise<Response>;
  /** The rewriting alone; undefined when a name cannot be resolved. */
  rewriteSubAgentRequest(request: Request, options: { parent: string }): Request | undefined;
}

/** A stub, as `getAgentByName` returns it. */
export interface RequestTarget {
  fetch(request: Request): Promise<Response>;
}

const DEFAULT_MESSENGER_OBJECT = "main";

/**
 * The router of an app.
 *
 * @example
 * const router = createThinkRouter({ manifest: { agents: thinkAgentRegistry } });
 * return (await router.route(request, env)) ?? new Response("Not found", { status: 404 });
 */
export function createThinkRouter(options: ThinkRouterOptions): ThinkRouter {
  const { manifest } = options;
  return {
    buildPath: (route) => buildThinkAgentPath(route, manifest),
    parsePath: (pathname) => parseThinkAgentPath(pathname, manifest),
    route: (request, env) => routeThinkRequest(request, env, options),
    rewriteSubAgentRequest: (request, { parent }) => rewriteThinkSubAgentRequest(request, { parent, manifest }),
    async routeSubAgent(request, target, { parent }) {
      if (!new URL(request.url).pathname.split("/").includes(SUB_SEGMENT)) return target.fetch(request);
      const rewritten = rewriteThinkSubAgentRequest(request, { parent, manifest });
      return rewritten === undefined ? new Response("Not found", { status: 404 }) : target.fetch(rewritten);
    }
  };
}

/** One request through the routes of an app; null when none is meant. */
export async function routeThinkRequest(
  request: Request,
  env: unknown,
  options: ThinkRouterOptions
): Promise<Response | null> {
  const { manifest } = options;
  const { pathname } = new URL(request.url);
  const own = segmentsBelow(pathname, "/__think");
  if (own !== undefined) return internalRoute(own, options);
  const webhook = segmentsBelow(pathname, "/messengers");
  const segments = webhook ? webhookTarget(webhook, options) : segmentsBelow(pathname, prefixOf(manifest));
  const [agent, name] = segments ?? [];
  if (segments === undefined || !agent || !name) return null;
  if (segments.some((segment) => decodePercent(segment) === undefined))
    return new Response("Bad request", { status: 400 });
  const resolved = resolveSegments(segments, manifest);
  if (!isBound(env, resolved.segments[0] ?? "")) return null;
  // The types of a project's own authorize are its word about its own env.
  const authorize = options.authorize as ThinkAuthorize | undefined;
  const verdict = await authorize?.(request, resolved.route, env);
  if (verdict instanceof Response) return verdict;
  const prefix = prefixOf(manifest).slice(1);
  const rewritten = withPath(request, `/${prefix}/${resolved.segments.join("/")}`);
  return routeAgentRequest(rewritten, env, { ...options.routing, prefix });
}

/** Whether the base routing would find an object for a segment. */
function isBound(env: unknown, segment: string): boolean {
  return typeof env === "object" && env !== null && Object.keys(env).some((name) => kebabCase(name) === segment);
}

function internalRoute(segments: readonly string[], options: ThinkRouterOptions): Response | null {
  const path = segments.join("/");
  if (path === "health") return Response.json({ status: "ok" });
  if (path === "manifest" && options.isDevelopment === true) return Response.json(options.manifest);
  return null;
}

/** `<id>/webhook` to the one agent with messengers, `<agent>/<name>/<id>/webhook` to any; as a path below that agent. */
function webhookTarget(segments: readonly string[], { messengers }: ThinkRouterOptions): string[] | undefined {
  if (segments.at(-1) !== "webhook") return undefined;
  if (segments.length === 4) {
    const [agent = "", name = "", id = ""] = segments;
    return [agent, name, "messengers", id, "webhook"];
  }
  const [id = ""] = segments;
  if (segments.length !== 2 || messengers === undefined) return undefined;
  const name = encodeURIComponent(messengers.name ?? DEFAULT_MESSENGER_OBJECT);
  return [encodeURIComponent(messengers.agent), name, "messengers", id, "webhook"];
}

/** The path as the base routing reads it, and the route that an `authorize` is asked about. */
function resolveSegments(
  segments: readonly string[],
  manifest: RoutedManifest
): { segments: readonly string[]; route: ThinkAgentRoute } {
  const [agentSegment = "", nameSegment = "", ...rest] = segments;
  const agent = decodePercent(agentSegment) ?? agentSegment;
  const found = findAgent(manifest, agent);
  const children = resolveSubSegments(rest, found?.id, manifest);
  const below = children ?? rest;
  const sub = subSteps(below, manifest);
  return {
    segments: [found ? kebabCase(found.bindingName ?? found.className) : agentSegment, nameSegment, ...below],
    route: {
      agent: found?.id ?? agent,
      name: decodePercent(nameSegment) ?? nameSegment,
      ...(sub.length > 0 && { sub })
    }
  };
}

/** Friendly names of `sub/<name>/<instance>` in a row to class segments; undefined when one has no class. */
function resolveSubSegments(
  segments: readonly string[],
  parent: string | undefined,
  manifest: RoutedManifest
): string[] | undefined {
  const result = [...segments];
  let above = parent;
  for (let index = 0; result[index] === SUB_SEGMENT && (result[index + 2] ?? "") !== ""; index += 3) {
    const name = decodePercent(result[index + 1] ?? "");
    const child = above === undefined || name === undefined ? undefined : findSubAgent(manifest, above, name);
    if (child === undefined) return undefined;
    result[index + 1] = kebabCase(child.className);
    above = child.id;
  }
  return result;
}

/** Every sub-agent the base routing would find in a path, wherever it stands. */
function subSteps(segments: readonly string[], { agents }: RoutedManifest): ThinkAgentStep[] {
  const steps: ThinkAgentStep[] = [];
  for (let index = 0; index + 2 < segments.length; index += 1) {
    const [marker, segment = "", name = ""] = segments.slice(index, index + 3);
    if (marker !== SUB_SEGMENT || name === "") continue;
    const child = agents.find(({ kind, className }) => kind === "sub-agent" && kebabCase(className) === segment);
    steps.push({ agent: child?.id ?? segment, name: decodePercent(name) ?? name });
    index += 2;
  }
  return steps;
}

/** Resolves every `/sub/<name>/<instance>` of a request for a parent; undefined when one cannot be resolved. */
export function rewriteThinkSubAgentRequest(
  request: Request,
  { parent, manifest }: { readonly parent: string; readonly manifest: RoutedManifest }
): Request | undefined {
  const segments = new URL(request.url).pathname.split("/").slice(1);
  const first = segments.indexOf(SUB_SEGMENT);
  if (first === -1) return request;
  const root = findAgent(manifest, parent)?.id ?? manifest.agents.find(({ id }) => id === parent)?.id;
  const resolved = resolveSubSegments(segments.slice(first), root, manifest);
  return resolved && withPath(request, `/${[...segments.slice(0, first), ...resolved].join("/")}`);
}

/** The class of a top-level agent by any of its names. */
export function resolveThinkAgentName(name: string, manifest: RoutedManifest): string | undefined {
  return findAgent(manifest, name)?.className;
}

/** The class of a sub-agent by any of its names, for one parent. */
export function resolveThinkSubAgentName(
  name: string,
  { parent, manifest }: { readonly parent: string; readonly manifest: RoutedManifest }
): string | undefined {
  const root = findAgent(manifest, parent)?.id ?? parent;
  return findSubAgent(manifest, root, name)?.className;
}

function withPath(request: Request, pathname: string): Request {
  const url = new URL(request.url);
  if (url.pathname === pathname) return request;
  url.pathname = pathname;
  return new Request(url, request);
}
