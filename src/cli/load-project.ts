// The project a command is about, read with the parser of the project's own Vite where there is one.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ModuleParser } from "../framework/manifest/module-exports.ts";
import { createThinkProject, type ThinkProject, type ThinkProjectOptions } from "../framework/project/project.ts";
import { CommandError, type CliContext } from "./cli-context.ts";
import type { ParsedArguments } from "./command-line.ts";

export function rootOf(parsed: ParsedArguments, { cwd }: CliContext): string {
  const root = resolve(cwd, parsed.text("root") ?? ".");
  if (!existsSync(root)) throw new CommandError(`There is no folder ${root}.`);
  return root;
}

/** What only a command that judges the configuration is given. */
export type ProjectView = Partial<Pick<ThinkProjectOptions, "environment" | "allowNonVirtualMain">>;

export async function loadProject(
  parsed: ParsedArguments,
  context: CliContext,
  view: ProjectView = {}
): Promise<ThinkProject> {
  const root = rootOf(parsed, context);
  const parse = await loadParser(root);
  const routePrefix = routePrefixOf(parsed, root);
  return createThinkProject({
    root,
    isConfigMerged: usesMergedConfig(root),
    ...(parse !== undefined && { parse }),
    ...(routePrefix !== undefined && { routePrefix }),
    ...view
  });
}

/** The parser of Vite; undefined in a project without it, whose sources are then not looked at. */
export async function loadParser(root: string): Promise<ModuleParser | undefined> {
  try {
    const vite = (await importFrom(root, "vite")) as { parseSync?: ModuleParser };
    return vite.parseSync;
  } catch {
    return undefined; // Not installed.
  }
}

/** A package as the project itself would import it. */
export async function importFrom(root: string, specifier: string): Promise<unknown> {
  const path = createRequire(join(root, "package.json")).resolve(specifier);
  return import(pathToFileURL(path).href);
}

const VITE_CONFIGS = ["ts", "mts", "js", "mjs"].map((extension) => `vite.config.${extension}`);

export function viteConfigOf(root: string): string | undefined {
  return VITE_CONFIGS.find((name) => existsSync(join(root, name)));
}

/** The configuration is code, so only its text is looked at: `thinkWorkerConfig(` says that the build merges. */
function usesMergedConfig(root: string): boolean {
  return /\bthinkWorkerConfig\s*\(/.test(viteConfigText(root));
}

/** As given, or as the plugin has it; undefined for the usual one. */
export function routePrefixOf(parsed: ParsedArguments, root: string): string | undefined {
  const given = parsed.text("route-prefix");
  return given ?? /\bthink\s*\(\s*\{[^}]*\broutePrefix\s*:\s*["'`]([^"'`]+)["'`]/.exec(viteConfigText(root))?.[1];
}

export function viteConfigText(root: string): string {
  const name = viteConfigOf(root);
  return name === undefined ? "" : readFileSync(join(root, name), "utf8");
}
