// `everthink inspect`: what the framework makes of a project, and what is wrong with it.
import { formatDiagnostic, type ThinkManifestWorkflow } from "../../framework/manifest/manifest.ts";
import type { ThinkProject } from "../../framework/project/project.ts";
import { parseCommandLine, type CommandDefinition } from "../cli-context.ts";
import { loadProject, PROJECT_OPTIONS } from "../load-project.ts";

const HELP = `everthink inspect [options]

Shows the agents of a project, their routes and objects, and everything that is wrong. Exits with 1 if there are errors.

  --root <folder>            the project; the current folder without it
  --json                     { root, manifest, workerConfig, diagnostics, wranglerConfig }
  --route-prefix <path>      /agents
  --env <name>               an environment of the Wrangler file
  --allow-non-virtual-main   the Worker has a main module of its own, which re-exports the entry
`;

export const inspectCommand: CommandDefinition = {
  name: "inspect",
  summary: "shows the agents of a project, and what is wrong with it",
  help: HELP,
  async run(args, context) {
    const options = { ...PROJECT_OPTIONS, json: { type: "boolean" } } as const;
    const parsed = parseCommandLine(args, { options, positionals: 0, name: "inspect" });
    const project = await loadProject(parsed, context);
    context.print(parsed.flag("json") ? JSON.stringify(asJson(project), null, 2) : asText(project));
    return project.diagnostics.some(({ severity }) => severity === "error") ? 1 : 0;
  }
};

function asJson({ root, manifest, workerConfig, diagnostics, wranglerConfig }: ThinkProject): object {
  const { path = null, parsed = null, error = null } = wranglerConfig;
  return { root, manifest, workerConfig, diagnostics, wranglerConfig: { path, parsed, error } };
}

function asText(project: ThinkProject): string {
  const { root, manifest, wranglerConfig, diagnostics } = project;
  const list = (lines: readonly string[]) => (lines.length === 0 ? ["  none"] : lines.map((line) => `  ${line}`));
  return [
    `Project        ${root}`,
    `Prefix         ${manifest.routePrefix}`,
    `App entry      ${manifest.appEntrypoint ?? "none"}`,
    `Wrangler file  ${wranglerConfig.path ?? "none"}`,
    `Features       ${manifest.features.join(", ") || "none"}`,
    "",
    "Agents",
    ...list(manifest.agents.map(({ id, className, sourcePath }) => `${id}  ${className}  ${sourcePath}`)),
    "Routes",
    ...list(manifest.routeSurfaces.map(({ pattern }) => pattern)),
    "Durable Objects",
    ...list(manifest.bindings.map(({ name, className }) => (name === className ? name : `${name} (${className})`))),
    ...(manifest.workflows.length === 0 ? [] : ["Workflows", ...list(manifest.workflows.map(workflowLine))]),
    "Requirements",
    ...list(manifest.platformRequirements.map(({ kind, binding, reason }) => `${kind} ${binding}: ${reason}`)),
    "Diagnostics",
    ...list(diagnostics.map((diagnostic) => `${diagnostic.severity}: ${formatDiagnostic(diagnostic)}`))
  ].join("\n");
}

function workflowLine({ binding, className, sourcePath }: ThinkManifestWorkflow): string {
  return `${binding}  ${className}  ${sourcePath}`;
}
