// The user's Worker configuration with what the agents need added. Everything the user wrote stays as it is, in order:
// the result is what is built and deployed, so a dropped migration would cost data.
import type { ThinkDiagnostic, ThinkManifest } from "../manifest/manifest.ts";
import {
  createThinkWorkerDefaults,
  isInferred,
  isOfAnotherWorker,
  migratedClasses,
  type DurableObjectBindingConfig,
  type MigrationConfig,
  type ThinkWorkerConfig,
  type WorkerConfigOptions
} from "./worker-config.ts";
import { mergeWorkflows } from "./workflow-config.ts";

export interface MergedWorkerConfig {
  readonly config: ThinkWorkerConfig;
  readonly diagnostics: readonly ThinkDiagnostic[];
}

/**
 * Adds inferred values to a user's configuration. What `createThinkWorkerDefaults` made is known as inferred in either place:
 * code written for the original gives it second.
 *
 * @example
 * const { config } = mergeThinkWorkerConfig(createThinkWorkerDefaults(manifest), { name: "shop" });
 */
export function mergeThinkWorkerConfig(first: ThinkWorkerConfig, second: ThinkWorkerConfig = {}): MergedWorkerConfig {
  const isUserFirst = isInferred(second) && !isInferred(first);
  return isUserFirst ? merge(second, first) : merge(first, second);
}

function merge(inferred: ThinkWorkerConfig, user: ThinkWorkerConfig): MergedWorkerConfig {
  const diagnostics: ThinkDiagnostic[] = [];
  const bindings = mergeBindings(inferred, user, diagnostics);
  const migrations = mergeMigrations(inferred, user, diagnostics);
  const workflows = mergeWorkflows(inferred, user, diagnostics);
  const userFirst = user.assets?.run_worker_first;
  const inferredFirst = inferred.assets?.run_worker_first;
  return {
    config: {
      ...inferred,
      ...user,
      compatibility_flags: union(inferred.compatibility_flags ?? [], user.compatibility_flags ?? []),
      durable_objects: { ...user.durable_objects, bindings },
      // The newer map of exports takes the place of migrations; Wrangler refuses both in one file.
      ...(hasExportsMap(user) ? {} : { migrations }),
      ...((inferred.workflows ?? user.workflows) && { workflows }),
      assets: {
        ...inferred.assets,
        ...user.assets,
        // `true` is every path.
        run_worker_first:
          userFirst === true ? true : union(listOf(inferredFirst), userFirst === false ? [] : listOf(userFirst))
      }
    },
    diagnostics
  };
}

/** Inferred configuration of a manifest, with the user's merged in. */
export function createThinkWorkerConfig(
  manifest: ThinkManifest,
  options: WorkerConfigOptions & { readonly userConfig?: ThinkWorkerConfig } = {}
): MergedWorkerConfig {
  const { userConfig = {}, ...rest } = options;
  return merge(createThinkWorkerDefaults(manifest, rest), userConfig);
}

/** The section of one environment over the top level, as Wrangler reads it: its bindings are not inherited. */
export function selectEnvironment(config: ThinkWorkerConfig, environment: string | undefined): ThinkWorkerConfig {
  const section = environment === undefined || environment === "" ? undefined : config.env?.[environment];
  if (section === undefined) return config;
  const {
    durable_objects: _objects,
    worker_loaders: _loaders,
    workflows: _workflows,
    env: _env,
    vars: _vars,
    ...inherited
  } = config;
  return { ...inherited, ...section };
}

export function hasExportsMap(config: ThinkWorkerConfig): boolean {
  const exports = config["exports"];
  return typeof exports === "object" && exports !== null && Object.keys(exports).length > 0;
}

function mergeBindings(
  inferred: ThinkWorkerConfig,
  user: ThinkWorkerConfig,
  diagnostics: ThinkDiagnostic[]
): DurableObjectBindingConfig[] {
  const own = user.durable_objects?.bindings ?? [];
  const added = (inferred.durable_objects?.bindings ?? []).filter(
    ({ class_name: name }) => !own.some((binding) => binding.class_name === name && !isOfAnotherWorker(binding))
  );
  for (const { name, class_name: className } of added) {
    const taken = own.find((binding) => binding.name === name);
    if (taken === undefined) continue;
    diagnostics.push({
      code: "durable-object-binding-conflict",
      severity: "error",
      message: `The binding ${name} is for ${taken.class_name}, and the agent's class ${className} needs it. Bind the agent's class under another name, or rename that binding.`
    });
  }
  return [...own, ...added.filter(({ name }) => !own.some((binding) => binding.name === name))];
}

function mergeMigrations(
  inferred: ThinkWorkerConfig,
  user: ThinkWorkerConfig,
  diagnostics: ThinkDiagnostic[]
): readonly MigrationConfig[] {
  const own = user.migrations ?? [];
  const { living, listed } = migratedClasses(own);
  for (const name of new Set(listed.filter((one, index) => listed.indexOf(one) !== index))) {
    diagnostics.push({
      code: "duplicate-migration-class",
      severity: "warning",
      message: `The class ${name} is created by two migrations. A class is created once.`
    });
  }
  if (own.length === 0) return inferred.migrations ?? [];
  const wanted = (inferred.migrations ?? []).flatMap((migration) => migration.new_sqlite_classes ?? []);
  const missing = wanted.filter((name) => !living.has(name));
  return missing.length === 0 ? own : [...own, { tag: freeTag(own), new_sqlite_classes: missing }];
}

function freeTag(migrations: readonly MigrationConfig[]): string {
  const tags = new Set(migrations.map(({ tag }) => tag));
  let number = 1;
  while (tags.has(`think-generated-v${number}`)) number += 1;
  return `think-generated-v${number}`;
}

function listOf(value: boolean | readonly string[] | undefined): readonly string[] {
  return typeof value === "object" ? value : [];
}

function union(first: readonly string[], second: readonly string[]): string[] {
  return [...new Set([...first, ...second])];
}
