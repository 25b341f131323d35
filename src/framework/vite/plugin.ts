// The Vite plugin: finds the agents, checks them, and serves the generated modules. A file that appears or vanishes while
// the development server runs makes the server start anew around it, because a new agent is a new binding.
import { realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync, type Plugin, type ResolvedConfig, type ViteDevServer } from "vite";
import { WRANGLER_FILES, watchWranglerConfigFiles } from "../config/read-wrangler.ts";
import type { ThinkWorkerConfig } from "../config/worker-config.ts";
import {
  generateThinkAgentsModule,
  generateThinkConfigModule,
  generateThinkEntry,
  generateThinkManifestModule,
  generateThinkRouterModule,
  generateThinkServerEntryModule,
  SERVER_ENTRY,
  type GenerateOptions
} from "../generate/code.ts";
import { formatDiagnostic, summarizeThinkManifest, type ThinkManifest } from "../manifest/manifest.ts";
import { createThinkProject, type ThinkProject, type ThinkProjectOptions } from "../project/project.ts";
import { shellVariables } from "../project/declared-variables.ts";
import { DevServerRecord } from "../project/dev-server-record.ts";
import { skillsImport } from "../skills/skills-import.ts";
import { SKILLS_MODULE } from "../skills/source-module.ts";
import { writeTypesFile } from "../project/types-file.ts";
import { bindStudioKey, linkStudio, offerStudio } from "./studio-key.ts";
import { holdBack, isConfigMerged, markDeveloped } from "./worker-config-hook.ts";

export interface ThinkPluginOptions extends Omit<
  ThinkProjectOptions,
  "root" | "parse" | "isConfigMerged" | "environment"
> {
  /** A file whose default export `(request, route, env) => Response | void` is asked before any agent is reached. */
  readonly authorize?: string;
  /** The agent that gets `/messengers/<id>/webhook`, and the name of its object ("main" by default). */
  readonly messengers?: { readonly agent: string; readonly name?: string };
  /** Key `s` of the development server opens Studio, which only reads, or with "write" also decides. Default "read". */
  readonly studio?: "read" | "write" | false;
  /** The original's name of it: false is `studio: false`. */
  readonly studioShortcut?: boolean;
  /** Writes `everthink.d.ts` whenever the agents change in development. Default true. */
  readonly types?: boolean;
}

const VIRTUAL = /^virtual:(?:ever)?think\/(entry|agents|manifest|config|router|server-entry)$/;
const RESOLVED = /^\0virtual:everthink\/(.+)$/;
/** Modules of this package that generated code imports: the entry, and a folder of skills. */
const GENERATED_IMPORTS = [SERVER_ENTRY, SKILLS_MODULE];
/** Editors write a file in several steps. */
const SETTLE_MS = 50;

/**
 * Turns `agents/` into a Worker.
 *
 * @example
 * export default defineConfig({ plugins: [think(), cloudflare({ config: thinkWorkerConfig() })] });
 */
export function think(options: ThinkPluginOptions = {}): Plugin[] {
  return [skillsImport(), new ThinkPlugin(options).plugin()];
}

class ThinkPlugin {
  readonly #options: ThinkPluginOptions;
  #config: ResolvedConfig | undefined;
  #project: ThinkProject | undefined;
  #isDevelopment = false;
  /** Environments build one after the other; the summary is printed once. */
  #isReported = false;

  constructor(options: ThinkPluginOptions) {
    this.#options = options;
  }

  plugin(): Plugin {
    // Bound here: Vite calls hooks with its own `this`.
    const begin = () => this.#begin();
    return {
      name: "everthink",
      enforce: "pre",
      config: ({ root = process.cwd() }, { command, isPreview }) => {
        // Before the Worker's configuration is made. A build never gets the key, and is not in development.
        if (command !== "serve" || isPreview) return;
        markDeveloped(root);
        if (this.#studio !== false) offerStudio(root);
      },
      configEnvironment: (name, { optimizeDeps }) => {
        // Cloudflare's plugin asks for it in Workers. Vite's own "ssr", which has no module of ours, does without.
        const isWorker = name !== "client" && optimizeDeps?.noDiscovery === false;
        return isWorker ? { optimizeDeps: this.#knownPackages() } : undefined;
      },
      configResolved: (config) => {
        this.#config = config;
        this.#isDevelopment = config.command === "serve";
      },
      buildStart() {
        const { warning, errors } = begin();
        if (warning !== undefined) this.warn(warning);
        if (errors.length > 0) this.error(errors.join("\n"));
      },
      configureServer: (server) => {
        this.#watch(server);
        new DevServerRecord(server.config.root).follow(server);
        const studio = this.#studio;
        if (studio === false) return;
        const offered = { canWrite: studio === "write", manifest: () => this.#read().manifest };
        bindStudioKey(server, offered);
        linkStudio(server, offered);
      },
      resolveId: (id) => {
        const name = VIRTUAL.exec(id)?.[1];
        return name === undefined ? undefined : `\0virtual:everthink/${name}`;
      },
      load: (id) => {
        const name = RESOLVED.exec(id)?.[1];
        return name === undefined ? undefined : this.#generate(name);
      }
    };
  }

  /**
   * Where Vite looks for packages before the development server starts. It cannot look into a virtual entry, so it would
   * find them one by one while requests wait, and reload the Worker for each.
   */
  #knownPackages(): { entries: string[]; include: string[] } {
    const { appEntry = "src/server.{ts,tsx,js,mjs}", authorize } = this.#options;
    const modules = ["agents/**/*.{ts,tsx,js,mjs}", "src/workflows/*.{ts,tsx,js,mjs}"];
    // Scripts of skills are no part of the Worker: what they import need not be installed.
    const others = ["!agents/**/skills/**", "!**/*.{test,spec}.*", "!**/*.d.ts"];
    const entries = [...modules, ...others, appEntry, ...(authorize === undefined ? [] : [authorize])];
    // What the generated modules import. Of a package that is linked Vite bundles nothing, and must look into the files:
    // one bundled module beside sources would be a second copy of every class.
    const files = GENERATED_IMPORTS.map((module) => realpathSync(fileURLToPath(import.meta.resolve(module))));
    return files.every((file) => file.split(sep).includes("node_modules"))
      ? { entries, include: [...GENERATED_IMPORTS] }
      : { entries: [...entries, ...files.map(escapedPattern)], include: [] };
  }

  #begin(): { warning?: string; errors: string[] } {
    const project = this.#read();
    if (this.#isReported) return { errors: [] };
    this.#isReported = true;
    if (project.manifest.agents.length === 0) {
      return { warning: "No agents were found. Add one: agents/assistant.ts", errors: [] };
    }
    this.#resolved.logger.info(
      ["everthink", ...summarizeThinkManifest(project.manifest), ...this.#takenVariables()].join("\n  ")
    );
    const errors = this.#report(project);
    if (errors.length === 0 && this.#isDevelopment) this.#writeTypes(project);
    return { errors };
  }

  /** Names only: their values are secrets. */
  #takenVariables(): string[] {
    const { root } = this.#resolved;
    const names = this.#isDevelopment && isConfigMerged(root) ? Object.keys(shellVariables(root, process.env)) : [];
    return names.length === 0 ? [] : [`from the shell: ${names.join(", ")}`];
  }

  get #studio(): "read" | "write" | false {
    const { studio, studioShortcut = true } = this.#options;
    return studio ?? (studioShortcut ? "read" : false);
  }

  get #resolved(): ResolvedConfig {
    if (this.#config === undefined) throw new Error("Vite has not resolved its configuration yet.");
    return this.#config;
  }

  #read(): ThinkProject {
    const { root } = this.#resolved;
    const environment = process.env["CLOUDFLARE_ENV"];
    this.#project ??= createThinkProject({
      ...this.#options,
      root,
      parse: parseSync,
      isConfigMerged: isConfigMerged(root),
      // The bundler shows them, with the code around them.
      reportSyntaxErrors: false,
      environment
    });
    return this.#project;
  }

  /** Prints warnings and notes; the errors are for the caller. */
  #report({ diagnostics }: ThinkProject): string[] {
    const { logger } = this.#resolved;
    for (const diagnostic of diagnostics) {
      if (diagnostic.severity === "warning") logger.warn(formatDiagnostic(diagnostic));
      if (diagnostic.severity === "info") logger.info(formatDiagnostic(diagnostic));
    }
    return diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
  }

  #generate(name: string): string {
    const { manifest, workerConfig } = this.#read();
    const { authorize, messengers } = this.#options;
    const options: GenerateOptions = {
      development: "import.meta.env.DEV",
      authorize: authorize?.replace(/^\.?\//, ""),
      messengers
    };
    switch (name) {
      case "entry":
        return generateThinkEntry(manifest, options);
      case "agents":
        return generateThinkAgentsModule(manifest);
      case "router":
        return generateThinkRouterModule(manifest, options);
      case "manifest":
        return generateThinkManifestModule(manifest);
      case "config":
        return generateThinkConfigModule(workerConfig);
      default:
        return generateThinkServerEntryModule();
    }
  }

  #watch(server: ViteDevServer): void {
    const { root } = this.#resolved;
    server.watcher.add([join(root, "agents"), join(root, "src")]);
    watchWranglerConfigFiles(root, server.watcher);
    let timer: NodeJS.Timeout | undefined;
    const onFile = (file: string) => {
      if (!isOurs(relative(root, file).split(sep).join("/"))) return;
      clearTimeout(timer);
      timer = setTimeout(() => void this.#changed(server), SETTLE_MS);
    };
    for (const event of ["add", "unlink", "change"] as const) server.watcher.on(event, onFile);
    server.httpServer?.once("close", () => clearTimeout(timer));
  }

  async #changed(server: ViteDevServer): Promise<void> {
    const before = this.#project;
    this.#project = undefined;
    const project = this.#read();
    if (before !== undefined && signature(before) === signature(project)) return;
    const errors = this.#report(project);
    if (errors.length > 0) {
      // The server goes on with what worked; the next change is looked at again.
      this.#resolved.logger.error(errors.join("\n"));
      this.#project = before;
      return;
    }
    this.#resolved.logger.info(["everthink: agents changed", ...summarizeThinkManifest(project.manifest)].join("\n  "));
    const known = new Set(before === undefined ? [] : boundClasses(before));
    const { root } = this.#resolved;
    const appeared = boundClasses(project).filter((name) => !known.has(name));
    holdBack(root, appeared);
    if (appeared.length > 0) await server.restart();
    holdBack(root, []);
    await server.restart();
  }

  #writeTypes(project: ThinkProject): void {
    if (this.#options.types === false) return;
    const result = writeTypesFile(project, {});
    if (result.state === "foreign") {
      this.#resolved.logger.warn(`${result.path} was not written by everthink, so it is left as it is.`);
    }
  }
}

/** A path as a pattern that matches only it. */
function escapedPattern(path: string): string {
  return path
    .split(sep)
    .join("/")
    .replace(/[()[\]{}!*?@+|]/g, "\\$&");
}

function isOurs(path: string): boolean {
  const isModule = path.startsWith("agents/") || path.startsWith("src/workflows/");
  return isModule || /^src\/server\.(ts|tsx|js|mjs)$/.test(path) || WRANGLER_FILES.includes(path);
}

function boundClasses({ manifest }: ThinkProject): string[] {
  return [...manifest.bindings, ...manifest.workflows].map(({ className }) => className);
}

/** What the generated code and the configuration depend on. A warning that only moved to another line is the same one. */
function signature({ manifest, workerConfig, diagnostics }: ThinkProject): string {
  return JSON.stringify([manifest, workerConfig, diagnostics.map(({ code, path, message }) => [code, path, message])]);
}

/** The manifest that the plugin would use. */
export function createThinkViteManifest(root: string, options: ThinkPluginOptions = {}): ThinkManifest {
  return createThinkProject({ ...options, root, parse: parseSync }).manifest;
}

/** The merged Worker configuration that the plugin would use. */
export function createThinkViteWorkerConfig(root: string, options: ThinkPluginOptions = {}): ThinkWorkerConfig {
  return createThinkViteWorkerConfigResult(root, options).workerConfig;
}

/** The same, with the manifest and everything that is wrong. */
export function createThinkViteWorkerConfigResult(root: string, options: ThinkPluginOptions = {}): ThinkProject {
  return createThinkProject({ ...options, root, parse: parseSync, isConfigMerged: true });
}
