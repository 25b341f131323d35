// `everthink/framework`: the pure functions behind the plugin and the command line, and `agent()` for agent files.
export {
  agent,
  AgentDefinitionError,
  THINK_AGENT_DEFINITION,
  type AgentDefinition,
  type AgentOptions,
  type DefinedAgentClass
} from "./definition.ts";
export { diagnoseThinkWorkerConfig, type ConfigCheckOptions } from "./config/diagnose-config.ts";
export { createThinkWorkerConfig, mergeThinkWorkerConfig, type MergedWorkerConfig } from "./config/merge.ts";
export { readWranglerConfig, watchWranglerConfigFiles, type WranglerConfigResult } from "./config/read-wrangler.ts";
export {
  createThinkWorkerDefaults,
  inferRequiredBindings,
  type DurableObjectBindingConfig,
  type MigrationConfig,
  type ThinkWorkerConfig,
  type WorkerConfigOptions,
  type WorkflowBindingConfig
} from "./config/worker-config.ts";
export {
  generateThinkAgentsModule,
  generateThinkConfigModule,
  generateThinkEntry,
  generateThinkManifestModule,
  generateThinkRouterModule,
  generateThinkServerEntryModule,
  type GenerateOptions
} from "./generate/code.ts";
export { ejectThinkEntry, type EjectOptions } from "./generate/eject.ts";
export { generateThinkTypes, isThinkGeneratedFile, type GenerateTypesOptions } from "./generate/declarations.ts";
export { diagnoseThinkManifest } from "./manifest/diagnose.ts";
export { diagnoseThinkSources, type SourceCheckOptions } from "./manifest/diagnose-sources.ts";
export { discoverThinkApp, type DiscoverOptions } from "./manifest/discover.ts";
export {
  formatDiagnostic,
  summarizeThinkManifest,
  type DiagnosticSeverity,
  type ThinkDiagnostic,
  type ThinkFeatureName,
  type ThinkManifest,
  type ThinkManifestAgent,
  type ThinkManifestBinding,
  type ThinkManifestRoute,
  type ThinkManifestWorkflow,
  type ThinkPlatformRequirement,
  type ThinkRouteSurface
} from "./manifest/manifest.ts";
export type {
  ExportKind,
  ModuleExport,
  ModuleExports,
  ModuleParser,
  SourceExports
} from "./manifest/module-exports.ts";
export {
  applyUserBindingNames,
  createThinkProject,
  createThinkProjectWorkerConfigResult,
  readProjectFiles,
  resolveThinkManifest,
  type ThinkProject,
  type ThinkProjectOptions
} from "./project/project.ts";
