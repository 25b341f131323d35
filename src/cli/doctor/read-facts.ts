// Reads what findings.ts judges: files of the project, what is installed, and one call to the provider of its model.
import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { runningDevServer } from "../../framework/project/dev-server-record.ts";
import { DECLARATIONS_FILE, readVariables, VARIABLES_FILE } from "../../framework/project/declared-variables.ts";
import { writeTypesFile } from "../../framework/project/types-file.ts";
import { isObject } from "../../util/json.ts";
import type { CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { checkModel, PROVIDERS, type ModelAnswers } from "../init/providers.ts";
import { entryOptionsOf, loadProject } from "../load-project.ts";
import { withProgress } from "../progress.ts";
import { runProgram } from "../run-program.ts";
import type { InstalledPackage, ProjectFacts } from "./findings.ts";

const NEEDED = ["everthink", "ai", "vite", "@cloudflare/vite-plugin", "workerd", "wrangler"];

export async function readFacts(
  parsed: ParsedArguments,
  context: CliContext,
  { isOffline }: { readonly isOffline: boolean }
): Promise<ProjectFacts> {
  const project = await loadProject(parsed, context);
  const { root, diagnostics, manifest, wranglerConfig } = project;
  const { authorize, unread } = entryOptionsOf(root);
  const variables = readVariables(root, VARIABLES_FILE);
  const plain = wranglerConfig.parsed === undefined ? undefined : Reflect.get(wranglerConfig.parsed, "vars");
  return {
    node: process.versions.node,
    everthink: context.place.version,
    packages: NEEDED.map((name) => packageIn(root, name)),
    diagnostics,
    agents: manifest.agents.length,
    types: writeTypesFile(project, { isDryRun: true }).state,
    hasAuthorize: authorize !== undefined || unread.includes("authorize"),
    usesLogin: ["src/login.ts", authorize ?? ""].some((file) => mentionsLogin(join(root, file))),
    variables,
    declared: [...readVariables(root, DECLARATIONS_FILE).keys()],
    variablesFile: await variablesFile(root, context),
    plainVariables: isObject(plain) ? plain : {},
    devServer: runningDevServer(root),
    model: isOffline
      ? undefined
      : await askProvider({ ...context.environment, ...Object.fromEntries(variables) }, context)
  };
}

function packageIn(root: string, name: string): InstalledPackage {
  // Some packages do not export their package.json: it is looked for where Node looks for the package.
  const folders = createRequire(join(root, "package.json")).resolve.paths(name) ?? [];
  const file = folders.map((folder) => join(folder, name, "package.json")).find((path) => existsSync(path));
  if (file === undefined) return { name, version: undefined };
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version?: string };
  return { name, version };
}

function mentionsLogin(file: string): boolean {
  return existsSync(file) && statSync(file).isFile() && readFileSync(file, "utf8").includes("everthink/login");
}

async function variablesFile(root: string, context: CliContext): Promise<ProjectFacts["variablesFile"]> {
  const path = join(root, VARIABLES_FILE);
  if (!existsSync(path)) return undefined;
  const { code } = await runProgram(["git", "check-ignore", "--quiet", VARIABLES_FILE], dirname(path), context);
  // Any other code: no Git, or no repository.
  return {
    isPrivate: (statSync(path).mode & 0o077) === 0,
    isIgnored: code === 0 ? true : code === 1 ? false : undefined
  };
}

/** The provider that the variables choose, as models/model.ts of the starters does. */
async function askProvider(
  variables: Readonly<Record<string, string | undefined>>,
  context: CliContext
): Promise<ProjectFacts["model"]> {
  const wanted = variables["MODEL_PROVIDER"]?.toLowerCase();
  const isMeant = (id: string, variable = "") => (wanted ? wanted === id : Boolean(variables[variable]));
  const provider = PROVIDERS.find(({ id, keyVariable, asks }) =>
    isMeant(id, asks.includes("url") ? "OPENAI_COMPATIBLE_URL" : keyVariable)
  );
  if (provider?.check === undefined) return undefined;
  const answers: ModelAnswers = {
    provider: provider.id,
    key: variables[provider.keyVariable ?? ""] || undefined,
    model: variables["MODEL"] || undefined,
    url: variables["OPENAI_COMPATIBLE_URL"],
    account: variables["WORKERS_AI_ACCOUNT_ID"]
  };
  const { title } = provider;
  if (answers.key === undefined && !provider.isKeyOptional) {
    return { provider: title, problem: `${title} needs ${provider.keyVariable}, which is not set.` };
  }
  const problem = await withProgress(`Asking ${title}`, context, checkModel(answers, context.signal));
  return { provider: title, problem };
}
