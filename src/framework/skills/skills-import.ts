// `import skills from "everthink:skills"`: the folder `skills` beside the importing file, as a source that is part of the
// program.
import { dirname, join, resolve } from "node:path";
import { isInside } from "./compile-script.ts";
import { readSkillFolder } from "./skill-folder.ts";
import { sourceModule } from "./source-module.ts";

const SPECIFIER = /^(?:everthink|agents):skills(?:\/(.+))?$/;
/** Bundlers leave such ids to the plugin that made them. */
const MODULE = "\0everthink:skills:";

/** A plugin of Vite, Rolldown or Rollup, as far as this one needs their types. */
export interface SkillsImportPlugin {
  readonly name: string;
  readonly enforce: "pre";
  configResolved(config: { readonly root: string }): void;
  configureServer(server: DevServer): void;
  resolveId(id: string, importer: string | undefined): string | undefined;
  load(this: LoadContext, id: string): Promise<{ code: string; map: null } | undefined>;
}

interface DevServer {
  readonly watcher: { on(event: "all", listener: (event: string, file: string) => void): unknown };
  readonly environments: Readonly<Record<string, DevEnvironment>>;
}

interface DevEnvironment {
  readonly moduleGraph: { getModuleById(id: string): object | undefined };
  reloadModule(module: object): Promise<void>;
}

interface LoadContext {
  warn(message: string): void;
  addWatchFile(file: string): void;
}

/**
 * For Vite (also with Cloudflare's plugin), Rolldown and Rollup. Resolves `everthink:skills` to the folder `skills` beside
 * the importing file, `everthink:skills/<folder>` to another one, and the same of `agents:skills`. Scripts are compiled.
 *
 * @example
 * export default defineConfig({ plugins: [cloudflare(), skillsImport()] });
 */
export function skillsImport(): SkillsImportPlugin {
  let root = process.cwd();
  /** The importing file of each folder. */
  const importers = new Map<string, string>();
  return {
    name: "everthink:skills",
    enforce: "pre",
    configResolved(config) {
      root = config.root;
    },
    configureServer(server) {
      // Also files that are new, which no module could name.
      server.watcher.on("all", (_event, file) => {
        for (const folder of importers.keys()) if (isInside(folder, resolve(file))) reload(server, folder);
      });
    },
    resolveId(id, importer) {
      const found = SPECIFIER.exec(id);
      if (!found || importer === undefined) return undefined;
      const file = importer.split("?", 1)[0] ?? importer;
      const folder = join(dirname(file), found[1] ?? "skills");
      importers.set(folder, file);
      return MODULE + folder;
    },
    async load(id) {
      if (!id.startsWith(MODULE)) return undefined;
      const folder = id.slice(MODULE.length);
      const { manifest, warnings, files } = await readSkillFolder(folder, {
        root,
        wantedBy: importers.get(folder) ?? "the program"
      });
      for (const file of files) this.addWatchFile(file);
      for (const warning of warnings) this.warn(`[skills] ${warning}`);
      return { code: sourceModule(manifest), map: null };
    }
  };
}

function reload({ environments }: DevServer, folder: string): void {
  for (const environment of Object.values(environments)) {
    const module = environment.moduleGraph.getModuleById(MODULE + folder);
    // A failed load is shown by the dev server itself.
    if (module) void environment.reloadModule(module).catch(() => undefined);
  }
}
