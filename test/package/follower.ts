// A person who makes a new project by following a page word for word. Three words are changed: the package is the packed
// tarball, other packages have the versions this repository is tested with, and the port is a free one.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, vi } from "vitest";
import { freePort } from "../../tools/free-port.ts";
import { repository, type PackedProject } from "./packed-project.ts";
import type { PageStep } from "./page-steps.ts";

const PATIENCE = { timeout: 60_000, interval: 100 };
/** The port of the pages. */
const PORT = "8788";

export class Follower {
  readonly #packed: PackedProject;
  readonly port: number;
  /** The one the commands have entered. */
  folder: string;
  readonly #running: ChildProcess[] = [];

  private constructor(packed: PackedProject, port: number) {
    this.#packed = packed;
    this.port = port;
    this.folder = packed.directory;
  }

  static async begin(packed: PackedProject): Promise<Follower> {
    return new Follower(packed, await freePort());
  }

  async follow(steps: readonly PageStep[]): Promise<void> {
    for (const step of steps) {
      if (step.do === "run") for (const command of step.commands) await this.run(command);
      else this.write(step);
    }
  }

  write({ do: how, file, text }: Extract<PageStep, { file: string }>): void {
    const path = join(this.folder, file);
    if (how === "append") appendFileSync(path, `\n${this.#adapted(text)}`);
    else writeFileSync(path, this.#adapted(text));
  }

  /** As a shell does it. */
  async run(command: string): Promise<string> {
    const options = { cwd: this.folder, env: environment() };
    const { stdout } = await promisify(execFile)("sh", ["-c", this.#adapted(command)], options);
    const [, entered] = /\bcd (\w+)$/.exec(command) ?? [];
    if (entered !== undefined) this.folder = join(this.folder, entered);
    return stdout;
  }

  /** Starts what does not end by itself, and waits until it answers. */
  async start(command: string, path: string): Promise<ChildProcess> {
    const options = { cwd: this.folder, env: environment(), detached: true };
    // A group of its own, so that what the command started can be ended too.
    const child = spawn("sh", ["-c", this.#adapted(command)], options);
    this.#running.push(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (output += String(text)));
    await vi.waitFor(async () => {
      const answer = await fetch(`http://localhost:${this.port}${path}`).catch(() => undefined);
      expect(answer?.status, output).toBe(200);
    }, PATIENCE);
    return child;
  }

  async stop(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const ended = once(child, "close");
    process.kill(-child.pid, "SIGTERM");
    await ended;
  }

  async leave(): Promise<void> {
    await Promise.all(this.#running.map((child) => this.stop(child)));
  }

  #adapted(text: string): string {
    const withPort = text.replaceAll(PORT, String(this.port));
    if (!withPort.startsWith("npm install")) return withPort;
    return withPort.replace(/(?<=\s)[@a-z][\w@/-]*(?=\s|$)/g, (name) => this.#pinned(name));
  }

  #pinned(name: string): string {
    if (name === "install") return name;
    if (name === "everthink") return join(this.#packed.directory, this.#packed.report.filename);
    const { version } = JSON.parse(readFileSync(join(repository, "node_modules", name, "package.json"), "utf8")) as {
      version: string;
    };
    return `${name}@${version}`;
  }
}

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
