// One change of some modules, as a plugin of every bundler it is for.
import { readFile } from "node:fs/promises";

/** A plugin of Vite, Rolldown or Rollup, as far as these need their types. */
export interface BundlerPlugin {
  readonly name: string;
  readonly enforce: "pre";
  applyToEnvironment(environment: { readonly name: string }): boolean;
  transform(code: string, id: string): { code: string; map: null } | undefined;
}

/** A plugin of esbuild, as far as these need its types. */
export interface EsbuildPlugin {
  readonly name: string;
  setup(build: {
    onLoad(
      options: { filter: RegExp },
      load: (file: { path: string }) => Promise<{ contents: string; loader: "js" } | undefined>
    ): void;
  }): void;
}

export interface ModuleChange {
  readonly name: string;
  /** The files it may change: a regular expression that esbuild, which is written in Go, knows too. */
  readonly files: RegExp;
  /** Whether the modules of pages are changed too. */
  readonly inPages: boolean;
  /** The changed code, line for line where the old one was; undefined for a module that stays as it is. */
  change(module: { readonly id: string; readonly code: string }): string | undefined;
}

export function pluginOf({ name, inPages, change, files }: ModuleChange): BundlerPlugin {
  return {
    name,
    enforce: "pre",
    applyToEnvironment: (environment) => inPages || environment.name !== "client",
    transform(code, id) {
      // What follows the "?" belongs to the bundler.
      const changed = files.test(id.split("?", 1)[0] ?? id) ? change({ id, code }) : undefined;
      return changed === undefined ? undefined : { code: changed, map: null };
    }
  };
}

export function esbuildPluginOf({ name, change, files }: ModuleChange): EsbuildPlugin {
  return {
    name,
    setup({ onLoad }) {
      onLoad({ filter: files }, async ({ path }) => {
        const contents = change({ id: path, code: await readFile(path, "utf8") });
        return contents === undefined ? undefined : { contents, loader: "js" };
      });
    }
  };
}
