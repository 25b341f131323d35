// `npm start`: serves examples/hello with `everthink serve` until Ctrl-C. PORT chooses the port (8787 without it),
// DATA_DIRECTORY where the objects live (.data/hello without it); options of `everthink serve` win over both. Builds the
// package first when dist/ is missing; it does not watch for changes.
import { spawnSync } from "node:child_process";
import { existsSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";
import { runCommand } from "../src/framework/serve/command.ts";
import { bundleWorker } from "./bundle-worker.ts";

const DEFAULT_PORT = 8787;
const HIGHEST_PORT = 65_535;
/** Nobody waits for the sockets of an example. */
const GRACE_SECONDS = 0.5;

const root = join(import.meta.dirname, "..");
const frontWorker = join(root, "dist", "serve", "front-worker.js");

class StartError extends Error {}

function readPort(text: string | undefined): number {
  if (text === undefined || text === "") return DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= HIGHEST_PORT) return port;
  throw new StartError(`PORT must be a number from 0 to ${HIGHEST_PORT}, not "${text}".`);
}

function buildOnce(): void {
  if (existsSync(join(root, "dist", "agent.js")) && existsSync(frontWorker)) return;
  console.log("Building the package (first start) …");
  const { status } = spawnSync("npm", ["run", "build", "--silent"], { cwd: root, stdio: "inherit" });
  if (status !== 0) throw new StartError("The build failed; see above.");
}

async function main(): Promise<number> {
  const port = readPort(process.env.PORT);
  const dataDirectory = resolve(process.env.DATA_DIRECTORY || join(root, ".data", "hello"));
  buildOnce();
  const place = ["--port", String(port), "--data", dataDirectory, "--grace", String(GRACE_SECONDS)];
  const options = [...place, ...process.argv.slice(2)];
  return runCommand(["serve", await bundleHello(), "--objects", "Hello", ...options], { frontWorker, version: "" });
}

/** One place for all starts, put there whole: another start may be reading it. */
async function bundleHello(): Promise<string> {
  const bundle = join(root, ".tmp", "hello.js");
  const outputFile = join(root, ".tmp", `hello-${process.pid}.js`);
  await bundleWorker({ entry: join(root, "examples", "hello", "worker.ts"), outputFile });
  renameSync(outputFile, bundle);
  return bundle;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof StartError ? error.message : error);
  process.exitCode = 1;
}
