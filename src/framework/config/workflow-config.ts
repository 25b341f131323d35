// Workflows in the Worker configuration: what is inferred of them, how it joins what the user wrote, and what is wrong.
import type { ThinkDiagnostic, ThinkManifest } from "../manifest/manifest.ts";
import type { SourceExports } from "../manifest/module-exports.ts";
import { agentIdSegment } from "../manifest/names.ts";
import { isOfAnotherWorker, type ThinkWorkerConfig, type WorkflowBindingConfig } from "./worker-config.ts";

export function inferredWorkflows({ workflows }: ThinkManifest, workerName: string): WorkflowBindingConfig[] {
  return workflows.map(({ binding, className }) => ({
    name: workflowName(workerName, className),
    binding,
    class_name: className
  }));
}

/** Workflows of an account share one list of names, so the Worker's is a part of each. */
function workflowName(workerName: string, className: string): string {
  return `${workerName}-${agentIdSegment(className)}`;
}

/** The user's as they are, then those of classes that the user does not bind. */
export function mergeWorkflows(
  inferred: ThinkWorkerConfig,
  user: ThinkWorkerConfig,
  diagnostics: ThinkDiagnostic[]
): readonly WorkflowBindingConfig[] {
  const own = user.workflows ?? [];
  const missing = (inferred.workflows ?? []).filter(
    ({ class_name: name }) => !own.some((one) => one.class_name === name && !isOfAnotherWorker(one))
  );
  const taken = new Map([
    ...own.map(({ binding, class_name: className }) => [binding, className] as const),
    ...(user.durable_objects?.bindings ?? []).map(({ name, class_name: className }) => [name, className] as const)
  ]);
  for (const { binding, class_name: className } of missing) {
    if (!taken.has(binding)) continue;
    diagnostics.push({
      code: "workflow-binding-conflict",
      severity: "error",
      message: `The binding ${binding} is for ${taken.get(binding)}, and the workflow ${className} needs it. Bind ${className} under another name in "workflows", or rename that binding.`
    });
  }
  const workerName = user.name ?? inferred.name ?? "";
  const added = missing
    .filter(({ binding }) => !taken.has(binding))
    .map((one) => ({ ...one, name: workflowName(workerName, one.class_name) }));
  return [...own, ...added];
}

export interface WorkflowCheckOptions {
  readonly sources: SourceExports;
  /** The Worker's own main module exports what it likes. */
  readonly allowNonVirtualMain: boolean;
}

/** Bindings without a class, classes without a binding, and calls of `runWorkflow` that name none. */
export function diagnoseWorkflowConfig(
  manifest: ThinkManifest,
  config: ThinkWorkerConfig,
  { sources, allowNonVirtualMain }: WorkflowCheckOptions
): ThinkDiagnostic[] {
  const bound = config.workflows ?? [];
  const missing = manifest.workflows
    .filter(({ className }) => !bound.some((one) => one.class_name === className && !isOfAnotherWorker(one)))
    .map(({ className, binding, sourcePath }): ThinkDiagnostic => ({
      code: "missing-workflow-binding",
      severity: "error",
      message: `${className} (${sourcePath}) has no entry under workflows. Add { "name": "…", "binding": "${binding}", "class_name": "${className}" }, use cloudflare({ config: thinkWorkerConfig() }) in vite.config.ts, or run: everthink config --write`
    }));
  const isChecked = sources.size > 0 && !allowNonVirtualMain;
  return [
    ...missing,
    ...(isChecked ? unexportedClasses(manifest, bound, sources) : []),
    ...unknownBindings(bound, sources)
  ];
}

function unexportedClasses(
  { workflows, appEntrypoint }: ThinkManifest,
  bound: readonly WorkflowBindingConfig[],
  sources: SourceExports
): ThinkDiagnostic[] {
  const app = appEntrypoint === undefined ? undefined : sources.get(appEntrypoint);
  // What the app passes on from elsewhere is not looked at.
  if (appEntrypoint !== undefined && (app === undefined || app.exportsAllOf.length > 0 || app.syntaxError)) return [];
  const exported = new Set([
    ...workflows.map(({ className }) => className),
    ...(app?.exports ?? []).map(({ name }) => name)
  ]);
  return bound
    .filter((one) => !isOfAnotherWorker(one) && !exported.has(one.class_name))
    .map(({ binding, class_name: className }) => ({
      code: "workflow-export-missing",
      severity: "error",
      message: `The workflow ${binding} needs the class ${className}, which no file exports. Put it into src/workflows/, or export it from src/server.ts.`
    }));
}

function unknownBindings(bound: readonly WorkflowBindingConfig[], sources: SourceExports): ThinkDiagnostic[] {
  const known = bound.map(({ binding }) => binding);
  return [...sources].flatMap(([path, { workflowCalls }]) =>
    workflowCalls
      .filter(({ binding }) => !known.includes(binding))
      .map(({ binding, line, column }): ThinkDiagnostic => ({
        code: "unknown-workflow-binding",
        severity: "warning",
        message: `runWorkflow("${binding}") names no workflow of this Worker${known.length === 0 ? "" : ` (${known.join(", ")})`}.`,
        path,
        line,
        column
      }))
  );
}
