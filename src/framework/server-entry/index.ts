export { CodemodeRuntime } from "../../features/execute/codemode/runtime-class.ts";
export {
  buildThinkAgentPath,
  parseThinkAgentPath,
  type RoutedAgent,
  type RoutedManifest,
  type ThinkAgentRoute,
  type ThinkAgentStep
} from "./agent-path.ts";
export { thinkAgentClass, type AgentConstructor, type ConventionAgent } from "./agent-module.ts";
export {
  createThinkRouter,
  resolveThinkAgentName,
  resolveThinkSubAgentName,
  rewriteThinkSubAgentRequest,
  routeThinkRequest,
  type RequestTarget,
  type ThinkAuthorize,
  type ThinkRouter,
  type ThinkRouterOptions
} from "./router.ts";
export {
  createThinkWorkerEntry,
  type ThinkAppContext,
  type ThinkAppFetch,
  type ThinkWorkerEntry,
  type ThinkWorkerEntryOptions
} from "./worker-entry.ts";
