// A project with a build, as `vite build` leaves it, and the packed command running in it as a person would run it.
// Everything still running when a test file ends is killed, everything temporary removed. `dist/` must have been built.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { bundleWorker } from "../../tools/bundle-worker.ts";
import { removeFolder } from "../../tools/remove-folder.ts";

const command = fileURLToPath(new URL("../../dist/serve/cli.js", import.meta.url));
const workerd = dirname(createRequire(import.meta.url).resolve("workerd/package.json"));

const projects: ServedProject[] = [];
afterAll(async () => {
  await Promise.all(projects.splice(0).map((project) => project.remove()));
});

export const WRANGLER = {
  name: "app",
  main: "index.js",
  no_bundle: true,
  compatibility_date: "2026-09-18",
  rules: [{ type: "ESModule", globs: ["**/*.js", "**/*.mjs"] }],
  vars: { GREETING: "hello" },
  durable_objects: { bindings: [{ name: "COUNTER", class_name: "Counter" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["Counter"] }],
  worker_loaders: [{ binding: "LOADER" }],
  assets: {
    directory: "../client",
    binding: "ASSETS",
    not_found_handling: "single-page-application",
    run_worker_first: ["/api/*"]
  }
};

export class ServedProject {
  readonly folder = mkdtempSync(join(tmpdir(), "everthink-served-"));
  readonly #runs: ServeRun[] = [];

  constructor() {
    projects.push(this);
    // Others must be able to look inside: one test runs the command as another user.
    chmodSync(this.folder, 0o755);
  }

  /** With workerd installed. */
  static async withBuild(): Promise<ServedProject> {
    const project = new ServedProject();
    const entry = fileURLToPath(new URL("./fixtures/served-worker.ts", import.meta.url));
    await bundleWorker({ entry, outputFile: join(project.folder, "dist", "app", "index.js") });
    project.put({ "dist/app/wrangler.json": JSON.stringify(WRANGLER), "dist/client/index.html": "<h1>Home</h1>" });
    project.installWorkerd();
    return project;
  }

  installWorkerd(): void {
    mkdirSync(join(this.folder, "node_modules"), { recursive: true });
    symlinkSync(workerd, join(this.folder, "node_modules", "workerd"));
  }

  put(files: Record<string, string>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true });
      writeFileSync(join(this.folder, path), text);
    }
  }

  /** `everthink serve …` on any free port, unless the arguments say another. */
  serve(args: readonly string[] = [], options: { env?: Record<string, string>; uid?: number } = {}): ServeRun {
    const port = args.includes("--port") ? [] : ["--port", "0"];
    return this.everthink(["serve", ...port, ...args], options);
  }

  everthink(args: readonly string[], options: { env?: Record<string, string>; uid?: number } = {}): ServeRun {
    const run = new ServeRun(
      spawn(process.execPath, [command, ...args], {
        cwd: this.folder,
        env: { ...process.env, ...options.env },
        stdio: ["ignore", "pipe", "pipe"],
        ...(options.uid === undefined ? {} : { uid: options.uid })
      })
    );
    this.#runs.push(run);
    return run;
  }

  async remove(): Promise<void> {
    for (const run of this.#runs) run.child.kill("SIGKILL");
    await Promise.all(this.#runs.map(({ ended }) => ended));
    await removeFolder(this.folder);
  }
}

/** One run of the command. */
export class ServeRun {
  readonly child: ChildProcess;
  /** Everything printed so far. */
  output = "";
  readonly ended: Promise<number | null>;

  constructor(child: ChildProcess) {
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    }
    this.ended = once(child, "close").then(([code]) => code as number | null);
  }

  /** Resolves when the output contains it. Fails when the command ends before. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    let hasEnded = false;
    void this.ended.then(() => (hasEnded = true));
    for (;;) {
      const match = pattern.exec(this.output);
      if (match) return match;
      if (hasEnded) throw new Error(`It ended without saying ${pattern}:\n${this.output}`);
      const streams = [this.child.stdout, this.child.stderr].flatMap((stream) =>
        stream ? [once(stream, "data")] : []
      );
      await Promise.race([...streams, this.ended]);
    }
  }

  /** Without a trailing slash. */
  async url(): Promise<string> {
    return (await this.says(/Ready: (http:\S+)\/ /))[1] ?? "";
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch((await this.url()) + path, { redirect: "manual", ...init });
  }

  async json(path: string): Promise<unknown> {
    return (await this.fetch(path)).json();
  }

  /** The process ids of its workerd: one, or none. */
  workerds(): number[] {
    return this.children("workerd");
  }

  children(program: string): number[] {
    const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" });
    return table.split("\n").flatMap((line) => {
      const [pid, parent, name] = line.trim().split(/\s+/);
      return Number(parent) === this.child.pid && name === program ? [Number(pid)] : [];
    });
  }
}

/** Whether a process runs under this id. One that is dead and only not yet buried by its parent does not. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() !== "" && !stdout.trim().startsWith("Z");
}
