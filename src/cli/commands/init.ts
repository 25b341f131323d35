// `everthink init`: a new project from a starter, or an agent in a project that exists. Nothing that is there is
// overwritten: a new project needs an empty folder, and of an existing one only package.json gets new entries.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { WRANGLER_FILES } from "../../framework/config/read-wrangler.ts";
import { isVirtualEntry } from "../../framework/config/diagnose-config.ts";
import { createThinkProject } from "../../framework/project/project.ts";
import {
  CommandError,
  parseCommandLine,
  type CliContext,
  type CommandDefinition,
  type ParsedArguments
} from "../cli-context.ts";
import { mergedPackage, packageName, projectFiles, randomProjectName } from "../init/new-project.ts";
import { askForProject } from "../init/questions.ts";
import { DEFAULT_STARTER, listStarters, starterFiles } from "../init/starters.ts";
import { viteConfigOf, viteConfigText } from "../load-project.ts";

const HELP = `everthink init [directory] [options]

Makes a project from a starter, or adds an agent to the project in the current folder (one with a package.json). Files that
exist are never overwritten.

  --template <name>      basic, personal-assistant, coding-agent, customer-support, webhook-agent, business-workflow,
                         telegram-bot, slack-bot
  --name <name>          of the package and the Worker; the folder's name without it
  --route-prefix <path>  /agents
  --yes, -y              asks nothing; without a directory it makes one with a random name
  --no-install           leaves npm install to you
  --package <spec>       which everthink the project depends on: this version without it
  --dry-run              writes nothing, and lists what it would
  --root <folder>        where the directory is; the current folder without it
`;

const OPTIONS = {
  root: { type: "string" },
  name: { type: "string" },
  template: { type: "string" },
  "route-prefix": { type: "string" },
  yes: { type: "boolean", short: "y" },
  install: { type: "boolean" },
  package: { type: "string" },
  "dry-run": { type: "boolean" }
} as const;

/** What may be in a folder that counts as empty. */
const TOLERATED = new Set([".git", ".DS_Store"]);

export const initCommand: CommandDefinition = {
  name: "init",
  summary: "makes a project, or adds an agent to one",
  help: HELP,
  async run(args, context) {
    const parsed = parseCommandLine(args, { options: OPTIONS, positionals: 1, name: "init" });
    const root = resolve(context.cwd, parsed.text("root") ?? ".");
    const directory = parsed.positionals[0];
    if (directory !== undefined) requireInside(root, directory);
    const folder = resolve(root, directory ?? ".");
    const isTemplate = parsed.text("template") !== undefined || !existsSync(join(folder, "package.json"));
    return isTemplate ? fromStarter(root, parsed, context) : intoProject(folder, parsed, context);
  }
};

function requireInside(root: string, directory: string): void {
  const isOutside = relative(root, resolve(root, directory)).startsWith("..");
  if (isAbsolute(directory) || isOutside) {
    throw new CommandError(`The directory must be below ${root}, not "${directory}".`, "Use --root for another place.");
  }
}

function isEmpty(folder: string): boolean {
  return !existsSync(folder) || readdirSync(folder).every((name) => TOLERATED.has(name));
}

async function fromStarter(root: string, parsed: ParsedArguments, context: CliContext): Promise<number> {
  const starters = listStarters(context.startersFolder);
  const terminal = parsed.flag("yes") ? undefined : context.terminal;
  const fallback = isEmpty(root) && !parsed.flag("yes") ? "." : randomProjectName(Math.random);
  const given = { directory: parsed.positionals[0], template: parsed.text("template") };
  const chosen = terminal ? await askForProject({ given, fallback, starters }, terminal) : given;
  if (chosen === undefined) return 1;
  const directory = chosen.directory ?? fallback;
  requireInside(root, directory);
  const template = chosen.template ?? DEFAULT_STARTER;
  if (!starters.some(({ name }) => name === template)) {
    throw new CommandError(
      `There is no template "${template}".`,
      `There are: ${starters.map(({ name }) => name).join(", ")}.`
    );
  }
  const folder = resolve(root, directory);
  if (!isEmpty(folder)) {
    throw new CommandError(`${directory} is not empty, and nothing in it was changed.`, "Choose another directory.");
  }
  const routePrefix = parsed.text("route-prefix");
  const files = projectFiles(starterFiles(context.startersFolder, template), {
    name: packageName(parsed.text("name") ?? basename(folder)),
    everthink: parsed.text("package") ?? `^${context.version}`,
    ...(routePrefix !== undefined && { routePrefix })
  });
  if (parsed.flag("dry-run")) return listFiles(files.keys(), { folder: directory, context });
  writeNew(folder, files);
  if (!isInRepository(folder)) spawnSync("git", ["init", "--quiet"], { cwd: folder });
  const isInstalled = parsed.flag("install") === false ? false : install(folder, context);
  context.print(`${template} is in ${directory}`);
  const steps = [
    ...(directory === "." ? [] : [`cd ${directory}`]),
    ...(isInstalled ? [] : ["npm install"]),
    "npm run dev"
  ];
  context.print(`Next:\n  ${steps.join("\n  ")}`);
  return 0;
}

async function intoProject(folder: string, parsed: ParsedArguments, context: CliContext): Promise<number> {
  const already = alreadyThink(folder);
  if (already !== undefined) {
    context.print(`This is an everthink project already (${already}). Nothing was changed.`);
    return 0;
  }
  const vite = viteConfigOf(folder);
  const wrangler = WRANGLER_FILES.find((name) => existsSync(join(folder, name)));
  const config = vite ?? wrangler;
  if (config !== undefined) {
    throw new CommandError(
      `There is a ${config}, which init does not change.`,
      'Add think() from "everthink/vite" to its plugins and "main": "virtual:everthink/entry" to the Wrangler file; see docs/framework.md.'
    );
  }
  const routePrefix = parsed.text("route-prefix");
  const everthink = parsed.text("package") ?? `^${context.version}`;
  const name = packageName(parsed.text("name") ?? basename(folder));
  const starter = starterFiles(context.startersFolder, DEFAULT_STARTER);
  const all = projectFiles(starter, { name, everthink, ...(routePrefix !== undefined && { routePrefix }) });
  const added = new Map([...all].filter(([path]) => !existsSync(join(folder, path))));
  const kept = [...all.keys()].filter((path) => path !== "package.json" && !added.has(path));
  if (parsed.flag("dry-run")) return listFiles([...added.keys(), "package.json (merged)"], { folder: ".", context });
  const manifest = join(folder, "package.json");
  const merged = mergedPackage(readFileSync(manifest, "utf8"), all.get("package.json") ?? "{}", everthink);
  writeNew(folder, added);
  writeFileSync(manifest, merged);
  for (const path of kept) context.print(`kept ${path}`);
  if (parsed.flag("install") !== false) install(folder, context);
  context.print("An agent is in agents/assistant/agent.ts\nNext:\n  npm run dev");
  return 0;
}

/** Why a folder needs no agent; undefined when it does. */
function alreadyThink(folder: string): string | undefined {
  if (/["']everthink\/vite["']/.test(viteConfigText(folder))) return `${viteConfigOf(folder)} uses the plugin`;
  const { userConfig, wranglerConfig, manifest } = createThinkProject({ root: folder });
  if (userConfig.main !== undefined && isVirtualEntry(userConfig.main)) return `main of ${wranglerConfig.path}`;
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
  };
  return dependencies["everthink"] !== undefined && manifest.agents.length > 0 ? "agents/" : undefined;
}

function listFiles(paths: Iterable<string>, { folder, context }: { folder: string; context: CliContext }): number {
  context.print(`Would write to ${folder}:`);
  for (const path of [...paths].sort()) context.print(`  ${path}`);
  return 0;
}

/** A file that appeared in the meantime stays, and ends it. */
function writeNew(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: "wx" });
  }
}

function isInRepository(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return true;
    if (dirname(at) === at) return false;
  }
}

function install(folder: string, { note }: CliContext): boolean {
  note("Installing packages with npm …");
  const begin = Date.now();
  const { status, stderr } = spawnSync("npm", ["install", "--no-audit", "--no-fund"], {
    cwd: folder,
    encoding: "utf8"
  });
  if (status === 0) note(`Installed in ${((Date.now() - begin) / 1000).toFixed(0)} s.`);
  else note(`npm install failed; run it yourself:\n${(stderr ?? "").trim().split("\n").slice(-5).join("\n")}`);
  return status === 0;
}
