// `npm run create:timing`: seconds from `npm create everthink` to the first answer of the offline model, with the packed
// packages: cold, with an empty npm cache, then warm. Needs a built package and npm's registry; prints a Markdown table.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeFolder } from "./remove-folder.ts";

const root = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "everthink-timing-"));
const env = {
  ...process.env,
  npm_config_cache: join(scratch, "cache"),
  NO_COLOR: "1",
  CI: "1",
  CLOUDFLARE_CF_FETCH_ENABLED: "false"
};

function pack(folder: string): string {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", scratch];
  const report = execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [{ filename } = { filename: "" }] = JSON.parse(report) as { filename: string }[];
  return join(scratch, filename);
}

/** Ends with what the program ended with; its output is shown when it failed. */
function runToEnd(program: string, args: readonly string[], cwd: string): string {
  return execFileSync(program, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

interface Timing {
  readonly made: number;
  readonly ready: number;
  readonly answered: number;
}

const SECONDS = 1000;

async function measure(folder: string, packages: { everthink: string; create: string }): Promise<Timing> {
  mkdirSync(folder);
  const begin = performance.now();
  const since = () => (performance.now() - begin) / SECONDS;
  // What `npm create everthink@latest shop` does, with tarballs in the registry's place.
  const { everthink, create } = packages;
  const program = ["exec", "--yes", `--package=${create}`, `--package=${everthink}`, "--", "create-everthink"];
  runToEnd("npm", [...program, "shop", "--yes", "--package", `file:${everthink}`], folder);
  const made = since();
  const project = join(folder, "shop");
  const server = spawn("npx", ["everthink", "dev", "--port", "0"], {
    cwd: project,
    env,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true
  });
  try {
    const host = await localAddress(server);
    const ready = since();
    const answer = runToEnd("npx", ["everthink", "chat", "assistant", "--host", host, "-m", "Hello"], project);
    if (!answer.startsWith("Hello!")) throw new Error(`The agent answered: ${answer}`);
    return { made, ready, answered: since() };
  } finally {
    // The group: npx, the command and Vite.
    if (server.pid !== undefined) process.kill(-server.pid, "SIGTERM");
    await once(server, "close");
  }
}

/** Reads on afterwards: a server whose output is closed ends. */
function localAddress(server: ChildProcess): Promise<string> {
  let output = "";
  return new Promise((settle, fail) => {
    server.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const [, host] = /Local:\s+http:\/\/([^/\s]+)/.exec(output) ?? [];
      if (host !== undefined) settle(host);
    });
    server.once("close", () => fail(new Error(`The development server ended:\n${output}`)));
  });
}

function row(name: string, { made, ready, answered }: Timing): string {
  const cells = [made, ready - made, answered - ready, answered].map((seconds) => seconds.toFixed(1));
  return `| ${name} | ${cells.join(" | ")} |`;
}

try {
  const packages = { everthink: pack(root), create: pack(join(root, "packages", "create-everthink")) };
  console.log("| npm cache | project made and installed | development server ready | first answer | all |");
  console.log("|---|---:|---:|---:|---:|");
  console.log(row("cold", await measure(join(scratch, "cold"), packages)));
  console.log(row("warm", await measure(join(scratch, "warm"), packages)));
} finally {
  await removeFolder(scratch);
}
