// What an `agents/` directory describes, as plain data. Everything else of the framework (Worker configuration, routes,
// generated code, types, diagnostics) is a pure function of it.
import { countText } from "../../util/counts.ts";

export type ThinkFeatureName = "skills" | "scheduled-tasks" | "messengers" | "tools";

/** The order in which features are listed. */
export const FEATURE_NAMES: readonly ThinkFeatureName[] = ["skills", "scheduled-tasks", "messengers", "tools"];

export interface ThinkManifestAgent {
  /** Its path below `agents/`, in kebab case: "support", "support/researcher". */
  readonly id: string;
  /** The name its class is exported under, and its data stored under. */
  readonly className: string;
  /** Names it may be addressed by in a URL: id, last segment, PascalCase of that, class. */
  readonly aliases: readonly string[];
  /** As the generated code imports it: "/agents/support.ts". */
  readonly importPath: string;
  /** Relative to the root: "agents/support.ts". */
  readonly sourcePath: string;
  readonly kind: "top-level" | "sub-agent";
  readonly parentId?: string;
  readonly features: readonly ThinkFeatureName[];
  readonly featureSources?: Readonly<Partial<Record<ThinkFeatureName, string>>>;
  readonly env: readonly string[];
  /** Under which the user's Worker configuration binds the class, where that is not the class's name. */
  readonly bindingName?: string;
  /** Which export of the file is the agent, where the source was read. */
  readonly exportName?: string;
}

export interface ThinkManifestBinding {
  readonly name: string;
  readonly className: string;
  readonly kind: "durable-object";
}

export interface ThinkManifestWorkflow {
  /** The name it is exported under by the Worker. */
  readonly className: string;
  /** What `env` and `runWorkflow` call it: the class in upper snake case, unless the user's configuration binds it otherwise. */
  readonly binding: string;
  readonly importPath: string;
  /** Relative to the root: "src/workflows/import.ts". */
  readonly sourcePath: string;
  /** Which export of the file it is. */
  readonly exportName: string;
}

export interface ThinkManifestRoute {
  readonly id: string;
  readonly pattern: string;
  readonly agent: string;
}

export interface ThinkRouteSurface {
  readonly id: string;
  readonly pattern: string;
  readonly requiredRunWorkerFirst: true;
}

export interface ThinkPlatformRequirement {
  readonly kind: "worker_loader";
  readonly binding: string;
  readonly reason: string;
  readonly sourcePath: string;
  readonly agent: string;
}

export interface ThinkManifest {
  readonly root: string;
  readonly routePrefix: string;
  readonly agents: readonly ThinkManifestAgent[];
  readonly bindings: readonly ThinkManifestBinding[];
  readonly workflows: readonly ThinkManifestWorkflow[];
  readonly routes: readonly ThinkManifestRoute[];
  readonly routeSurfaces: readonly ThinkRouteSurface[];
  readonly schedules: readonly never[];
  readonly messengers: readonly never[];
  readonly tools: readonly never[];
  readonly platformRequirements: readonly ThinkPlatformRequirement[];
  readonly env: readonly never[];
  readonly features: readonly ThinkFeatureName[];
  /** `src/server.ts`, relative to the root. */
  readonly appEntrypoint?: string;
}

export type DiagnosticSeverity = "error" | "warning" | "info";

export interface ThinkDiagnostic {
  readonly code: string;
  readonly severity: DiagnosticSeverity;
  readonly message: string;
  /** Relative to the root. */
  readonly path?: string;
  /** Where in that file, from 1. */
  readonly line?: number;
  readonly column?: number;
}

/** One line for people: `agents/support.ts:3:1: [code] message`. */
export function formatDiagnostic({ code, message, path, line, column }: ThinkDiagnostic): string {
  const place = [path, line, column].filter((part) => part !== undefined).join(":");
  return `${place === "" ? "" : `${place}: `}[${code}] ${message}`;
}

/**
 * The manifest in a few lines: a count, and one line per agent and workflow.
 *
 * @example
 * console.log(summarizeThinkManifest(manifest).join("\n"));
 * // 1 agent, 1 sub-agent, routes below /agents
 * // - support | class ThinkAgent_Support | /agents/support/*
 * // - support/researcher | class ThinkSubAgent_Support_Researcher | of support
 */
export function summarizeThinkManifest(manifest: ThinkManifest): string[] {
  const subAgents = manifest.agents.filter(({ kind }) => kind === "sub-agent").length;
  const counts = [
    countText(manifest.agents.length - subAgents, "agent"),
    ...(subAgents > 0 ? [countText(subAgents, "sub-agent")] : []),
    ...(manifest.workflows.length > 0 ? [countText(manifest.workflows.length, "workflow")] : [])
  ];
  return [
    `${counts.join(", ")}, routes below ${manifest.routePrefix}`,
    ...manifest.agents.map((agent) => agentLine(manifest, agent)),
    ...manifest.workflows.map(
      ({ binding, className, sourcePath }) => `- ${binding} | workflow ${className} | ${sourcePath}`
    )
  ];
}

function agentLine(manifest: ThinkManifest, agent: ThinkManifestAgent): string {
  const place = agent.parentId === undefined ? `${manifest.routePrefix}/${agent.id}/*` : `of ${agent.parentId}`;
  const features = agent.features.length > 0 ? [`features ${agent.features.join(", ")}`] : [];
  return `- ${[agent.id, `class ${agent.className}`, place, ...features].join(" | ")}`;
}
