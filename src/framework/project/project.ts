// A project on disk: its files, its manifest, its Worker configuration and what is wrong with them. Reading is here; what
// follows from it is pure and lives in manifest/, config/ and generate/.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { diagnoseThinkWorkerConfig } from "../config/diagnose-config.ts";
import { diagnoseWorkflowConfig } from "../config/workflow-config.ts";
import { mergeThinkWorkerConfig, selectEnvironment, type MergedWorkerConfig } from "../config/merge.ts";
import { readWranglerConfig, type WranglerConfigResult } from "../config/read-wrangler.ts";
import {
  createThinkWorkerDefaults,
  type ThinkWorkerConfig,
  type WorkerConfigOptions
} from "../config/worker-config.ts";
import { diagnoseAgentFolders, diagnoseThinkManifest } from "../manifest/diagnose.ts";
import { agentExport, diagnoseThinkSources } from "../manifest/diagnose-sources.ts";
import { discoverThinkApp } from "../manifest/discover.ts";
import type { ThinkDiagnostic, ThinkManifest } from "../manifest/manifest.ts";
import { readModuleExports, type ModuleParser, type SourceExports } from "../manifest/module-exports.ts";
import { resolveWorkflow } from "../manifest/workflows.ts";

/** More files than any `agents/` directory has: something else was linked into it. */
const FILE_LIMIT = 10_000;
const SKIPPED = new Set(["node_modules", ".git"]);

export interface ThinkProjectOptions extends WorkerConfigOptions {
  readonly root: string;
  readonly routePrefix?: string;
  readonly appEntry?: string;
  /** Instead of what is on disk: paths relative to the root. */
  readonly files?: readonly string[];
  /** Instead of one that is discovered. */
  readonly manifest?: ThinkManifest;
  readonly allowNonVirtualMain?: boolean;
  /** Reads exports; without it sources are not looked at. */
  readonly parse?: ModuleParser;
  /** Whether the build merges the configuration, so that what can be inferred need not be in the user's file. */
  readonly isConfigMerged?: boolean;
  /** `env.<name>` of the Wrangler file. */
  readonly environment?: string;
  /** False where a bundler shows them itself. */
  readonly reportSyntaxErrors?: boolean;
}

export interface ThinkProject {
  readonly root: string;
  readonly manifest: ThinkManifest;
  readonly sources: SourceExports;
  readonly wranglerConfig: WranglerConfigResult;
  readonly userConfig: ThinkWorkerConfig;
  readonly workerConfig: ThinkWorkerConfig;
  readonly diagnostics: readonly ThinkDiagnostic[];
}

/**
 * The paths that matter to the framework: everything below `agents/` and `src/workflows/`, and `src/server.*`.
 *
 * @example
 * discoverThinkApp({ files: readProjectFiles(process.cwd()) });
 */
export function readProjectFiles(root: string): string[] {
  const folders = [join(root, "agents"), join(root, "src", "workflows")];
  const found = folders.flatMap((folder) => (existsSync(folder) ? filesBelow(folder) : []));
  const source = join(root, "src");
  const app = existsSync(source) ? readdirSync(source).filter((name) => /^server\.(ts|tsx|js|mjs)$/.test(name)) : [];
  return [...found.map((file) => relative(root, file).split(sep).join("/")), ...app.map((name) => `src/${name}`)];
}

function filesBelow(folder: string): string[] {
  const found: string[] = [];
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined && found.length < FILE_LIMIT; next = folders.pop()) {
    for (const entry of readdirSync(next, { withFileTypes: true })) {
      const path = join(next, entry.name);
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) folders.push(path);
      else if (entry.isFile()) found.push(path);
    }
  }
  return found;
}

/** Everything about the project at a root. */
export function createThinkProject(options: ThinkProjectOptions): ThinkProject {
  const { root } = options;
  const wranglerConfig = readWranglerConfig(root);
  const userConfig = selectEnvironment(wranglerConfig.parsed ?? {}, options.environment);
  const files = options.files ?? readProjectFiles(root);
  const { manifest: discovered, sources } = readManifest(files, options);
  const manifest = resolveThinkManifest(discovered, { sources, userConfig });
  const project = { root, manifest, sources, wranglerConfig, userConfig };
  const merged = createThinkProjectWorkerConfigResult(project, options);
  const checked = options.isConfigMerged || wranglerConfig.parsed === undefined ? merged.config : userConfig;
  const allowNonVirtualMain = options.allowNonVirtualMain ?? doesMainImportEntry(root, userConfig);
  return {
    ...project,
    workerConfig: merged.config,
    diagnostics: [
      ...diagnoseThinkManifest(manifest),
      ...diagnoseAgentFolders(manifest, files),
      ...diagnoseThinkSources(manifest, sources, { syntaxErrors: options.reportSyntaxErrors ?? true }),
      ...unreadableConfig(wranglerConfig),
      ...merged.diagnostics,
      ...diagnoseThinkWorkerConfig(manifest, checked, { allowNonVirtualMain, userConfig }),
      ...diagnoseWorkflowConfig(manifest, checked, { sources, allowNonVirtualMain })
    ]
  };
}

/** The project's configuration with what its agents need. */
export function createThinkProjectWorkerConfigResult(
  { manifest, userConfig }: Pick<ThinkProject, "manifest" | "userConfig">,
  options: WorkerConfigOptions = {}
): MergedWorkerConfig {
  return mergeThinkWorkerConfig(createThinkWorkerDefaults(manifest, options), userConfig);
}

/** A discovered manifest with what sources and the user's configuration say: which export, which binding. */
export function resolveThinkManifest(
  manifest: ThinkManifest,
  { sources, userConfig }: { readonly sources?: SourceExports; readonly userConfig?: ThinkWorkerConfig }
): ThinkManifest {
  const agents = manifest.agents.map((agent) => {
    const exported = agentExport(sources?.get(agent.sourcePath)?.exports ?? []);
    return exported === undefined ? agent : { ...agent, exportName: exported.name };
  });
  const workflows = manifest.workflows.map((one) => resolveWorkflow(one, sources?.get(one.sourcePath)));
  return applyUserBindingNames({ ...manifest, agents, workflows }, userConfig ?? {});
}

/** Agents under the names by which the user's configuration binds their classes. */
export function applyUserBindingNames(manifest: ThinkManifest, config: ThinkWorkerConfig): ThinkManifest {
  const own = config.durable_objects?.bindings ?? [];
  const nameOf = (className: string) => own.find((one) => one.class_name === className && !one["script_name"])?.name;
  return {
    ...manifest,
    agents: manifest.agents.map((agent) => {
      const bindingName = agent.kind === "top-level" ? nameOf(agent.className) : undefined;
      return bindingName === undefined ? agent : { ...agent, bindingName };
    }),
    bindings: manifest.bindings.map((binding) => ({ ...binding, name: nameOf(binding.className) ?? binding.name })),
    workflows: manifest.workflows.map((workflow) => {
      const bound = config.workflows?.find((one) => one.class_name === workflow.className && !one["script_name"]);
      return bound === undefined ? workflow : { ...workflow, binding: bound.binding };
    })
  };
}

function readManifest(
  files: readonly string[],
  { root, manifest, parse, routePrefix, appEntry }: ThinkProjectOptions
): { manifest: ThinkManifest; sources: SourceExports } {
  const options = {
    files,
    root,
    routePrefix,
    appEntry
  };
  const plain = manifest ?? discoverThinkApp(options);
  if (parse === undefined) return { manifest: plain, sources: new Map() };
  const paths = [
    ...[...plain.agents, ...plain.workflows].map(({ sourcePath }) => sourcePath),
    ...(plain.appEntrypoint ? [plain.appEntrypoint] : [])
  ];
  const sources: SourceExports = new Map(
    paths.flatMap((path) => {
      const file = join(root, path);
      if (!existsSync(file)) return [];
      return [[path, readModuleExports({ path, text: readFileSync(file, "utf8") }, parse)] as const];
    })
  );
  const classNames = Object.fromEntries(
    [...sources].flatMap(([path, { className }]) => (className === undefined ? [] : [[path, className]]))
  );
  const isPinned = manifest === undefined && Object.keys(classNames).length > 0;
  return { manifest: isPinned ? discoverThinkApp({ ...options, classNames }) : plain, sources };
}

/** A Worker of a host framework re-exports the entry from a file of its own; an ejected one makes it itself. */
function doesMainImportEntry(root: string, { main }: ThinkWorkerConfig): boolean {
  if (main === undefined || !existsSync(join(root, main))) return false;
  return /["'](?:virtual:(?:ever)?think\/entry|everthink\/server-entry)["']/.test(
    readFileSync(join(root, main), "utf8")
  );
}

function unreadableConfig({ path, error }: WranglerConfigResult): ThinkDiagnostic[] {
  if (path === undefined || error === undefined) return [];
  const message = `It cannot be read (${error}), so the checks are made on the defaults.`;
  return [{ code: "unreadable-worker-config", severity: "warning", message, path }];
}
