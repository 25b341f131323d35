// Workflows of a project: files in `workflows/` beside the code of an agent, and in `src/workflows/`. Paths decide which
// files there are; which class a file holds is read from its exports, since the user's code names classes in its own words.
import type { ThinkDiagnostic, ThinkManifest, ThinkManifestWorkflow } from "./manifest.ts";
import { classOrigin, type ModuleExport, type ModuleExports, type SourceExports } from "./module-exports.ts";
import { agentIdSegment, isModuleName, parseAgentPath, pascalCase } from "./names.ts";

const FOLDER = /^(?<owner>src|agents\/.+)\/workflows\/(?<file>[^/]+)$/;

/** Under the name of the file; `resolveWorkflow` has the name of the class. */
export function discoverWorkflows(files: readonly string[]): ThinkManifestWorkflow[] {
  return files.flatMap((path) => {
    const { owner = "", file = "" } = FOLDER.exec(path)?.groups ?? {};
    const isOwned = owner === "src" || parseAgentPath(`${owner}.ts`) !== undefined;
    if (!isOwned || !isModuleName(file)) return [];
    const className = classNameOf(path);
    return [
      {
        className,
        binding: workflowBinding(className),
        importPath: `/${path}`,
        sourcePath: path,
        exportName: className
      }
    ];
  });
}

/** "ImportOrders" is bound as IMPORT_ORDERS. */
export function workflowBinding(className: string): string {
  return agentIdSegment(className).replaceAll("-", "_").toUpperCase();
}

/** The workflow with the class that its file exports, where that can be read. */
export function resolveWorkflow(
  workflow: ThinkManifestWorkflow,
  source: ModuleExports | undefined
): ThinkManifestWorkflow {
  const exported = workflowExport(source?.exports ?? []);
  if (exported === undefined) return workflow;
  const named = exported.name === "default" ? exported.declaredName : exported.name;
  const className = named ?? classNameOf(workflow.sourcePath);
  return { ...workflow, className, binding: workflowBinding(className), exportName: exported.name };
}

/** The default export, or the only class. Of a file without classes, what it passes on from another one. */
function workflowExport(exports: readonly ModuleExport[]): ModuleExport | undefined {
  const standard = exports.find(({ name, kind }) => name === "default" && (kind === "class" || kind === "value"));
  if (standard !== undefined) return standard;
  const classes = exports.filter(({ kind }) => kind === "class");
  const candidates = classes.length > 0 ? classes : exports.filter(({ from }) => from !== undefined);
  return candidates.length === 1 ? candidates[0] : undefined;
}

function classNameOf(path: string): string {
  const file = path.split("/").at(-1) ?? "";
  return pascalCase(agentIdSegment(file.replace(/\.[^.]+$/, "")));
}

export function diagnoseWorkflowSources(manifest: ThinkManifest, sources: SourceExports): ThinkDiagnostic[] {
  return [
    ...manifest.workflows.flatMap(({ sourcePath }) => exportErrors(sourcePath, sources.get(sourcePath))),
    ...repeatedNames(manifest),
    ...clashingExports(manifest, sources)
  ];
}

function exportErrors(path: string, source: ModuleExports | undefined): ThinkDiagnostic[] {
  if (source === undefined || source.syntaxError !== undefined || source.exportsAllOf.length > 0) return [];
  const { exports } = source;
  if (workflowExport(exports) !== undefined) return [];
  const classes = exports.filter(({ kind }) => kind === "class");
  const at = classes[1] ?? exports[0];
  const place = { severity: "error", path, line: at?.line, column: at?.column } as const;
  if (classes.length > 1) {
    const names = classes.map(({ name }) => name).join(", ");
    const message = `${path} exports ${classes.length} classes (${names}) and no default. One file is one workflow: export it as default.`;
    return [{ ...place, code: "ambiguous-workflow-export", message }];
  }
  const message = `${path} exports no workflow. Export a class that extends ThinkWorkflow or AgentWorkflow, from "everthink/workflows"; a helper belongs in another folder, or in a file whose name starts with "_".`;
  return [{ ...place, code: "workflow-export-missing", message }];
}

/** Of classes with one name the Worker could export only one, and of equal bindings only one would be there. */
function repeatedNames({ agents, workflows }: ThinkManifest): ThinkDiagnostic[] {
  return workflows.flatMap(({ className, binding, sourcePath }, index): ThinkDiagnostic[] => {
    const first =
      agents.find((agent) => agent.className === className) ??
      workflows.slice(0, index).find((other) => other.className === className || other.binding === binding);
    if (first === undefined) return [];
    const message = `The class ${className}, bound as ${binding}, comes from ${first.sourcePath} and ${sourcePath}. Rename one of them.`;
    return [{ code: "duplicate-workflow-class", severity: "error", message, path: sourcePath }];
  });
}

/** `src/server.ts` may pass on the very class, as projects did before the framework looked for it. */
function clashingExports({ workflows, appEntrypoint }: ThinkManifest, sources: SourceExports): ThinkDiagnostic[] {
  if (appEntrypoint === undefined) return [];
  const exports = sources.get(appEntrypoint)?.exports ?? [];
  return workflows.flatMap(({ className, exportName, sourcePath }): ThinkDiagnostic[] => {
    const clash = exports.find(({ name }) => name === className);
    if (clash === undefined) return [];
    const own = sources.get(sourcePath)?.exports.find(({ name }) => name === exportName);
    const origins =
      own === undefined ? [] : [classOrigin(sourcePath, own), classOrigin(sourcePath, { name: own.name })];
    if (origins.includes(classOrigin(appEntrypoint, clash))) return [];
    const { line, column } = clash;
    const message = `${appEntrypoint} exports ${className}, which is the workflow of ${sourcePath}. Rename the export.`;
    return [{ code: "app-export-conflict", severity: "error", message, path: appEntrypoint, line, column }];
  });
}
