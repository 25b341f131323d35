export {
  createThinkViteManifest,
  createThinkViteWorkerConfig,
  createThinkViteWorkerConfigResult,
  think,
  type ThinkPluginOptions
} from "./plugin.ts";
export { think as default } from "./plugin.ts";
export { thinkWorkerConfig, type WorkerConfigHookOptions } from "./worker-config-hook.ts";
