// Runs a worker on a real `workerd serve` process: bundled once, then started, killed and started again on the same
// data and the same port. Guarantees: `start` returns only when the port answers, `kill` and `stop` only when the
// process is gone, and nothing outlives this process (see lifeline.ts). Data given by the caller is never removed.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Bundle, bundleWorker } from "./bundle-worker.ts";
import { attachLifeline, type Lifeline } from "./lifeline.ts";
import { DATA_SERVICE, SOCKET_NAME, workerdConfig } from "./workerd-config.ts";

// The package ships no types; its default export is the path of the binary that fits this machine.
const { default: workerdPath } = createRequire(import.meta.url)("workerd") as { default: string };

/** workerd listens within 0.2 s on a small machine; past this it is taken for stuck and killed. */
const START_LIMIT_MS = 30_000;
/** Time between SIGTERM and SIGKILL. workerd waits for open WebSockets, and those never end by themselves. */
const STOP_GRACE_MS = 500;
/** The newest output kept for `log`; older text is dropped. */
const LOG_LIMIT_CHARACTERS = 1_000_000;

export interface WorkerOptions {
  /** The worker's TypeScript file. */
  entry: string | URL;
  /** Durable Object classes, each bound under its own name. Facet-only classes just need to be exported. */
  objects: readonly string[];
  /** Binds a loader for dynamic workers under this name. */
  loaderBinding?: string;
  /** Where objects live. Without it they live in a temporary directory that `stop` removes. */
  dataDirectory?: string;
  /** 0 or absent: any free port, kept over restarts. */
  port?: number;
  onOutput?: (text: string) => void;
}

export class PortTakenError extends Error {
  readonly port: number;
  constructor(port: number) {
    super(`Port ${port} is already in use.`);
    this.name = "PortTakenError";
    this.port = port;
  }
}

export class WorkerdStartError extends Error {
  constructor(reason: string, log: string) {
    super(`workerd did not start: ${reason}\n${log.trim()}`);
    this.name = "WorkerdStartError";
  }
}

interface Running {
  child: ChildProcess;
  lifeline: Lifeline;
  exited: Promise<void>;
}

export async function serveWorker(options: WorkerOptions): Promise<WorkerServer> {
  const scratch = mkdtempSync(join(tmpdir(), "everthink-worker-"));
  try {
    const bundle = await bundleWorker({ entry: filePath(options.entry), outputFile: join(scratch, "worker.js") });
    requireExports(options, bundle);
    const config = workerdConfig({ ...options, moduleFile: "worker.js" });
    writeFileSync(join(scratch, "config.capnp"), config);
    const server = new WorkerServer(options, scratch, bundle);
    await server.start();
    return server;
  } catch (error) {
    rmSync(scratch, { recursive: true, force: true });
    throw error;
  }
}

/** workerd only warns about a class it cannot find, and fails at the first request. */
function requireExports(options: WorkerOptions, bundle: Bundle): void {
  const missing = options.objects.filter((name) => !bundle.exports.includes(name));
  if (missing.length > 0) throw new Error(`The worker does not export ${missing.join(", ")}.`);
}

export class WorkerServer {
  readonly bundle: Bundle;
  readonly dataDirectory: string;
  readonly #scratch: string;
  readonly #onOutput: ((text: string) => void) | undefined;
  #port: number;
  #log = "";
  #running: Running | undefined;

  constructor(options: WorkerOptions, scratch: string, bundle: Bundle) {
    this.bundle = bundle;
    this.dataDirectory = options.dataDirectory ?? join(scratch, "data");
    this.#scratch = scratch;
    this.#onOutput = options.onOutput;
    this.#port = options.port ?? 0;
  }

  /** Without a trailing slash. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** The process id, for tests that watch the process from outside. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** What workerd and the worker's console printed, over all starts. */
  get log(): string {
    return this.#log;
  }

  /** Starts workerd again on the same data and port. Does nothing when it is running. */
  async start(): Promise<void> {
    if (this.#running) return;
    mkdirSync(this.dataDirectory, { recursive: true });
    const child = spawn(workerdPath, this.#commandLine(), {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      detached: true
    });
    const logStart = this.#log.length;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text) => this.#note(text));
    const exited = new Promise<void>((resolve) => {
      child.once("close", () => resolve());
      child.once("error", (error) => {
        this.#note(`${error.message}\n`);
        resolve();
      });
    });
    if (child.pid !== undefined) this.#hold(child, child.pid, exited);
    try {
      this.#port = await listening(child, exited);
    } catch (error) {
      await this.kill();
      const output = this.#log.slice(logStart);
      if (/Address already in use/i.test(output)) throw new PortTakenError(this.#port);
      throw new WorkerdStartError(error instanceof Error ? error.message : String(error), output);
    }
  }

  /** SIGKILL, as a crash or a power cut would do it. `start` afterwards finds what was committed. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends the process and removes everything temporary. The server cannot be started again. */
  async stop(): Promise<void> {
    const grace = setTimeout(() => this.#signal("SIGKILL"), STOP_GRACE_MS);
    await this.#end("SIGTERM");
    clearTimeout(grace);
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  /** Resolves when the process that runs now is gone, however it ended. */
  async exited(): Promise<void> {
    await this.#running?.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #commandLine(): string[] {
    return [
      "serve",
      "--experimental",
      "--control-fd=3",
      `-s${SOCKET_NAME}=127.0.0.1:${this.#port}`,
      `-d${DATA_SERVICE}=${this.dataDirectory}`,
      join(this.#scratch, "config.capnp")
    ];
  }

  #hold(child: ChildProcess, groupId: number, exited: Promise<void>): void {
    const running: Running = { child, exited, lifeline: attachLifeline(groupId, this.#scratch) };
    this.#running = running;
    void exited.then(() => {
      running.lifeline.release();
      if (this.#running === running) this.#running = undefined;
    });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#running;
    if (!running) return;
    this.#signal(signal);
    await running.exited;
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#running?.child.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // The group ended by itself in the meantime; `exited` reports it.
    }
  }

  #note(text: string): void {
    this.#log = (this.#log + text).slice(-LOG_LIMIT_CHARACTERS);
    this.#onOutput?.(text);
  }
}

/** The port, once workerd reports on its control descriptor that it listens. */
async function listening(child: ChildProcess, exited: Promise<void>): Promise<number> {
  let stuck: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      listenEvent(child.stdio[3] as Readable), // Opened as a pipe above, so it is a readable stream.
      exited.then(() => Promise.reject(new Error(`it exited with ${child.exitCode ?? child.signalCode ?? "no code"}`))),
      new Promise<never>((_resolve, reject) => {
        stuck = setTimeout(() => reject(new Error(`no answer within ${START_LIMIT_MS} ms`)), START_LIMIT_MS);
      })
    ]);
  } finally {
    clearTimeout(stuck);
  }
}

function listenEvent(control: Readable): Promise<number> {
  return new Promise((resolve) => {
    createInterface({ input: control }).on("line", (line) => {
      const event = JSON.parse(line) as { event?: string; socket?: string; port?: number };
      if (event.event === "listen" && event.socket === SOCKET_NAME && event.port !== undefined) resolve(event.port);
    });
  });
}

function filePath(entry: string | URL): string {
  return entry instanceof URL ? fileURLToPath(entry) : entry;
}
