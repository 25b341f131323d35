// The Worker configuration that a manifest asks for, in Wrangler's words. What the user wrote is merged in merge.ts.
import type { ThinkManifest } from "../manifest/manifest.ts";
import { inferredWorkflows } from "./workflow-config.ts";
import { textsIn } from "../../util/json.ts";

export interface DurableObjectBindingConfig {
  readonly name: string;
  readonly class_name: string;
  readonly [field: string]: unknown;
}

export interface WorkflowBindingConfig {
  readonly name: string;
  readonly binding: string;
  readonly class_name: string;
  readonly [field: string]: unknown;
}

/** A class of another Worker only has the same name. */
export function isOfAnotherWorker(binding: DurableObjectBindingConfig | WorkflowBindingConfig): boolean {
  return typeof binding["script_name"] === "string";
}

export interface MigrationConfig {
  readonly tag: string;
  readonly new_sqlite_classes?: readonly string[];
  readonly [field: string]: unknown;
}

/** Wrangler's configuration, as far as the framework reads it; everything else is passed on. */
export interface ThinkWorkerConfig {
  readonly name?: string;
  readonly main?: string;
  readonly compatibility_date?: string;
  readonly compatibility_flags?: readonly string[];
  readonly durable_objects?: { readonly bindings?: readonly DurableObjectBindingConfig[] };
  readonly migrations?: readonly MigrationConfig[];
  readonly workflows?: readonly WorkflowBindingConfig[];
  readonly assets?: {
    readonly not_found_handling?: string;
    readonly run_worker_first?: boolean | readonly string[];
    readonly [field: string]: unknown;
  };
  readonly worker_loaders?: readonly { readonly binding?: string }[];
  readonly env?: Readonly<Record<string, ThinkWorkerConfig>>;
  readonly [field: string]: unknown;
}

export const VIRTUAL_ENTRY = "virtual:everthink/entry";
export const DEFAULT_WORKER_NAME = "think-app";
export const DEFAULT_COMPATIBILITY_DATE = "2026-09-18";

export interface WorkerConfigOptions {
  readonly name?: string;
  readonly main?: string;
  readonly compatibilityDate?: string;
}

/**
 * The whole configuration of an app whose user wrote none.
 *
 * @example
 * createThinkWorkerDefaults(discoverThinkApp({ files: ["agents/support.ts"] })).durable_objects;
 * // { bindings: [{ name: "ThinkAgent_Support", class_name: "ThinkAgent_Support" }] }
 */
export function createThinkWorkerDefaults(
  manifest: ThinkManifest,
  options: WorkerConfigOptions = {}
): ThinkWorkerConfig {
  const classes = manifest.bindings.map(({ className }) => className);
  const { name = DEFAULT_WORKER_NAME } = options;
  const defaults: ThinkWorkerConfig = {
    name,
    main: options.main ?? VIRTUAL_ENTRY,
    compatibility_date: options.compatibilityDate ?? DEFAULT_COMPATIBILITY_DATE,
    compatibility_flags: ["nodejs_compat"],
    durable_objects: { bindings: classes.map((className) => ({ name: className, class_name: className })) },
    migrations: classes.length === 0 ? [] : [{ tag: "v1", new_sqlite_classes: classes }],
    ...(manifest.workflows.length > 0 && { workflows: inferredWorkflows(manifest, name) }),
    assets: {
      not_found_handling: "single-page-application",
      run_worker_first: [`${manifest.routePrefix}/*`, "/messengers/*", "/__think/*"]
    }
  };
  INFERRED.add(defaults);
  return defaults;
}

const INFERRED = new WeakSet<ThinkWorkerConfig>();

/** Whether `createThinkWorkerDefaults` made it: a user's configuration and an inferred one have the same type. */
export function isInferred(config: ThinkWorkerConfig): boolean {
  return INFERRED.has(config);
}

/** Bindings that the agents need, in Wrangler's words. */
export function inferRequiredBindings(manifest: ThinkManifest): {
  durable_objects: DurableObjectBindingConfig[];
  worker_loaders: { binding: string }[];
  workflows: { binding: string; class_name: string }[];
} {
  const loaders = [...new Set(manifest.platformRequirements.map(({ binding }) => binding))];
  return {
    durable_objects: manifest.bindings.map(({ name, className }) => ({ name, class_name: className })),
    worker_loaders: loaders.map((binding) => ({ binding })),
    workflows: manifest.workflows.map(({ binding, className }) => ({ binding, class_name: className }))
  };
}

/** Classes that exist after a configuration's migrations, however they came to be; and those that were removed. */
export function migratedClasses(migrations: readonly MigrationConfig[]): { living: Set<string>; listed: string[] } {
  const living = new Set<string>();
  const listed: string[] = [];
  for (const migration of migrations) {
    for (const { from, to } of renamesOf(migration["renamed_classes"])) {
      living.delete(from);
      living.add(to);
    }
    for (const { to } of renamesOf(migration["transferred_classes"])) living.add(to);
    for (const name of textsIn(migration["deleted_classes"])) living.delete(name);
    const created = [...textsIn(migration.new_sqlite_classes), ...textsIn(migration["new_classes"])];
    listed.push(...created);
    for (const name of created) living.add(name);
  }
  return { living, listed };
}

function renamesOf(value: unknown): { from: string; to: string }[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one: unknown) => {
    const { from, to } = { ...(one as object) } as { from?: unknown; to?: unknown };
    return typeof to === "string" ? [{ from: typeof from === "string" ? from : "", to }] : [];
  });
}
