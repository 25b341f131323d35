// The extensions of an agent class: its fields and the override point. What they do is in extensions.ts and in the folder of
// the extensions.
import type { ExtensionConfig, ExtensionManager } from "./manager.ts";
import type { IsolateLoader } from "../../sandbox/isolate.ts";
import { ExecutionAgent } from "../execute/execution-agent.ts";

export abstract class ExtensionAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends ExecutionAgent<Env, State, Props> {
  /** The `worker_loaders` binding. Without it the agent has no extensions. */
  extensionLoader: IsolateLoader | undefined = undefined;

  /** Loads and unloads extensions while the agent runs. Made at the start of an agent with `extensionLoader`. */
  extensionManager: ExtensionManager | undefined = undefined;

  /** Milliseconds that one hook of an extension may take. */
  hookTimeout = 5_000;

  /**
   * Extensions that are part of this class, in the order in which they are loaded and their hooks are called. Asked once per
   * start. They are not stored: one that is no longer returned is gone.
   *
   * @example
   * getExtensions() {
   *   return [{ manifest: { name: "audit", version: "1.0.0" }, source: auditSource }];
   * }
   */
  getExtensions(): readonly ExtensionConfig[] {
    return [];
  }
}
