// What a built Worker needs to run, described by a wrangler.json or options of the command line.
import type { AssetSettings } from "./front/settings.ts";
import type { ModuleRule } from "./module-kind.ts";
import type { BuiltClass } from "./object-classes.ts";

export type Binding =
  | { type: "object"; name: string; className: string }
  | { type: "loader"; name: string }
  | { type: "assets"; name: string }
  | { type: "self"; name: string; entrypoint?: string }
  | { type: "text"; name: string; value: string }
  | { type: "json"; name: string; value: unknown }
  /** A value that is never written to disk: workerd reads it from its environment. */
  | { type: "secret"; name: string; value: string };

export interface AssetFolder extends AssetSettings {
  /** As written: relative to the file that names it. */
  directory: string;
}

export interface WorkerManifest {
  /** The entry module, as written: relative to the file that names it. */
  main: string;
  rules: readonly ModuleRule[];
  compatibilityDate: string;
  compatibilityFlags: readonly string[];
  objects: readonly BuiltClass[];
  bindings: readonly Binding[];
  requiredSecrets: readonly string[];
  assets?: AssetFolder;
  /** What the description asks for and this server does not have. */
  warnings: readonly string[];
}
