// The project a command is about, read with the parser of the project's own Vite where there is one.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { WRANGLER_FILES } from "../framework/config/read-wrangler.ts";
import type { ModuleParser } from "../framework/manifest/module-exports.ts";
import { createThinkProject, type ThinkProject, type ThinkProjectOptions } from "../framework/project/project.ts";
import { CommandError, type CliContext } from "./cli-context.ts";
import type { ParsedArguments } from "./command-line.ts";

export function rootOf(parsed: ParsedArguments, { cwd }: CliContext): string {
  const root = resolve(cwd, parsed.text("root") ?? ".");
  if (!existsSync(root)) throw new CommandError(`There is no folder ${root}.`);
  return root;
}

/** Elsewhere a command would say that nothing is wrong with nothing. */
export function requireProject(root: string): void {
  if (isProject(root)) return;
  throw new CommandError(
    `${root} is no everthink project: it has neither agents/ nor a Wrangler file.`,
    "Go to the project's folder, name it with --root, or make one: everthink init"
  );
}

export function isProject(root: string): boolean {
  const hasFiles = existsSync(join(root, "agents")) || WRANGLER_FILES.some((name) => existsSync(join(root, name)));
  return hasFiles || usesPlugin(root);
}

/** What only a command that judges the configuration is given. */
export type ProjectView = Partial<Pick<ThinkProjectOptions, "environment" | "allowNonVirtualMain">>;

export async function loadProject(
  parsed: ParsedArguments,
  context: CliContext,
  view: ProjectView = {}
): Promise<ThinkProject> {
  const root = rootOf(parsed, context);
  requireProject(root);
  const parse = await loadParser(root);
  const routePrefix = routePrefixOf(parsed, root);
  return createThinkProject({
    root,
    isConfigMerged: usesMergedConfig(root),
    parse,
    routePrefix,
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

/** Whether the folder is a project that the plugin builds. */
export function usesPlugin(root: string): boolean {
  return /["']everthink\/vite["']/.test(viteConfigText(root));
}

/** As given, or as the plugin has it; undefined for the usual one. */
export function routePrefixOf(parsed: ParsedArguments, root: string): string | undefined {
  return parsed.text("route-prefix") ?? literalOption(pluginOptions(viteConfigText(root)), "routePrefix");
}

/** What the generated entry is made with. */
export interface EntryOptions {
  readonly authorize?: string;
  readonly messengers?: { readonly agent: string; readonly name?: string };
  /** Options of the plugin that are there and cannot be read off its text. */
  readonly unread: readonly string[];
}

/** As the plugin in the Vite configuration has it. */
export function entryOptionsOf(root: string): EntryOptions {
  const options = pluginOptions(viteConfigText(root));
  const authorize = literalOption(options, "authorize");
  const given = /\bmessengers\s*:\s*(\{[^{}]*\})/.exec(options)?.[1] ?? "";
  const [agent, name] = ["agent", "name"].map((field) => literalOption(given, field));
  const found = { authorize, messengers: agent };
  return {
    authorize,
    messengers: agent === undefined ? undefined : { agent, name },
    unread: (["authorize", "messengers"] as const).filter(
      (option) => found[option] === undefined && new RegExp(`\\b${option}\\b`).test(options)
    )
  };
}

function literalOption(options: string, name: string): string | undefined {
  return new RegExp(`\\b${name}\\s*:\\s*(["'\`])([^"'\`$]+)\\1`).exec(options)?.[2];
}

/** The text of the object that the plugin is given, or of the file where that is not an object in place. */
function pluginOptions(config: string): string {
  const text = config.replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
  const start = /\bthink\s*\(\s*(?=\{)/.exec(text);
  if (start === null) return /\bthink\s*\(\s*[^)\s]/.test(text) ? text : "";
  const from = start.index + start[0].length;
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}") depth -= 1;
    if (depth === 0) return text.slice(from, at + 1);
  }
  return text.slice(from);
}

export function viteConfigText(root: string): string {
  const name = viteConfigOf(root);
  return name === undefined ? "" : readFileSync(join(root, name), "utf8");
}
