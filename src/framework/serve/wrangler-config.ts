// A wrangler configuration, as a build writes it, to a manifest. Pure. What plain workerd cannot provide (KV, R2, cron
// triggers and so on) becomes a warning with its name: the Worker still starts, and finds that binding undefined.
import { DEFAULT_ASSET_SETTINGS, HTML_HANDLINGS, NOT_FOUND_HANDLINGS } from "./front/settings.ts";
import { serveErrors } from "./errors.ts";
import type { ModuleRule } from "./module-kind.ts";
import { type ClassMigration, objectClasses } from "./object-classes.ts";
import type { AssetFolder, Binding, WorkerManifest } from "./worker-manifest.ts";
import { textsIn } from "../../util/json.ts";

type Fields = Readonly<Record<string, unknown>>;

export function readBuiltConfig(config: unknown): WorkerManifest {
  const fields = fieldsOf(config);
  const warnings: string[] = [];
  const main = textOf(fields.main);
  if (main === undefined) throw serveErrors.UnusableBuildError('The configuration names no "main" module.');
  const compatibilityDate = textOf(fields.compatibility_date);
  if (compatibilityDate === undefined) {
    throw serveErrors.UnusableBuildError('The configuration has no "compatibility_date".');
  }
  const objectBindings = readObjectBindings(fields, warnings);
  const assets = readAssets(fieldsOf(fields.assets));
  const bindings: Binding[] = [
    ...objectBindings,
    ...listOf(fields.worker_loaders).flatMap((one) => named("loader", one.binding)),
    ...readServices(fields, warnings),
    ...(assets ? named("assets", fieldsOf(fields.assets).binding) : []),
    ...Object.entries(fieldsOf(fields.vars)).map(([name, value]): Binding =>
      typeof value === "string" ? { type: "text", name, value } : { type: "json", name, value }
    )
  ];
  warnings.push(...unsupportedBindings(fields));
  if (textsIn(fieldsOf(fields.triggers).crons).length > 0) warnings.push("Cron triggers are not run here.");
  const bound = objectBindings.flatMap((one) => (one.type === "object" ? [one.className] : []));
  return {
    main,
    rules: listOf(fields.rules).map((rule): ModuleRule => ({
      type: textOf(rule.type) ?? "",
      globs: textsIn(rule.globs)
    })),
    compatibilityDate,
    // On by default in every workerd this runs on; naming it makes workerd warn at each start.
    compatibilityFlags: textsIn(fields.compatibility_flags).filter((flag) => !isDefaultFlag(flag, fields)),
    objects: objectClasses(readMigrations(fields), bound),
    bindings,
    requiredSecrets: textsIn(fieldsOf(fields.secrets).required),
    assets,
    warnings
  };
}

function readObjectBindings(fields: Fields, warnings: string[]): Binding[] {
  return listOf(fieldsOf(fields.durable_objects).bindings).flatMap((one): Binding[] => {
    const [name, className, script] = [textOf(one.name), textOf(one.class_name), textOf(one.script_name)];
    if (name === undefined || className === undefined) return [];
    if (script === undefined || script === fields.name) return [{ type: "object", name, className }];
    warnings.push(`The binding ${name} is not available here: its objects live in another Worker (${script}).`);
    return [];
  });
}

/** A Worker may be bound to itself; others do not run here. */
function readServices(fields: Fields, warnings: string[]): Binding[] {
  return listOf(fields.services).flatMap((one): Binding[] => {
    const [name, service, entrypoint] = [textOf(one.binding), textOf(one.service), textOf(one.entrypoint)];
    if (name === undefined) return [];
    if (service === fields.name) return [{ type: "self", name, entrypoint }];
    warnings.push(`The binding ${name} is not available here: it is another Worker (${service ?? "unnamed"}).`);
    return [];
  });
}

/** The declarative `exports` and the list of `migrations` exclude each other. */
function readMigrations(fields: Fields): ClassMigration[] {
  const declared = Object.entries(fieldsOf(fields.exports)).flatMap(([className, one]) => {
    const { type, ...rest } = fieldsOf(one);
    return type === "durable-object" ? [{ className, ...rest }] : [];
  });
  if (declared.length > 0) return declaredMigrations(declared);
  return listOf(fields.migrations).map((one) => ({
    created: [...textsIn(one.new_sqlite_classes), ...listOf(one.transferred_classes).flatMap((to) => textsIn([to.to]))],
    createdWithoutSql: textsIn(one.new_classes),
    renamed: listOf(one.renamed_classes).flatMap(({ from, to }) =>
      typeof from === "string" && typeof to === "string" ? [{ from, to }] : []
    ),
    deleted: textsIn(one.deleted_classes)
  }));
}

/** A class that is declared as the new name of another one is that one, renamed. */
function declaredMigrations(declared: readonly (Fields & { className: string })[]): ClassMigration[] {
  const olderNames = new Map(
    declared.flatMap(({ className, renamed_to: newer }) => (typeof newer === "string" ? [[newer, className]] : []))
  );
  return declared.flatMap(({ className, state, storage }): ClassMigration[] => {
    if (state !== undefined && state !== "created") return [];
    const names = [className];
    for (let older = olderNames.get(className); older !== undefined; older = olderNames.get(older)) {
      if (names.includes(older)) break;
      names.unshift(older);
    }
    const [first] = names;
    const created = first === undefined ? [] : [first];
    const renamed = names.slice(1).map((to, index) => ({ from: names[index] ?? "", to }));
    const hasSql = storage !== "legacy-kv";
    return [
      { created: hasSql ? created : [], createdWithoutSql: hasSql ? [] : created, renamed: [], deleted: [] },
      { created: [], createdWithoutSql: [], renamed, deleted: [] }
    ];
  });
}

function readAssets(fields: Fields): AssetFolder | undefined {
  const directory = textOf(fields.directory);
  if (directory === undefined) return undefined;
  const first = fields.run_worker_first;
  return {
    directory,
    htmlHandling: HTML_HANDLINGS.find((one) => one === fields.html_handling) ?? DEFAULT_ASSET_SETTINGS.htmlHandling,
    notFoundHandling:
      NOT_FOUND_HANDLINGS.find((one) => one === fields.not_found_handling) ?? DEFAULT_ASSET_SETTINGS.notFoundHandling,
    workerFirst: first === true ? true : textsIn(first)
  };
}

/** Read above, or no binding. */
const SUPPORTED = new Set(["durable_objects", "worker_loaders", "assets", "services", "vars", "rules", "migrations"]);
/** Their entries are named `name`, unlike all others. */
const NAMED_BY_NAME = new Set(["send_email", "ratelimits"]);

/** By shape, not from a list: a kind of binding that is invented tomorrow is not lost in silence. */
function unsupportedBindings(fields: Fields): string[] {
  const kinds = { ...fields, queues: fieldsOf(fields.queues).producers };
  return Object.entries(kinds).flatMap(([kind, value]) => {
    if (SUPPORTED.has(kind)) return [];
    const entries = Array.isArray(value) ? listOf(value) : [fieldsOf(value)];
    return entries.flatMap((one) => {
      const name = textOf(one.binding) ?? (NAMED_BY_NAME.has(kind) ? textOf(one.name) : undefined);
      return name === undefined
        ? []
        : [`The binding ${name} (${kind}) is not available here: env.${name} is undefined.`];
    });
  });
}

function named(type: "loader" | "assets", name: unknown): Binding[] {
  return typeof name === "string" ? [{ type, name }] : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const NODE_COMPAT_DEFAULT_FROM = "2026-08-04";

function isDefaultFlag(flag: string, { compatibility_date: date }: Fields): boolean {
  return flag === "nodejs_compat" && typeof date === "string" && date >= NODE_COMPAT_DEFAULT_FROM;
}
