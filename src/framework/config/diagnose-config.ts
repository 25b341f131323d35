// What is wrong with a Worker configuration for a manifest. Run against the user's own file it says what must be written
// there; run against the merged configuration it says what cannot be inferred.
import { looksGenerated } from "../manifest/names.ts";
import type { ThinkDiagnostic, ThinkManifest } from "../manifest/manifest.ts";
import { hasExportsMap } from "./merge.ts";
import { isOfAnotherWorker, migratedClasses, type ThinkWorkerConfig } from "./worker-config.ts";

export interface ConfigCheckOptions {
  /** The Worker's own main module re-exports the entry. */
  readonly allowNonVirtualMain?: boolean;
  /** What the user wrote, where `config` is already merged: only that says which classes hold data. */
  readonly userConfig?: ThinkWorkerConfig;
}

const ENTRY_IDS = ["virtual:everthink/entry", "virtual:think/entry"];

/**
 * Checks a Worker configuration against a manifest.
 *
 * @example
 * diagnoseThinkWorkerConfig(manifest, { main: "virtual:everthink/entry" })[0]?.code; // "missing-durable-object-class"
 */
export function diagnoseThinkWorkerConfig(
  manifest: ThinkManifest,
  config: ThinkWorkerConfig,
  options: ConfigCheckOptions = {}
): ThinkDiagnostic[] {
  return [
    ...unexpectedMain(manifest, config, options),
    ...missingClasses(manifest, config),
    ...removedClasses(manifest, options.userConfig ?? config),
    ...missingLoaders(manifest, config),
    ...routing(manifest, config),
    ...unneededBindings(manifest, config),
    ...deprecatedMain(config)
  ];
}

export function isVirtualEntry(main: string): boolean {
  return ENTRY_IDS.some((id) => main === id || main.endsWith(`/${id}`));
}

function unexpectedMain(
  { agents }: ThinkManifest,
  { main }: ThinkWorkerConfig,
  { allowNonVirtualMain }: ConfigCheckOptions
): ThinkDiagnostic[] {
  if (agents.length === 0 || main === undefined || isVirtualEntry(main) || allowNonVirtualMain) return [];
  const message = `main is "${main}", so the generated entry is not used. Set it to "${ENTRY_IDS[0]}"; what your Worker does besides its agents belongs in src/server.ts.`;
  return [error("unexpected-worker-main", message)];
}

/** Accepted for ever, as projects that moved here have it. */
function deprecatedMain({ main }: ThinkWorkerConfig): ThinkDiagnostic[] {
  if (main === undefined || !main.endsWith("virtual:think/entry")) return [];
  const message = `main is "virtual:think/entry", which works; its name here is "${ENTRY_IDS[0]}".`;
  return [{ code: "deprecated-virtual-id", severity: "info", message }];
}

function missingClasses(manifest: ThinkManifest, config: ThinkWorkerConfig): ThinkDiagnostic[] {
  const bindings = config.durable_objects?.bindings ?? [];
  const { living } = migratedClasses(config.migrations ?? []);
  return manifest.agents
    .filter(({ kind }) => kind === "top-level")
    .flatMap(({ id, className, sourcePath }) => {
      const isBound = bindings.some((binding) => binding.class_name === className && !isOfAnotherWorker(binding));
      const of = `${className}, the class of agent "${id}" (${sourcePath}),`;
      return [
        ...(isBound
          ? []
          : [error("missing-durable-object-class", `${of} has no binding under durable_objects. ${HOW_TO_ADD}`)]),
        ...(living.has(className) || hasExportsMap(config)
          ? []
          : [error("missing-migration-class", `${of} is in no new_sqlite_classes of the migrations. ${HOW_TO_ADD}`)])
      ];
    });
}

const HOW_TO_ADD =
  "Use cloudflare({ config: thinkWorkerConfig() }) in vite.config.ts, or run: everthink config --write";

/** A file that was moved or renamed leaves its class, and with it its conversations, behind. */
function removedClasses(manifest: ThinkManifest, config: ThinkWorkerConfig): ThinkDiagnostic[] {
  const produced = manifest.bindings.map(({ className }) => className);
  const { living } = migratedClasses(config.migrations ?? []);
  const removed = [...living].filter((name) => looksGenerated(name) && !produced.includes(name));
  const appeared = produced.filter((name) => !living.has(name));
  return removed.map((name) => {
    const [to = "NewClass"] = appeared.length === 1 && removed.length === 1 ? appeared : [];
    const rename = `{ "tag": "…", "renamed_classes": [{ "from": "${name}", "to": "${to}" }] }`;
    const message = `No file produces ${name} any more, and its data would be lost. If the agent was renamed, add the migration ${rename}, or keep the name in its file: export const className = "${name}". If it is gone for good: { "tag": "…", "deleted_classes": ["${name}"] }.`;
    return error("agent-class-removed", message);
  });
}

function missingLoaders(manifest: ThinkManifest, config: ThinkWorkerConfig): ThinkDiagnostic[] {
  const bound = new Set((config.worker_loaders ?? []).map(({ binding }) => binding));
  return manifest.platformRequirements
    .filter(({ binding }) => !bound.has(binding))
    .map(({ binding, reason, sourcePath }) => ({
      ...error("missing-worker-loader-binding", `${reason} Add "worker_loaders": [{ "binding": "${binding}" }].`),
      path: sourcePath
    }));
}

function routing(manifest: ThinkManifest, config: ThinkWorkerConfig): ThinkDiagnostic[] {
  const first = config.assets?.run_worker_first;
  if (!Array.isArray(first) || first.length === 0 || manifest.agents.length === 0) return [];
  const patterns: readonly string[] = first;
  const severity = manifest.appEntrypoint === undefined ? "warning" : "info";
  const agents = `${manifest.routePrefix}/*`;
  const misses = manifest.routeSurfaces.filter(
    ({ id, pattern }) => id === "internal:think" && !isCovered(pattern, patterns)
  );
  return [
    ...(isCovered(agents, patterns)
      ? []
      : [{ code: "custom-agent-routing", severity, message: notFirst(agents) } as const]),
    ...misses.map(
      ({ pattern }) => ({ code: "custom-think-route-surface-routing", severity, message: notFirst(pattern) }) as const
    )
  ];
}

function notFirst(pattern: string): string {
  return `assets.run_worker_first does not name "${pattern}": requests there get a file, or the page, before the Worker sees them.`;
}

/** Exactly, or by a pattern that ends in "/*". */
function isCovered(pattern: string, patterns: readonly string[]): boolean {
  return patterns.some(
    (one) => one === pattern || one === "/*" || (one.endsWith("/*") && pattern.startsWith(one.slice(0, -1)))
  );
}

/** Sub-agents live inside their parent. */
function unneededBindings(manifest: ThinkManifest, config: ThinkWorkerConfig): ThinkDiagnostic[] {
  const subAgents = new Map(
    manifest.agents.flatMap(({ kind, id, className }) => (kind === "sub-agent" ? [[className, id] as const] : []))
  );
  return (config.durable_objects?.bindings ?? []).flatMap((binding) => {
    const id = subAgents.get(binding.class_name);
    if (id === undefined || isOfAnotherWorker(binding)) return [];
    const message = `${binding.class_name} is the sub-agent "${id}": it needs no binding and no migration.`;
    return [{ code: "facet-binding-unneeded", severity: "info", message } as const];
  });
}

function error(code: string, message: string): ThinkDiagnostic {
  return { code, severity: "error", message };
}
