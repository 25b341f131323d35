// From the paths of a project to its manifest. Only paths decide: no source is read and no import followed, so what a file
// contains cannot make an agent appear or vanish. A class that a file pins is given as data (`classNames`).
import { agentAliases, agentIdSegment, generatedClassName, parseAgentPath } from "./names.ts";
import {
  FEATURE_NAMES,
  type ThinkFeatureName,
  type ThinkManifest,
  type ThinkManifestAgent,
  type ThinkPlatformRequirement,
  type ThinkRouteSurface
} from "./manifest.ts";
import { discoverWorkflows } from "./workflows.ts";

export const DEFAULT_ROUTE_PREFIX = "/agents";
/** A root and three levels of facets: as deep as the platform nests. */
export const MAX_AGENT_DEPTH = 4;

const APP_ENTRIES = ["src/server.ts", "src/server.tsx", "src/server.js", "src/server.mjs"];
const LOADER_BINDING = "LOADER";

export interface DiscoverOptions {
  /** Paths relative to the root, with forward slashes; or sources by path, of which only the paths are looked at. */
  readonly files: readonly string[] | Readonly<Record<string, unknown>>;
  readonly root?: string;
  readonly routePrefix?: string;
  /** Default: `src/server.ts` (or `.tsx`, `.js`, `.mjs`) where it exists. */
  readonly appEntry?: string;
  /** Classes that files pin with `export const className`, by path. */
  readonly classNames?: Readonly<Record<string, string>>;
}

/**
 * Finds the agents among a project's files.
 *
 * @example
 * const { agents } = discoverThinkApp({ files: ["agents/support.ts"] });
 * agents[0].className; // "ThinkAgent_Support"
 */
export function discoverThinkApp(options: DiscoverOptions): ThinkManifest {
  const paths = Array.isArray(options.files) ? (options.files as readonly string[]) : Object.keys(options.files);
  const files = paths.map((file) => file.replaceAll("\\", "/").replace(/^\.?\//, "")).sort();
  const agents = files.flatMap((path) => agentAt(path, files, options.classNames ?? {}));
  const routePrefix = normalizeRoutePrefix(options.routePrefix);
  const appEntrypoint = options.appEntry ?? APP_ENTRIES.find((path) => files.includes(path));
  const topLevel = agents.filter(({ kind }) => kind === "top-level");
  return {
    root: options.root ?? "",
    routePrefix,
    agents,
    bindings: topLevel.map(({ className }) => ({ name: className, className, kind: "durable-object" })),
    workflows: discoverWorkflows(files),
    routes: topLevel.map(({ id, className }) => ({ id, pattern: `${routePrefix}/${id}/*`, agent: className })),
    routeSurfaces: routeSurfaces(agents, routePrefix),
    schedules: [],
    messengers: [],
    tools: [],
    platformRequirements: agents.flatMap((agent) => loaderOf(agent, files)),
    env: [],
    features: FEATURE_NAMES.filter((feature) => agents.some(({ features }) => features.includes(feature))),
    appEntrypoint: appEntrypoint?.replace(/^\.?\//, "")
  };
}

/** One leading slash, none at the end; "/" and nothing are the default. */
export function normalizeRoutePrefix(prefix: string | undefined): string {
  const segments = (prefix ?? "").split("/").filter(Boolean);
  return segments.length === 0 ? DEFAULT_ROUTE_PREFIX : `/${segments.join("/")}`;
}

function agentAt(
  path: string,
  files: readonly string[],
  classNames: Readonly<Record<string, string>>
): ThinkManifestAgent[] {
  const parsed = parseAgentPath(path);
  if (parsed === undefined) return [];
  const segments = parsed.names.map(agentIdSegment);
  const id = segments.join("/");
  const className = classNames[path] ?? generatedClassName(id);
  const skills = skillsFolder(path, files);
  const features: ThinkFeatureName[] = skills === undefined ? [] : ["skills"];
  return [
    {
      id,
      className,
      aliases: agentAliases(id, className),
      importPath: `/${path}`,
      sourcePath: path,
      kind: segments.length === 1 ? "top-level" : "sub-agent",
      parentId: segments.slice(0, -1).join("/") || undefined,
      features,
      featureSources: skills === undefined ? undefined : { skills },
      env: []
    }
  ];
}

/** `agents/support/skills` for both forms of the agent. */
function skillsFolder(path: string, files: readonly string[]): string | undefined {
  const folder = `${folderOf(path)}/skills`;
  return files.some((file) => file.startsWith(`${folder}/`)) ? folder : undefined;
}

function folderOf(path: string): string {
  return path.replace(/(?:\/agent)?\.[^./]+$/, "");
}

/** Only a skill with scripts runs code. */
function loaderOf({ id, featureSources }: ThinkManifestAgent, files: readonly string[]): ThinkPlatformRequirement[] {
  const skills = featureSources?.skills;
  const script = files.find(
    (file) => skills !== undefined && file.startsWith(`${skills}/`) && /\/scripts\//.test(file)
  );
  if (script === undefined) return [];
  const reason = `A skill of ${id} has scripts, which run in Workers that are loaded when they are called.`;
  return [{ kind: "worker_loader", binding: LOADER_BINDING, reason, sourcePath: script, agent: id }];
}

function routeSurfaces(agents: readonly ThinkManifestAgent[], prefix: string): ThinkRouteSurface[] {
  const topLevel = new Set(agents.filter(({ kind }) => kind === "top-level").map(({ id }) => id));
  const ofAgents = agents.flatMap((agent) => {
    if (agent.kind === "top-level") return [surface(`agent:${agent.id}`, `${prefix}/${agent.id}/*`)];
    const [root = "", ...below] = agent.id.split("/");
    if (!topLevel.has(root)) return [];
    const steps = below.map((local, index) => `/sub/${local}/{${index === 0 ? "subName" : `subName${index + 1}`}}`);
    return [surface(`subagent:${agent.id}`, `${prefix}/${root}/{name}${steps.join("")}`)];
  });
  return [...ofAgents, surface("internal:think", "/__think/*")];
}

function surface(id: string, pattern: string): ThinkRouteSurface {
  return { id, pattern, requiredRunWorkerFirst: true };
}
