// `everthink init`: a new project from a starter, or an agent in a project that exists. Nothing that is there is
// overwritten: a new project needs an empty folder, and of an existing one only package.json gets new entries. Nothing is
// written outside of the working folder, also not through a link.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { WRANGLER_FILES } from "../../framework/config/read-wrangler.ts";
import { isVirtualEntry } from "../../framework/config/diagnose-config.ts";
import { createThinkProject } from "../../framework/project/project.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { askForProject } from "../init/ask.ts";
import { describeModel, modelOf, setUpModel, type ModelResult } from "../init/model-setup.ts";
import { mergedPackage, packageName, projectFiles, randomProjectName } from "../init/new-project.ts";
import { commitProject, initRepository } from "../init/repository.ts";
import { DEFAULT_STARTER, listStarters, starterFiles } from "../init/starters.ts";
import { isBelow, requireBelow, writeNew } from "../init/write-files.ts";
import { usesPlugin, viteConfigOf } from "../load-project.ts";
import { withProgress } from "../progress.ts";
import { runProgram } from "../run-program.ts";
import { shellWord } from "../target.ts";

/** What may be in a folder that counts as empty. */
const TOLERATED = new Set([".git", ".DS_Store"]);

export async function runInit(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = resolve(context.cwd, parsed.text("root") ?? ".");
  const directory = parsed.positionals[0];
  if (directory !== undefined) requireInside(root, directory);
  const folder = resolve(root, directory ?? ".");
  const isTemplate = parsed.text("template") !== undefined || !existsSync(join(folder, "package.json"));
  return isTemplate ? fromStarter(root, parsed, context) : intoProject(folder, parsed, context);
}

function requireInside(root: string, directory: string): void {
  if (isAbsolute(directory) || !isBelow(root, resolve(root, directory))) {
    throw new CommandError(`The directory must be below ${root}, not "${directory}".`, "Use --root for another place.");
  }
  requireBelow(root, [directory]);
}

function isEmpty(folder: string): boolean {
  return !existsSync(folder) || readdirSync(folder).every((name) => TOLERATED.has(name));
}

async function fromStarter(root: string, parsed: ParsedArguments, context: CliContext): Promise<number> {
  const starters = listStarters(context.place.startersFolder);
  const terminal = parsed.flag("yes") ? undefined : context.terminal;
  const fallback = isEmpty(root) && !parsed.flag("yes") ? "." : randomProjectName(Math.random);
  const { environment } = context;
  const given = {
    directory: parsed.positionals[0],
    template: parsed.text("template"),
    model: modelOf(parsed, environment)
  };
  const chosen = terminal ? await askForProject({ given, fallback, starters, environment }, terminal) : given;
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
  if (existsSync(folder) && !statSync(folder).isDirectory()) {
    throw new CommandError(`${directory} is a file, and was not changed.`, "Choose another directory.");
  }
  if (!isEmpty(folder)) {
    throw new CommandError(`${directory} is not empty, and nothing in it was changed.`, "Choose another directory.");
  }
  const routePrefix = parsed.text("route-prefix");
  const files = projectFiles(starterFiles(context.place.startersFolder, template), {
    name: packageName(parsed.text("name") ?? basename(folder)),
    everthink: parsed.text("package") ?? `^${context.place.version}`,
    routePrefix
  });
  const plan: InitPlan = { directory, template, files: [...files.keys()].toSorted(), kept: [] };
  if (parsed.flag("dry-run")) return showPlan(plan, parsed, context);
  writeNew(folder, files);
  const isOwnRepository = await initRepository(folder, context);
  const model = await setUpModel(folder, chosen.model, { context, isChecked: parsed.flag("check-key") ?? true });
  const isInstalled = parsed.flag("install") === false ? false : await install(folder, context);
  // With package-lock.json, and without .dev.vars, which is ignored.
  const isCommitted = isOwnRepository && (await commitProject(folder, context));
  return showResult({ ...plan, isWritten: true, isInstalled, isCommitted, model }, parsed, context);
}

async function intoProject(folder: string, parsed: ParsedArguments, context: CliContext): Promise<number> {
  const already = alreadyThink(folder);
  if (already !== undefined) {
    const nothing = { directory: ".", template: null, files: [], kept: [], ...NOT_WRITTEN };
    if (parsed.flag("json")) context.print(JSON.stringify(nothing, null, 2));
    else context.print(`This is an everthink project already (${already}). Nothing was changed.`);
    return 0;
  }
  const vite = viteConfigOf(folder);
  const wrangler = WRANGLER_FILES.find((name) => existsSync(join(folder, name)));
  const config = vite ?? wrangler;
  if (parsed.text("model") !== undefined) {
    const hint = "Copy the lines you need from .dev.vars.example, which init adds, into .dev.vars.";
    throw new CommandError("--model is for a new project.", hint);
  }
  if (config !== undefined) {
    throw new CommandError(
      `There is a ${config}, which init does not change.`,
      'Add think() from "everthink/vite" to its plugins and "main": "virtual:everthink/entry" to the Wrangler file; see docs/framework.md.'
    );
  }
  const routePrefix = parsed.text("route-prefix");
  const everthink = parsed.text("package") ?? `^${context.place.version}`;
  const name = packageName(parsed.text("name") ?? basename(folder));
  const starter = starterFiles(context.place.startersFolder, DEFAULT_STARTER);
  const all = projectFiles(starter, { name, everthink, routePrefix });
  const added = new Map([...all].filter(([path]) => !existsSync(join(folder, path))));
  const kept = [...all.keys()].filter((path) => path !== "package.json" && !added.has(path));
  requireBelow(folder, ["package.json", ...added.keys()]);
  const plan: InitPlan = { directory: ".", template: DEFAULT_STARTER, files: [...added.keys()].toSorted(), kept };
  if (parsed.flag("dry-run")) return showPlan(plan, parsed, context);
  const manifest = join(folder, "package.json");
  const merged = mergedPackage(readFileSync(manifest, "utf8"), all.get("package.json") ?? "{}", everthink);
  writeNew(folder, added);
  writeFileSync(manifest, merged);
  const isInstalled = parsed.flag("install") === false ? false : await install(folder, context);
  return showResult({ ...plan, ...NOT_SET_UP, isWritten: true, isInstalled }, parsed, context);
}

/** Why a folder needs no agent; undefined when it does. */
function alreadyThink(folder: string): string | undefined {
  if (usesPlugin(folder)) return `${viteConfigOf(folder)} uses the plugin`;
  const { userConfig, wranglerConfig, manifest } = createThinkProject({ root: folder });
  if (userConfig.main !== undefined && isVirtualEntry(userConfig.main)) return `main of ${wranglerConfig.path}`;
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
  };
  return dependencies["everthink"] !== undefined && manifest.agents.length > 0 ? "agents/" : undefined;
}

interface InitPlan {
  readonly directory: string;
  readonly template: string;
  readonly files: readonly string[];
  /** Files of the user's that stay as they are. */
  readonly kept: readonly string[];
}

interface InitResult extends InitPlan {
  readonly isWritten: boolean;
  readonly isInstalled: boolean;
  readonly isCommitted: boolean;
  readonly model: ModelResult | null;
}

const NOT_SET_UP = { isCommitted: false, model: null } as const;
const NOT_WRITTEN = { isWritten: false, isInstalled: false, ...NOT_SET_UP } as const;

/** With files kept there is a project already, whose package.json is merged. */
function showPlan(plan: InitPlan, parsed: ParsedArguments, { print }: CliContext): number {
  if (parsed.flag("json")) print(JSON.stringify({ ...plan, ...NOT_WRITTEN }, null, 2));
  else {
    print(`Would write to ${plan.directory}:`);
    for (const path of plan.files) print(`  ${path}`);
    if (!plan.files.includes("package.json")) print("  package.json (merged)");
  }
  return 0;
}

function showResult(result: InitResult, parsed: ParsedArguments, { print }: CliContext): number {
  const { directory, template, files, kept, isInstalled, model } = result;
  if (parsed.flag("json")) {
    print(JSON.stringify(result, null, 2));
    return 0;
  }
  for (const path of kept) print(`kept ${path}`);
  print(files.includes("package.json") ? `${template} is in ${directory}` : "An agent is in agents/assistant/agent.ts");
  if (kept.includes(".gitignore")) print("Keys belong into .dev.vars: is it in your .gitignore?");
  if (model !== null) print(describeModel(model));
  const steps = [
    ...(directory === "." ? [] : [`cd ${shellWord(directory)}`]),
    ...(isInstalled ? [] : ["npm install"]),
    "npm run dev"
  ];
  print(`Next:\n  ${steps.join("\n  ")}`);
  return 0;
}

async function install(folder: string, context: CliContext): Promise<boolean> {
  const { note } = context;
  const begin = Date.now();
  const ended = runProgram(["npm", "install", "--no-audit", "--no-fund"], folder, context);
  const { code, errors } = await withProgress("Installing packages with npm", context, ended);
  if (code === 0) note(`Installed in ${((Date.now() - begin) / 1000).toFixed(0)} s.`);
  else note(`npm install failed; run it yourself:\n${errors.trim().split("\n").slice(-5).join("\n")}`);
  return code === 0;
}
