// One contender on one workerd process with its own data folder: started, killed, started again on the same data, and
// looked at from outside through /proc. Nothing outlives this process and nothing temporary is left behind.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { objectClasses } from "../src/framework/serve/object-classes.ts";
import { findWorkerd } from "../src/framework/serve/workerd-binary.ts";
import { DATA_SERVICE, workerdConfig } from "../src/framework/serve/workerd-config.ts";
import { launchWorkerd, type WorkerdProcess } from "../src/framework/serve/workerd-process.ts";
import { readUsage, type Usage } from "./usage.ts";

/** Every worker exports one object class of this name, and is asked under it. */
const CLASS_NAME = "Chat";
/** Printed when something fails; older output is dropped. */
const LOG_CHARACTERS = 4_000;

export interface RowCounts {
  rowsRead: number;
  rowsWritten: number;
  statements: number;
}

export class ContenderServer {
  readonly #workerFile: string;
  /** Made by the first start: from then on it goes when the process goes. */
  #folder: string | undefined;
  #running: WorkerdProcess | undefined;
  #log = "";

  constructor(workerFile: string) {
    this.#workerFile = workerFile;
  }

  get log(): string {
    return this.#log;
  }

  async start(): Promise<void> {
    const configFile = join(dirname(this.#workerFile), `${basename(this.#workerFile)}.capnp`);
    writeFileSync(configFile, configText(basename(this.#workerFile)));
    const folder = (this.#folder ??= mkdtempSync(join(tmpdir(), "everthink-bench-")));
    mkdirSync(join(folder, "data"), { recursive: true });
    this.#running = await launchWorkerd({
      binary: findWorkerd([import.meta.dirname]),
      configFile,
      host: "127.0.0.1",
      port: 0,
      folders: { [DATA_SERVICE]: join(folder, "data") },
      scratchDirectory: folder,
      onOutput: (text) => {
        this.#log = (this.#log + text).slice(-LOG_CHARACTERS);
      }
    });
  }

  /** SIGKILL: what was not committed is lost. */
  async kill(): Promise<void> {
    this.#running?.signal("SIGKILL");
    await this.#running?.ended;
    this.#running = undefined;
  }

  async remove(): Promise<void> {
    await this.kill();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Of the object with this name; `scheme` is "http" or "ws". */
  url(scheme: "http" | "ws", name: string): string {
    return `${scheme}://127.0.0.1:${this.#process.port}/agents/chat/${name}`;
  }

  usage(): Usage {
    return readUsage(this.#process.pid ?? 0);
  }

  /** Runs the work with row counting switched on. */
  async countRows(work: () => Promise<unknown>): Promise<RowCounts> {
    await this.#get("/meter/start");
    await work();
    return (await (await this.#get("/meter/stop")).json()) as RowCounts;
  }

  async databaseSize(name: string): Promise<number> {
    const response = await this.#get(`/agents/chat/${name}/size`);
    return ((await response.json()) as { databaseSize: number }).databaseSize;
  }

  async #get(path: string): Promise<Response> {
    const response = await fetch(`http://127.0.0.1:${this.#process.port}${path}`);
    if (!response.ok) throw new Error(`${path} answered ${response.status}.`);
    return response;
  }

  get #process(): WorkerdProcess {
    if (this.#running === undefined) throw new Error("The process of a contender is not running.");
    return this.#running;
  }
}

export function configText(workerFile: string): string {
  return workerdConfig({
    modules: [{ name: workerFile, kind: "esModule", file: workerFile }],
    objects: objectClasses([], [CLASS_NAME]),
    bindings: [{ type: "object", name: CLASS_NAME, className: CLASS_NAME }]
  });
}
