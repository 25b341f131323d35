// `everthink chaos`: the crash matrix on the user's own agent. The scenario is a module of the project; it runs in Node on
// the in-process host of everthink/testing, through the project's own Vite.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { CommandError, type CliContext } from "../cli-context.ts";
import { wholeNumber, type ParsedArguments } from "../command-line.ts";
import { skillsImport } from "../../framework/skills/skills-import.ts";
import { importFrom, requireProject, rootOf } from "../load-project.ts";
import { withProgress } from "../progress.ts";

const DEFAULT_SCENARIO = "test/chaos.ts";
const DEFAULT_POINTS = 40;

interface PlayedChaos {
  readonly differences: readonly unknown[];
}

/** What is used of everthink/testing, which is loaded from the project and is no part of this command. */
interface TestingModule {
  chaos(options: object): Promise<PlayedChaos>;
  formatChaos(result: PlayedChaos): string;
  readonly CHAOS_MODES: readonly string[];
}

export async function runChaos(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = rootOf(parsed, context);
  const scenarioPath = parsed.positionals[0] ?? DEFAULT_SCENARIO;
  if (!existsSync(join(root, scenarioPath))) {
    requireProject(root);
    throw new CommandError(`There is no scenario ${scenarioPath}.`, "What it holds: everthink chaos --help");
  }
  const points = wholeNumber(parsed, "points", { fallback: DEFAULT_POINTS });
  const seed = wholeNumber(parsed, "seed", { fallback: 1 });
  const modes = parsed.text("modes")?.split(",");
  const result = await withModules(root, async (load) => {
    const loaded = Promise.all([importFrom(root, "everthink/testing"), load(join(root, scenarioPath))]);
    const [testing, scenario] = (await withProgress(`Loading ${scenarioPath}`, context, loaded)) as [
      TestingModule,
      { default?: { agent?: unknown; conversation?: unknown } }
    ];
    const given = scenario.default;
    if (given?.agent === undefined || typeof given.conversation !== "function") {
      throw new CommandError(`${scenarioPath} has no default export with an agent and a conversation.`);
    }
    const unknown = modes?.find((mode) => !testing.CHAOS_MODES.some((one) => one === mode));
    if (unknown !== undefined) {
      throw new CommandError(`There is no disturbance "${unknown}".`, `There are: ${testing.CHAOS_MODES.join(", ")}.`);
    }
    const progress = reportProgress(context);
    const played = await testing.chaos({
      ...given,
      seed,
      points: points > 0 ? points : undefined,
      modes,
      onRun: progress
    });
    return { played, text: testing.formatChaos(played) };
  });
  context.print(parsed.flag("json") ? JSON.stringify(result.played, null, 2) : result.text);
  return result.played.differences.length === 0 ? 0 : 1;
}

/** A line per second, so that a long run is seen to go on. */
function reportProgress({ note }: CliContext): (mode: string) => void {
  let runs = 0;
  let last = Date.now();
  return (mode) => {
    runs += 1;
    if (Date.now() - last < 1000) return;
    last = Date.now();
    note(`${runs} runs, now ${mode} …`);
  };
}

type Load = (specifier: string) => Promise<unknown>;

interface ViteModule {
  createServer(config: object): Promise<{ environments: { ssr: object }; close(): Promise<void> }>;
  createServerModuleRunner(environment: object, options: object): { import: Load; close(): Promise<void> };
}

/** Modules of the project as Vite reads them: TypeScript of every kind, one copy of each package. */
async function withModules<Result>(root: string, work: (load: Load) => Promise<Result>): Promise<Result> {
  const vite = await projectVite(root);
  const server = await vite.createServer({
    root,
    configFile: false,
    logLevel: "error",
    appType: "custom",
    // As think() has it: an agent may import its skills.
    plugins: [skillsImport()],
    server: { middlewareMode: true, watch: null, hmr: false, ws: false },
    // Loaded by Node, here and from the scenario: the host only knows objects of its own copy.
    ssr: { external: ["everthink"] },
    optimizeDeps: { noDiscovery: true }
  });
  const runner = vite.createServerModuleRunner(server.environments.ssr, { hmr: false });
  try {
    return await work((specifier) => runner.import(specifier));
  } finally {
    await runner.close();
    await server.close();
  }
}

async function projectVite(root: string): Promise<ViteModule> {
  try {
    return (await importFrom(root, "vite")) as ViteModule;
  } catch {
    throw new CommandError("Vite is not installed in this project.", "Install it: npm install --save-dev vite");
  }
}
