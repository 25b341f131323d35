// `npm start`: serves examples/hello on workerd until Ctrl-C. PORT chooses the port (8787 without it), DATA_DIRECTORY
// where the objects live (.data/hello without it). Builds the package first when dist/ is missing; it does not watch
// for changes.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { PortTakenError, serveWorker } from "./serve-worker.ts";

const DEFAULT_PORT = 8787;
const HIGHEST_PORT = 65_535;

const root = join(import.meta.dirname, "..");

class StartError extends Error {}

function readPort(text: string | undefined): number {
  if (text === undefined || text === "") return DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= HIGHEST_PORT) return port;
  throw new StartError(`PORT must be a number from 0 to ${HIGHEST_PORT}, not "${text}".`);
}

function buildOnce(): void {
  if (existsSync(join(root, "dist", "agent.js"))) return;
  console.log("Building the package (first start) …");
  const { status } = spawnSync("npm", ["run", "build", "--silent"], { cwd: root, stdio: "inherit" });
  if (status !== 0) throw new StartError("The build failed; see above.");
}

async function main(): Promise<void> {
  const port = readPort(process.env.PORT);
  const dataDirectory = resolve(process.env.DATA_DIRECTORY || join(root, ".data", "hello"));
  buildOnce();
  const server = await serveWorker({
    entry: join(root, "examples", "hello", "worker.ts"),
    objects: ["Hello"],
    dataDirectory,
    port,
    onOutput: (text) => process.stderr.write(text)
  });
  let isStopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      isStopping = true;
      void server.stop();
    });
  }
  console.log(
    `Hello is at ${server.url}/ (Ctrl-C stops it; what it knows stays in ${relative(process.cwd(), dataDirectory)})`
  );
  await server.exited();
  await server.stop();
  if (!isStopping) throw new StartError("workerd ended by itself; see above.");
}

try {
  await main();
} catch (error) {
  if (error instanceof PortTakenError) console.error(`${error.message} Choose another one: PORT=8788 npm start`);
  else if (error instanceof StartError) console.error(error.message);
  else console.error(error);
  process.exitCode = 1;
}
