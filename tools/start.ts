// `npm start`: serves examples/assistant with `everthink serve` until Ctrl-C. PORT chooses the port (8787 without it),
// DATA_DIRECTORY where the conversations live (.data/assistant without it); options of `everthink serve` win over both.
// Builds the package and the example first when they changed since they were last built; it does not watch.
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { MODEL_VARIABLES } from "../examples/assistant/shared/model-variables.ts";
import { parseCommandLine } from "../src/cli/command-line.ts";
import { serveArguments } from "../src/cli/commands/serve.ts";
import { runEverthink } from "../src/cli/main.ts";
import { SERVE } from "../src/cli/table/server-commands.ts";
import { requireFreeAddress } from "../src/framework/serve/address-check.ts";
import { PortTakenError } from "../src/framework/serve/errors.ts";
import { ThinkError } from "../src/util/errors.ts";
import { isOutdated } from "./newest-change.ts";

const DEFAULT_PORT = 8787;
const HIGHEST_PORT = 65_535;
/** The sockets of an example are not waited for. */
const GRACE_SECONDS = 0.5;

const root = join(import.meta.dirname, "..");
const example = join(root, "examples", "assistant");
const frontWorker = join(root, "dist", "serve", "front-worker.js");
const exampleBuild = join(example, "dist", "assistant", "wrangler.json");

class StartError extends Error {}

function readPort(text: string | undefined): number {
  if (text === undefined || text === "") return DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= HIGHEST_PORT) return port;
  throw new StartError(`PORT must be a number from 0 to ${HIGHEST_PORT}, not "${text}".`);
}

function buildWhatChanged(): void {
  const sources = ["src", "studio", "tsdown.config.ts"].map((name) => join(root, name));
  const isPackageOutdated = isOutdated(frontWorker, sources);
  if (isPackageOutdated) build("the package", root);
  if (isPackageOutdated || isOutdated(exampleBuild, [example])) build("the example", example);
}

function build(what: string, folder: string): void {
  console.log(`Building ${what} …`);
  // Whatever started this: React's development build is twice as large and much slower.
  const env = { ...process.env, NODE_ENV: "production" };
  const options = { cwd: folder, env, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync("npm", ["run", "build", "--silent"], options);
  if (status === 0) return;
  console.error(stdout + stderr);
  throw new StartError(`Building ${what} failed; see above.`);
}

/** What the person set. */
function modelOptions(): string[] {
  return MODEL_VARIABLES.filter((name) => process.env[name]).flatMap((name) => ["--var", name]);
}

/** Asked before anything is built: a developer should not wait for a build to learn that the port is taken. */
async function requireFreePort(args: readonly string[]): Promise<void> {
  if (args.includes("--help") || args.includes("-h")) return;
  const { host, port } = serveArguments(parseCommandLine(args, SERVE));
  try {
    await requireFreeAddress(host, port);
  } catch (error) {
    if (!(error instanceof PortTakenError)) throw error;
    throw new StartError(
      `${error.message}\nChoose another one: npm start -- --port ${(error.port % HIGHEST_PORT) + 1}`
    );
  }
}

async function main(): Promise<number> {
  const port = readPort(process.env.PORT);
  const dataDirectory = resolve(process.env.DATA_DIRECTORY || join(root, ".data", "assistant"));
  const place = ["--port", String(port), "--data", dataDirectory, "--grace", String(GRACE_SECONDS)];
  const given = process.argv.slice(2);
  // For this machine only: the plug, Studio, and MCP servers and models at its own addresses. A page that is open to others does
  // without the first two, and without reaching into this machine's network unless a model there was named.
  const isOpenToOthers = given.some((option) => option.startsWith("--host"));
  const isNetworkNeeded = !isOpenToOthers || Boolean(process.env["OPENAI_COMPATIBLE_URL"]);
  const own = [
    ...(isOpenToOthers ? [] : ["--plug", "--studio"]),
    ...(isNetworkNeeded ? ["--allow-private-network"] : [])
  ];
  const args = [exampleBuild, ...place, ...own, ...modelOptions(), ...given];
  await requireFreePort(args);
  buildWhatChanged();
  return runEverthink(["serve", ...args], {
    frontWorker,
    studioFolder: join(root, "dist", "studio"),
    startersFolder: join(root, "starters"),
    docsFolder: join(root, "docs"),
    partsFolder: join(root, "dist", "parts"),
    agentSkillsFolder: join(root, "agent-skills"),
    dependencies: {},
    version: ""
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  const isPlain = error instanceof StartError || error instanceof ThinkError;
  console.error(isPlain ? [error.message, "hint" in error ? error.hint : ""].filter(Boolean).join("\n") : error);
  process.exitCode = 1;
}
