// Finds and reads a built Worker: the folder or wrangler.json a Vite build writes, a folder of modules, or one bundled
// file. Everything that can be wrong with a build is said here, before any data is touched.
import { existsSync, globSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { errorMessage } from "../../util/errors.ts";
import { serveErrors } from "./errors.ts";
import { DEFAULT_ASSET_SETTINGS } from "./front/settings.ts";
import { parseJsonc } from "./jsonc.ts";
import { type ModuleKind, moduleKinds } from "./module-kind.ts";
import { objectClasses } from "./object-classes.ts";
import type { AssetFolder, WorkerManifest } from "./worker-manifest.ts";
import { COMPATIBILITY_DATE, COMPATIBILITY_FLAGS } from "./workerd-config.ts";
import { readBuiltConfig } from "./wrangler-config.ts";

/** More files than any build has: the folder is not a build. */
const MODULE_LIMIT = 5_000;

const CONFIG_NAMES = ["wrangler.json", "wrangler.jsonc"];
const ENTRY_NAMES = ["index.js", "worker.js", "index.mjs", "worker.mjs"];

/** What the command line says about a build; the part without a wrangler.json. */
export interface BuildOptions {
  /** Relative to the folder the command runs in. Absent: the newest kind of build found there. */
  build?: string;
  objects: readonly string[];
  loader?: string;
  assets?: string;
  compatibilityDate?: string;
}

export interface BuiltModule {
  name: string;
  kind: ModuleKind;
  /** Absolute. */
  file: string;
}

export interface Build {
  manifest: WorkerManifest;
  /** The entry first. */
  modules: readonly BuiltModule[];
  /** Described by a wrangler.json; without one the command line says what it needs. */
  hasConfig: boolean;
  /** Absolute; where .dev.vars may lie. */
  folder: string;
  /** Absolute. */
  assetFolder?: string;
}

export function readBuild(options: BuildOptions, workingFolder: string): Build {
  const place = options.build === undefined ? findBuild(workingFolder) : resolve(workingFolder, options.build);
  if (!existsSync(place)) throw serveErrors.MissingBuildError(`There is no build at ${shown(place, workingFolder)}.`);
  const isFolder = statSync(place).isDirectory();
  const config = isFolder ? CONFIG_NAMES.map((name) => join(place, name)).find(existsSync) : asConfigFile(place);
  if (config !== undefined) return readConfiguredBuild(config, options, workingFolder);
  return readPlainBuild(place, { isFolder, options, workingFolder });
}

/** Where a Vite build says its output is, else the one build under dist/. */
function findBuild(folder: string): string {
  const pointer = join(folder, ".wrangler", "deploy", "config.json");
  if (existsSync(pointer)) {
    const { configPath } = readJson(pointer) as { configPath?: unknown };
    if (typeof configPath === "string") return resolve(dirname(pointer), configPath);
  }
  const found = globSync("dist/{,*/}wrangler.json", { cwd: folder });
  if (found.length === 1 && found[0] !== undefined) return join(folder, found[0]);
  if (found.length === 0)
    throw serveErrors.MissingBuildError("There is no build here: no dist/<name>/wrangler.json was found.");
  const names = found.map((path) => dirname(path)).sort();
  throw serveErrors.MissingBuildError(`There is more than one build here: ${names.join(", ")}.`, "Name one of them.");
}

function asConfigFile(file: string): string | undefined {
  if (file.endsWith(".toml"))
    throw serveErrors.UnusableBuildError("A wrangler.toml cannot be read.", "Name the build's wrangler.json.");
  return /\.jsonc?$/.test(file) ? file : undefined;
}

function readConfiguredBuild(config: string, options: BuildOptions, workingFolder: string): Build {
  if (options.objects.length > 0 || options.loader !== undefined) {
    const name = shown(config, workingFolder);
    throw serveErrors.UsageError(
      `--objects and --loader are for a build without configuration; ${name} says what this one has.`
    );
  }
  const manifest = readBuiltConfig(readJson(config));
  const folder = dirname(config);
  const entry = resolve(folder, manifest.main);
  requireEntry(entry, workingFolder);
  const directory = options.assets === undefined ? manifest.assets?.directory : resolve(workingFolder, options.assets);
  const assets = directory === undefined ? undefined : { ...DEFAULT_ASSET_SETTINGS, ...manifest.assets, directory };
  return withAssets(
    {
      manifest: { ...manifest, compatibilityDate: options.compatibilityDate ?? manifest.compatibilityDate },
      modules: modulesOf(entry, dirname(entry), manifest),
      hasConfig: true,
      folder
    },
    assets && { ...assets, directory: resolve(folder, assets.directory) },
    workingFolder
  );
}

interface PlainBuild {
  isFolder: boolean;
  options: BuildOptions;
  workingFolder: string;
}

function readPlainBuild(place: string, { isFolder, options, workingFolder }: PlainBuild): Build {
  const entry = isFolder ? ENTRY_NAMES.map((name) => join(place, name)).find(existsSync) : place;
  if (entry === undefined) {
    const where = shown(place, workingFolder);
    throw serveErrors.MissingBuildError(
      `${where} is no build: it has neither a wrangler.json nor an ${ENTRY_NAMES[0]}.`
    );
  }
  requireEntry(entry, workingFolder);
  const manifest: WorkerManifest = {
    main: basename(entry),
    rules: [],
    compatibilityDate: options.compatibilityDate ?? COMPATIBILITY_DATE,
    compatibilityFlags: COMPATIBILITY_FLAGS,
    objects: objectClasses([], options.objects),
    bindings: [
      ...options.objects.map((name) => ({ type: "object" as const, name, className: name })),
      ...(options.loader === undefined ? [] : [{ type: "loader" as const, name: options.loader }]),
      ...(options.assets === undefined ? [] : [{ type: "assets" as const, name: "ASSETS" }])
    ],
    requiredSecrets: [],
    warnings: []
  };
  // A single file is a bundle: what lies beside it is none of its business.
  const modules: BuiltModule[] = isFolder
    ? modulesOf(entry, place, manifest)
    : [{ name: basename(entry), kind: "esModule", file: entry }];
  const directory = options.assets === undefined ? undefined : resolve(workingFolder, options.assets);
  const assets = directory === undefined ? undefined : { ...DEFAULT_ASSET_SETTINGS, directory };
  return withAssets({ manifest, modules, hasConfig: false, folder: dirname(entry) }, assets, workingFolder);
}

function withAssets(build: Build, assets: AssetFolder | undefined, workingFolder: string): Build {
  if (assets === undefined) return build;
  const { directory } = assets;
  if (!existsSync(directory) || !statSync(directory).isDirectory()) {
    throw serveErrors.MissingBuildError(`The folder of assets is missing: ${shown(directory, workingFolder)}.`);
  }
  const ignored = readdirSync(directory).filter((name) => name === "_headers" || name === "_redirects");
  const warnings = ignored.map((name) => `The file ${name} among the assets is not read here.`);
  const manifest = { ...build.manifest, assets, warnings: [...build.manifest.warnings, ...warnings] };
  // Assets may lie inside the folder of modules; they are none.
  const modules = build.modules.filter(({ file }, index) => index === 0 || !file.startsWith(directory + sep));
  return { ...build, manifest, modules, assetFolder: directory };
}

function requireEntry(entry: string, workingFolder: string): void {
  if (/\.[mc]?tsx?$/.test(entry)) {
    throw serveErrors.UnusableBuildError(
      `${shown(entry, workingFolder)} is TypeScript, not a build.`,
      "Build it first (vite build), and name the build: everthink serve dist/<name>"
    );
  }
  if (!existsSync(entry))
    throw serveErrors.MissingBuildError(`The entry module is missing: ${shown(entry, workingFolder)}.`);
  if (!/\.m?js$/.test(entry))
    throw serveErrors.UnusableBuildError(`${shown(entry, workingFolder)} is not a JavaScript module.`);
}

function modulesOf(entry: string, folder: string, { rules }: WorkerManifest): BuiltModule[] {
  const kindOf = moduleKinds(rules);
  const modules: BuiltModule[] = [];
  const main = relative(folder, entry).replaceAll(sep, "/");
  for (const path of globSync("**/*", { cwd: folder, exclude: (name) => name === "node_modules" })) {
    const name = path.replaceAll(sep, "/");
    const kind = kindOf(name);
    if (kind === undefined || name === main || !statSync(join(folder, path)).isFile()) continue;
    modules.push({ name, kind, file: join(folder, path) });
    if (modules.length > MODULE_LIMIT) {
      throw serveErrors.UnusableBuildError(
        `${folder} holds more than ${MODULE_LIMIT} modules: it is not the output of a build.`
      );
    }
  }
  modules.sort((a, b) => (a.name < b.name ? -1 : 1));
  return [{ name: main, kind: "esModule", file: entry }, ...modules];
}

function readJson(file: string): unknown {
  try {
    return parseJsonc(readFileSync(file, "utf8"));
  } catch (error) {
    throw serveErrors.UnusableBuildError(`${file} cannot be read: ${errorMessage(error)}`);
  }
}

/** As it would be typed. */
function shown(path: string, workingFolder: string): string {
  const short = relative(workingFolder, path);
  return short === "" ? "." : short.startsWith("..") ? path : short;
}
