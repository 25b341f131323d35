// What is wrong with a manifest by itself, whatever the Worker configuration says.
import { MAX_AGENT_DEPTH } from "./discover.ts";
import type { ThinkDiagnostic, ThinkManifest, ThinkManifestAgent } from "./manifest.ts";
import { agentFolders } from "./names.ts";

/**
 * The errors of a manifest: names that occur twice, sub-agents without a parent, agents that are nested too deep.
 *
 * @example
 * const errors = diagnoseThinkManifest(discoverThinkApp({ files })).filter(({ severity }) => severity === "error");
 */
export function diagnoseThinkManifest(manifest: ThinkManifest): ThinkDiagnostic[] {
  const { agents, routes, routeSurfaces } = manifest;
  return [
    ...duplicates(agents, { keyOf: ({ id }) => id, code: "duplicate-agent-id", noun: "agent id" }),
    ...duplicates(agents, {
      keyOf: ({ className }) => className,
      code: "duplicate-generated-agent-name",
      noun: "class"
    }),
    ...repeatedIds(routes.map(({ id }) => id)).map((id) =>
      error("duplicate-route-id", `The route "${id}" occurs twice.`)
    ),
    ...repeatedIds(routeSurfaces.map(({ id }) => id)).map((id) =>
      error("duplicate-route-surface-id", `The route surface "${id}" occurs twice.`)
    ),
    ...agents.flatMap((agent) => [...unusableName(agent), ...orphan(agent, agents), ...tooDeep(agent)])
  ];
}

/**
 * What looks as if it should be an agent and is none: a project without any, and a folder below `agents/` whose files no
 * agent has. `files` are those of the project.
 */
export function diagnoseAgentFolders({ agents }: ThinkManifest, files: readonly string[]): ThinkDiagnostic[] {
  const sources = agents.map(({ sourcePath }) => sourcePath.replace(/(?:\/agent)?\.[^./]+$/, ""));
  // A sub-agent without its parent is an error of its own.
  const isOfAgent = (folder: string) =>
    sources.some((source) => source === folder || source.startsWith(`${folder}/agents/`));
  const folders = [...new Set(files.flatMap(agentFolders))].filter((folder) => !isOfAgent(folder));
  if (agents.length === 0 && folders.length === 0) {
    return [warning("no-agents", "There are no agents here. Add one: agents/assistant.ts")];
  }
  return folders.map((folder) => {
    const message = `There is no agent in it. Its module must be ${folder}/agent.ts; a folder of helpers begins with "_".`;
    return { ...warning("folder-without-agent", message), path: folder };
  });
}

interface UniqueField {
  readonly keyOf: (agent: ThinkManifestAgent) => string;
  readonly code: string;
  readonly noun: string;
}

function duplicates(agents: readonly ThinkManifestAgent[], { keyOf, code, noun }: UniqueField): ThinkDiagnostic[] {
  return repeatedIds(agents.map(keyOf)).map((key) => {
    const paths = agents.filter((agent) => keyOf(agent) === key).map(({ sourcePath }) => sourcePath);
    const message = `The ${noun} "${key}" comes from ${paths.join(" and ")}. Keep one of them.`;
    return { ...error(code, message), path: paths.at(-1) ?? "" };
  });
}

function repeatedIds(ids: readonly string[]): string[] {
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))];
}

function unusableName({ id, sourcePath }: ThinkManifestAgent): ThinkDiagnostic[] {
  if (id.split("/").every((segment) => segment !== "")) return [];
  const message = `${sourcePath} gives no id: name it with letters of the Latin alphabet or digits.`;
  return [{ ...error("unusable-agent-name", message), path: sourcePath }];
}

function orphan(
  { parentId, id, sourcePath }: ThinkManifestAgent,
  agents: readonly ThinkManifestAgent[]
): ThinkDiagnostic[] {
  if (parentId === undefined || agents.some((agent) => agent.id === parentId)) return [];
  const folder = sourcePath.split("/agents/").slice(0, -1).join("/agents/");
  const message = `The sub-agent "${id}" has no parent: there is no agent "${parentId}". Add ${folder}/agent.ts or ${folder}.ts.`;
  return [{ ...error("orphan-subagent", message), path: sourcePath }];
}

function tooDeep({ id, sourcePath }: ThinkManifestAgent): ThinkDiagnostic[] {
  const depth = id.split("/").length;
  if (depth <= MAX_AGENT_DEPTH) return [];
  const message = `"${id}" is nested ${depth} deep; the platform nests ${MAX_AGENT_DEPTH} objects at most, with the root.`;
  return [{ ...error("unsupported-nested-subagent", message), path: sourcePath }];
}

function warning(code: string, message: string): ThinkDiagnostic {
  return { code, severity: "warning", message };
}

function error(code: string, message: string): ThinkDiagnostic {
  return { code, severity: "error", message };
}
