// A new project in an empty folder, made by following the README word for word. Three words are changed: the package is
// the packed tarball, other packages have the versions this repository is tested with, and the port is a free one.
// OpenAI is a server here.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { FakeOpenAi } from "./fake-openai.ts";
import { PackedProject, repository } from "./packed-project.ts";
import { readmeSteps } from "./readme.ts";

const PATIENCE = { timeout: 60_000, interval: 100 };
const running: ChildProcess[] = [];
let packed: PackedProject;
let openAi: FakeOpenAi;
let port: number;

beforeAll(async () => {
  packed = new PackedProject();
  openAi = await FakeOpenAi.start();
  port = await freePort();
});
afterAll(async () => {
  await Promise.all(running.map(stop));
  openAi?.stop();
  packed?.remove();
});

const environment = () => ({
  ...process.env,
  // The Node of this run, whatever the system has.
  PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
  npm_config_prefer_offline: "true",
  npm_config_audit: "false",
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  CI: "true"
});

let folder = "";

/** As a shell does it, in the folder the commands before have entered. */
async function run(command: string): Promise<string> {
  const { stdout } = await promisify(execFile)("sh", ["-c", adapted(command)], { cwd: folder, env: environment() });
  const [, entered] = /\bcd (\w+)$/.exec(command) ?? [];
  if (entered !== undefined) folder = join(folder, entered);
  return stdout;
}

/** Starts what does not end by itself, and waits until it answers. */
async function start(command: string): Promise<ChildProcess> {
  // A group of its own, so that what the command started can be ended too.
  const child = spawn("sh", ["-c", adapted(command)], { cwd: folder, env: environment(), detached: true });
  running.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (output += String(text)));
  await vi.waitFor(async () => {
    const answer = await fetch(`http://localhost:${port}/agents/assistant/ada/get-messages`).catch(() => undefined);
    expect(answer?.status, output).toBe(200);
  }, PATIENCE);
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, "close");
  process.kill(-child.pid, "SIGTERM");
  await ended;
}

function adapted(text: string): string {
  const withPort = text.replaceAll("8787", String(port));
  return withPort.startsWith("npm install") ? withPort.replace(/(?<=\s)[@a-z][\w@/-]*(?=\s|$)/g, pinned) : withPort;
}

function pinned(name: string): string {
  if (name === "install") return name;
  if (name === "everthink") return join(packed.directory, packed.report.filename);
  const { version } = JSON.parse(readFileSync(join(repository, "node_modules", name, "package.json"), "utf8")) as {
    version: string;
  };
  return `${name}@${version}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe("a project made by following the README word for word", () => {
  test(
    "answers, keeps what it was told over a change of server, and runs on one machine",
    { timeout: 300_000 },
    async () => {
      folder = packed.directory;
      const steps = readmeSteps(repository, "Your own agent");
      const [talk, give] = [steps.pop(), steps.pop()];
      for (const step of steps) {
        if (step.do === "write") writeFileSync(join(folder, step.file), adapted(step.text));
        else for (const command of step.commands) await run(command);
      }
      if (give?.do !== "run" || talk?.do !== "run") throw new Error("The section does not end with two commands.");
      const [key = "", dev = ""] = give.commands;
      await run(key);
      appendFileSync(join(folder, ".dev.vars"), `OPENAI_BASE_URL=${openAi.url}\n`);
      const development = await start(dev);
      expect(await run(talk.commands[0] ?? "")).toContain("tool-log\n");
      expect(await run("node chat.ts")).toBe("step-start\ntool-log\nstep-start\nLine 2 of the log\ncompleted\n");
      expect([...openAi.keys]).toEqual(["Bearer sk-..."]);
      await stop(development);

      const [selfHost] = readmeSteps(repository, "Self-host on one machine");
      if (selfHost?.do !== "run") throw new Error("The section has no commands.");
      const [install = "", build = "", serve = ""] = selfHost.commands;
      await run(install);
      await run(build);
      const served = await start(`${serve} --port ${port} --allow-private-network`);
      expect(await run("node chat.ts")).toContain("Line 1 of the log\ncompleted\n");
      await stop(served);
      await start(`${serve} --port ${port} --allow-private-network`);
      expect(await run("node chat.ts")).toContain("Line 2 of the log\ncompleted\n");
    }
  );
});
