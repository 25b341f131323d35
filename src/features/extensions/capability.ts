// Extensions as a capability: settings and the override point.
import { chatCapability } from "../../feature/capability.ts";
import { isOverridden } from "../../feature/members.ts";
import { ExtensionRuntime } from "./extension-runtime.ts";
import type { ExtensionConfig, ExtensionManager } from "./manager.ts";
import type { IsolateLoader } from "../../sandbox/isolate.ts";

export class ExtensionMembers {
  /**
   * The `worker_loaders` binding. Without it the agent has no extensions.
   * @example
   * extensionLoader = this.env.LOADER;
   */
  extensionLoader: IsolateLoader | undefined = undefined;

  /** Loads and unloads extensions while the agent runs. Made at the start of an agent with `extensionLoader`. */
  extensionManager: ExtensionManager | undefined = undefined;

  /**
   * Milliseconds that one hook of an extension may take.
   * @example
   * hookTimeout = 10_000;
   */
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

/** A class without `extensionLoader` pays nothing. */
export const extensions = chatCapability({
  name: "extensions",
  members: ExtensionMembers,
  isUsed: (agent) => {
    // Only agents with these members are asked.
    const { extensionLoader, extensionManager } = agent as ExtensionMembers;
    const isUsed = extensionLoader !== undefined || extensionManager !== undefined;
    if (!isUsed && isOverridden(agent, "getExtensions"))
      console.warn("getExtensions() is not asked: extensionLoader is not set to the worker_loaders binding.");
    return isUsed;
  },
  feature: (services) => new ExtensionRuntime(services)
});
