// What every workspace on one database and namespace has in common: the tables, and where large files go. Two that
// disagree about the latter would lose each other's files, so the second one is refused.
import type { Sql } from "../../host/ports.ts";
import { workspaceErrors } from "./errors.ts";
import type { ObjectBucket } from "./object-store.ts";
import { openRunner, type Runner, type SqlSource } from "./store/sql.ts";
import { Tables } from "./store/tables.ts";

export interface StoreSettings {
  readonly r2: ObjectBucket | undefined;
  readonly r2Prefix: string | undefined;
  readonly inlineThreshold: number;
}

export interface SharedStore {
  readonly runner: Runner;
  readonly tables: Tables;
  readonly settings: StoreSettings;
}

const stores = new WeakMap<object, Map<string, SharedStore>>();

/** Opens the store of a database and namespace. Throws WorkspaceSetupError that names each setting that differs from those in use. */
export function openStore(source: SqlSource | Sql, namespace: string, settings: StoreSettings): SharedStore {
  if (typeof source !== "object" || source === null)
    throw workspaceErrors.WorkspaceSetupError(
      "The workspace was given no database.",
      "Pass `sql`, for example this.ctx.storage.sql."
    );
  const ofSource = stores.get(source) ?? new Map<string, SharedStore>();
  stores.set(source, ofSource);
  const known = ofSource.get(namespace);
  if (known) {
    refuseDifferent(known.settings, settings, namespace);
    return known;
  }
  const runner = openRunner(source);
  const store = { runner, tables: new Tables(namespace, runner), settings };
  ofSource.set(namespace, store);
  return store;
}

function refuseDifferent(old: StoreSettings, next: StoreSettings, namespace: string): void {
  const names = ["r2", "r2Prefix", "inlineThreshold"] as const;
  const differences = names
    .filter((name) => old[name] !== next[name])
    .map((name) => `${name} was ${print(old[name])} and is ${print(next[name])}`);
  if (differences.length === 0) return;
  throw workspaceErrors.WorkspaceSetupError(
    `The workspace "${namespace}" is already open with other settings: ${differences.join("; ")}.`,
    "Open it everywhere with the same settings, or give the second one a `namespace` of its own."
  );
}

function print(value: ObjectBucket | string | number | undefined): string {
  return typeof value === "object" ? "a bucket" : value === undefined ? "not set" : String(value);
}
