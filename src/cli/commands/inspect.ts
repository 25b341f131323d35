// `everthink inspect`: what the framework makes of a project, and what is wrong with it.
import { formatDiagnostic, type ThinkManifestWorkflow } from "../../framework/manifest/manifest.ts";
import type { ThinkProject } from "../../framework/project/project.ts";
import type { CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { loadProject } from "../load-project.ts";

export async function runInspect(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const environment = parsed.text("env");
  const allowNonVirtualMain = parsed.flag("allow-non-virtual-main");
  const project = await loadProject(parsed, context, {
    environment,
    allowNonVirtualMain
  });
  context.print(parsed.flag("json") ? JSON.stringify(asJson(project), null, 2) : asText(project));
  return project.diagnostics.some(({ severity }) => severity === "error") ? 1 : 0;
}

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
