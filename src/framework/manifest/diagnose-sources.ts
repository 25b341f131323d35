// What is wrong with the agent files themselves, found at build instead of when the Worker is loaded. Only what is certain
// is an error: a file whose exports come from elsewhere, or from a call, is checked when it is loaded.
import type { ThinkDiagnostic, ThinkManifest, ThinkManifestAgent } from "./manifest.ts";
import {
  classOrigin,
  missingExport,
  type ModuleExport,
  type ModuleExports,
  type SourceExports
} from "./module-exports.ts";
import { diagnoseWorkflowSources } from "./workflows.ts";

export interface SourceCheckOptions {
  /** Bundlers report syntax errors themselves, with the code around them. */
  readonly syntaxErrors: boolean;
}

export function diagnoseThinkSources(
  manifest: ThinkManifest,
  sources: SourceExports,
  { syntaxErrors }: SourceCheckOptions = { syntaxErrors: true }
): ThinkDiagnostic[] {
  const modules = [...manifest.agents, ...manifest.workflows].map(({ sourcePath }) => sourcePath);
  const files = [...modules, manifest.appEntrypoint ?? ""];
  return [
    ...(syntaxErrors ? files.flatMap((path) => syntaxError(path, sources.get(path))) : []),
    ...manifest.agents.flatMap((agent) => exportErrors(agent, sources.get(agent.sourcePath))),
    ...sharedClasses(manifest, sources),
    ...clashingNames(manifest, sources),
    ...diagnoseWorkflowSources(manifest, sources)
  ];
}

/** The export that is the agent, where that can be read off the source. */
export function agentExport(exports: readonly ModuleExport[]): ModuleExport | undefined {
  const candidates = exports.filter(({ name, kind }) => name !== "className" && isPossible(kind));
  return candidates.find(({ name }) => name === "default") ?? (candidates.length === 1 ? candidates[0] : undefined);
}

function isPossible(kind: ModuleExport["kind"]): boolean {
  return kind === "class" || kind === "value";
}

function syntaxError(path: string, source: ModuleExports | undefined): ThinkDiagnostic[] {
  if (source?.syntaxError === undefined) return [];
  const { message, line, column } = source.syntaxError;
  return [{ code: "agent-syntax-error", severity: "error", message, path, line, column }];
}

function exportErrors({ sourcePath }: ThinkManifestAgent, source: ModuleExports | undefined): ThinkDiagnostic[] {
  if (source === undefined || source.syntaxError !== undefined || source.exportsAllOf.length > 0) return [];
  const error = (code: string, message: string, at?: ModuleExport): ThinkDiagnostic[] => [
    { code, severity: "error", message, path: sourcePath, line: at?.line, column: at?.column }
  ];
  const exports = source.exports.filter(({ name }) => name !== "className");
  const possible = exports.filter(({ kind }) => isPossible(kind));
  if (possible.length === 0) {
    const lookAlike = exports.find(({ kind }) => kind === "object");
    return error("missing-agent-export", missingExport(sourcePath, lookAlike !== undefined), lookAlike ?? exports[0]);
  }
  const classes = possible.filter(({ kind }) => kind === "class");
  if (classes.length < 2 || possible.some(({ name }) => name === "default")) return [];
  const names = classes.map(({ name }) => name).join(", ");
  const message = `${sourcePath} exports ${classes.length} classes (${names}) and no default. One file is one agent: export it as default.`;
  return error("ambiguous-agent-export", message, classes[1]);
}

/** One class under two names would be renamed twice, and one of its stores lost. */
function sharedClasses(manifest: ThinkManifest, sources: SourceExports): ThinkDiagnostic[] {
  const firstOf = new Map<string, string>();
  return manifest.agents.flatMap(({ sourcePath }): ThinkDiagnostic[] => {
    const exported = agentExport(sources.get(sourcePath)?.exports ?? []);
    if (exported === undefined) return [];
    const origin = classOrigin(sourcePath, exported);
    const first = firstOf.get(origin);
    if (first === undefined) {
      firstOf.set(origin, sourcePath);
      return [];
    }
    const message = `${sourcePath} and ${first} export the same class. Extend it in one of them: class Other extends It {}.`;
    const { line, column } = exported;
    return [{ code: "shared-agent-class", severity: "error", message, path: sourcePath, line, column }];
  });
}

/** The entry exports both: of two equal names neither would be exported. */
function clashingNames({ agents, appEntrypoint }: ThinkManifest, sources: SourceExports): ThinkDiagnostic[] {
  if (appEntrypoint === undefined) return [];
  const generated = new Set(agents.map(({ className }) => className));
  return (sources.get(appEntrypoint)?.exports ?? [])
    .filter(({ name }) => generated.has(name))
    .map(({ name, line, column }) => ({
      code: "app-export-conflict",
      severity: "error",
      message: `${appEntrypoint} exports ${name}, which is the generated name of an agent. Rename the export.`,
      path: appEntrypoint,
      line,
      column
    }));
}
