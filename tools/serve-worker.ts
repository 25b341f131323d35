// Runs a worker on a real `workerd serve` process: bundled once, then started, killed and started again on the same
// data and the same port. Guarantees: `start` returns only when the port answers, `kill` and `stop` only when the
// process is gone, and nothing outlives this process. Data given by the caller is never removed. How workerd is
// configured and started is shared with `everthink serve`; here it is not supervised, because tests want to see it die.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { objectClasses } from "../src/framework/serve/object-classes.ts";
import { findWorkerd } from "../src/framework/serve/workerd-binary.ts";
import { DATA_SERVICE, workerdConfig } from "../src/framework/serve/workerd-config.ts";
import { launchWorkerd, type WorkerdProcess } from "../src/framework/serve/workerd-process.ts";
import { type Bundle, bundleWorker } from "./bundle-worker.ts";

export { PortTakenError } from "../src/framework/serve/errors.ts";

/** Time between SIGTERM and SIGKILL. workerd waits for open WebSockets, and those never end by themselves. */
const STOP_GRACE_MS = 500;
/** The newest output kept for `log`; older text is dropped. */
const LOG_LIMIT_CHARACTERS = 1_000_000;
const BUNDLE = "worker.js";

export interface WorkerOptions {
  /** The worker's TypeScript file. */
  entry: string | URL;
  /** Durable Object classes, each bound under its own name. Facet-only classes just need to be exported. */
  objects: readonly string[];
  /** Binds a loader for dynamic workers under this name. */
  loaderBinding?: string;
  /** fetch() may reach this machine. */
  allowsPrivateNetwork?: boolean;
  /** What the heap of all objects together may hold: workerd ends where it is not enough. */
  heapMegabytes?: number;
  /** Where objects live. Without it they live in a temporary directory that `stop` removes. */
  dataDirectory?: string;
  /** 0 or absent: any free port, kept over restarts. */
  port?: number;
  onOutput?: (text: string) => void;
}

export async function serveWorker(options: WorkerOptions): Promise<WorkerServer> {
  const scratch = mkdtempSync(join(tmpdir(), "everthink-worker-"));
  try {
    const bundle = await bundleWorker({ entry: filePath(options.entry), outputFile: join(scratch, BUNDLE) });
    requireExports(options, bundle);
    writeFileSync(join(scratch, "config.capnp"), configText(options));
    const server = new WorkerServer(options, scratch, bundle);
    await server.start();
    return server;
  } catch (error) {
    rmSync(scratch, { recursive: true, force: true });
    throw error;
  }
}

function configText({ objects, loaderBinding, heapMegabytes, allowsPrivateNetwork }: WorkerOptions): string {
  const config = workerdConfig({
    ...(allowsPrivateNetwork !== undefined && { allowsPrivateNetwork }),
    modules: [{ name: BUNDLE, kind: "esModule", file: BUNDLE }],
    objects: objectClasses([], objects),
    bindings: [
      ...objects.map((name) => ({ type: "object" as const, name, className: name })),
      ...(loaderBinding === undefined ? [] : [{ type: "loader" as const, name: loaderBinding }])
    ]
  });
  if (heapMegabytes === undefined) return config;
  return config.replace("\n);", `,\n  v8Flags = ["--max-old-space-size=${heapMegabytes}"]\n);`);
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
  #builds: readonly string[] = [];
  #starts = 0;
  #log = "";
  #running: WorkerdProcess | undefined;

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
    return this.#running?.pid;
  }

  /** What workerd and the worker's console printed, over all starts. */
  get log(): string {
    return this.#log;
  }

  /** From the next start on each start runs the next of these builds, as text, on the same data: a deploy, or its undoing. */
  deployInTurn(builds: readonly string[]): void {
    this.#builds = builds;
    this.#starts = 0;
  }

  /** What it runs, as text. */
  get build(): string {
    return readFileSync(join(this.#scratch, BUNDLE), "utf8");
  }

  /** Starts workerd again on the same data and port. Does nothing when it is running. */
  async start(): Promise<void> {
    if (this.#running) return;
    mkdirSync(this.dataDirectory, { recursive: true });
    const build = this.#builds[this.#starts++ % this.#builds.length];
    if (build !== undefined) writeFileSync(join(this.#scratch, BUNDLE), build);
    const running = await launchWorkerd({
      binary: findWorkerd([import.meta.dirname]),
      configFile: join(this.#scratch, "config.capnp"),
      host: "127.0.0.1",
      port: this.#port,
      folders: { [DATA_SERVICE]: this.dataDirectory },
      scratchDirectory: this.#scratch,
      onOutput: (text) => this.#note(text)
    });
    this.#port = running.port;
    this.#running = running;
    void running.ended.then(() => {
      if (this.#running === running) this.#running = undefined;
    });
  }

  /** SIGKILL, as a crash or a power cut would do it. `start` afterwards finds what was committed. */
  async kill(): Promise<void> {
    const running = this.#running;
    running?.signal("SIGKILL");
    await running?.ended;
  }

  /** Ends the process and removes everything temporary. The server cannot be started again. */
  async stop(): Promise<void> {
    await this.#running?.stop(STOP_GRACE_MS);
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  /** Resolves when the process that runs now is gone, however it ended. */
  async exited(): Promise<void> {
    await this.#running?.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #note(text: string): void {
    this.#log = (this.#log + text).slice(-LOG_LIMIT_CHARACTERS);
    this.#onOutput?.(text);
  }
}

function filePath(entry: string | URL): string {
  return entry instanceof URL ? fileURLToPath(entry) : entry;
}
