// The merged Worker configuration as the `config` option of Cloudflare's Vite plugin: what is built and deployed then has
// the bindings and migrations of the agents, without a line in the user's file.
import { DEVELOPMENT_VARIABLE } from "../../util/development.ts";
import { dirname, resolve } from "node:path";
import { parseSync } from "vite";
import { selectEnvironment } from "../config/merge.ts";
import type { ThinkWorkerConfig } from "../config/worker-config.ts";
import { createThinkProject, type ThinkProjectOptions } from "../project/project.ts";
import { isObject } from "../../util/json.ts";
import { shellVariables } from "../project/declared-variables.ts";
import { INSPECTION_VARIABLE } from "../studio/studio-arguments.ts";

/** Projects of this process whose configuration is merged: the plugin need not ask for what will be there. */
const merged = new Set<string>();

export function isConfigMerged(root: string): boolean {
  return merged.has(resolve(root));
}

/** Classes that are exported already and not bound yet, by project; see `holdBack`. */
const heldBack = new Map<string, ReadonlySet<string>>();

/**
 * Leaves the bindings of these classes out until it is called again without any. Cloudflare's plugin starts workerd with
 * the exports it saw last: a binding to a class that is new to it would keep workerd from starting, so the class must be
 * exported in one start and bound in the next.
 */
export function holdBack(root: string, classes: readonly string[]): void {
  heldBack.set(resolve(root), new Set(classes));
}

/** What inspectors of a development server must have, by project. Never set for a build. */
const inspectionKeys = new Map<string, string>();

/** Read by agents: their clients are the developer's own, who is shown why a provider failed. */
/** Projects that run in a development server of this process. */
const developed = new Set<string>();

/** From now on the Worker of this project knows that it is developed, unless its own configuration says otherwise. */
export function markDeveloped(root: string): void {
  developed.add(resolve(root));
}

/** From now on the Worker of this project has the key, unless its own configuration names one. */
export function allowInspection(root: string, key: string): void {
  inspectionKeys.set(resolve(root), key);
}

export interface WorkerConfigHookOptions extends Omit<ThinkProjectOptions, "root" | "parse" | "isConfigMerged"> {
  /** Default: the folder of the Wrangler file, or the current one. */
  readonly root?: string;
}

/**
 * For `cloudflare({ config: thinkWorkerConfig() })`. Adds bindings, migrations, flags and routes to what the Wrangler
 * file says; the file itself stays as it is.
 */
export function thinkWorkerConfig(options: WorkerConfigHookOptions = {}): (config: object) => void {
  return (config) => {
    const file: unknown = Reflect.get(config, "configPath");
    const root = resolve(options.root ?? (typeof file === "string" ? dirname(file) : process.cwd()));
    merged.add(root);
    const environment = options.environment ?? process.env["CLOUDFLARE_ENV"];
    const { workerConfig, wranglerConfig } = createThinkProject({
      ...options,
      root,
      parse: parseSync,
      isConfigMerged: true,
      environment
    });
    const user = selectEnvironment(wranglerConfig.parsed ?? {}, environment);
    // In place: a value that is returned would be merged list by list, and the user's entries be there twice.
    const parts = inferredParts(withoutClasses(workerConfig, heldBack.get(root)), user);
    for (const [key, value] of Object.entries(parts)) Reflect.set(config, key, value);
    const inspectionKey = inspectionKeys.get(root);
    if (!developed.has(root) && inspectionKey === undefined) return;
    const variables: unknown = Reflect.get(config, "vars");
    Reflect.set(config, "vars", {
      ...(developed.has(root) && { [DEVELOPMENT_VARIABLE]: "1" }),
      ...(isObject(variables) && variables),
      ...(developed.has(root) && shellVariables(root, process.env)),
      ...(inspectionKey !== undefined && { [INSPECTION_VARIABLE]: inspectionKey })
    });
  };
}

/** Keys the merge may have changed. The loaded configuration keeps its own form of everything else. */
function inferredParts(merged: ThinkWorkerConfig, user: ThinkWorkerConfig): Partial<ThinkWorkerConfig> {
  const {
    name,
    main,
    compatibility_date: date,
    compatibility_flags: flags,
    durable_objects: objects,
    migrations,
    workflows,
    assets
  } = merged;
  return {
    ...(user.name === undefined && { name, topLevelName: name }),
    ...(user.main === undefined && { main }),
    ...(user.compatibility_date === undefined && { compatibility_date: date }),
    compatibility_flags: flags,
    durable_objects: objects,
    ...(migrations !== undefined && { migrations }),
    ...(workflows !== undefined && { workflows }),
    assets
  };
}

function withoutClasses(config: ThinkWorkerConfig, classes: ReadonlySet<string> | undefined): ThinkWorkerConfig {
  const { bindings = [] } = config.durable_objects ?? {};
  if (classes === undefined || classes.size === 0) return config;
  return {
    ...config,
    durable_objects: { bindings: bindings.filter(({ class_name: name }) => !classes.has(name)) },
    ...(config.workflows && { workflows: config.workflows.filter(({ class_name: name }) => !classes.has(name)) }),
    migrations: (config.migrations ?? []).map((migration) => ({
      ...migration,
      ...(migration.new_sqlite_classes && {
        new_sqlite_classes: migration.new_sqlite_classes.filter((name) => !classes.has(name))
      })
    }))
  };
}
