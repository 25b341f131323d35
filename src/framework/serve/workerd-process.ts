// One run of workerd, from the start to its end. Guarantees: `launchWorkerd` resolves only when the port answers, a start
// that failed leaves no process, and no process outlives this one (lifeline.ts). Starting it again is left to others.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeDeadline } from "../../host/deadline.ts";
import { PortTakenError, serveErrors } from "./errors.ts";
import { attachLifeline, type Lifeline } from "./lifeline.ts";
import { SOCKET_NAME } from "./workerd-config.ts";

/** workerd listens within 0.2 s on a small machine; past this it is taken for stuck and killed. */
const START_LIMIT_MS = 30_000;
/** The newest output of a start kept to explain its failure. */
const START_OUTPUT_CHARACTERS = 10_000;

export interface LaunchOptions {
  /** The program. */
  binary: string;
  configFile: string;
  host: string;
  /** 0: any free one. */
  port: number;
  /** Folders by the name of their disk service. */
  folders: Readonly<Record<string, string>>;
  environment?: Readonly<Record<string, string>>;
  /** A descriptor the process keeps open as long as it lives: a lock held by it ends with the process, not before. */
  heldDescriptor?: number;
  /** Removed when this process dies before it could clean up. */
  scratchDirectory?: string;
  /** Where the logs that workerd left are listed when this process dies before it could do so. */
  dataFolder?: string;
  onOutput?: (text: string, stream: "stdout" | "stderr") => void;
}

export class WorkerdProcess {
  readonly port: number;
  /** Resolves with how it ended ("code 1", "SIGKILL") when the process is gone. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, port: number, ended: Promise<string>) {
    this.#child = child;
    this.port = port;
    this.ended = ended;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  signal(signal: NodeJS.Signals): void {
    signalGroup(this.#child, signal);
  }

  /** Asks it to end, which lets running requests finish, and kills it when it has not ended in time. */
  async stop(graceMs: number, hurry?: AbortSignal): Promise<void> {
    this.signal("SIGTERM");
    const kill = () => this.signal("SIGKILL");
    // workerd waits for open WebSockets, and those never end by themselves.
    const timer = setTimeout(kill, graceMs);
    if (hurry?.aborted) kill();
    hurry?.addEventListener("abort", kill, { once: true });
    await this.ended;
    clearTimeout(timer);
    hurry?.removeEventListener("abort", kill);
  }
}

export async function launchWorkerd(options: LaunchOptions): Promise<WorkerdProcess> {
  const child = spawn(options.binary, commandLine(options), {
    stdio: ["ignore", "pipe", "pipe", "pipe", options.heldDescriptor ?? "ignore"],
    env: { ...process.env, ...options.environment },
    detached: true
  });
  let startOutput = "";
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.setEncoding("utf8").on("data", (text: string) => {
      startOutput = (startOutput + text).slice(-START_OUTPUT_CHARACTERS);
      options.onOutput?.(text, stream);
    });
  }
  const lifeline = child.pid === undefined ? undefined : attachLifeline(child.pid, options);
  const ended = endOf(child, lifeline);
  try {
    return new WorkerdProcess(child, await listening(child, ended), ended);
  } catch (error) {
    signalGroup(child, "SIGKILL");
    await ended;
    if (/Address already in use/i.test(startOutput)) throw new PortTakenError(options.port);
    throw serveErrors.WorkerdStartError(error instanceof Error ? error.message : String(error), startOutput);
  }
}

/** An IPv6 address needs brackets in front of a port. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function commandLine({ host, port, folders, configFile }: LaunchOptions): string[] {
  return [
    "serve",
    "--experimental", // The loader for dynamic Workers and objects on disk ask for it.
    "--control-fd=3",
    `-s${SOCKET_NAME}=${hostAndPort(host, port)}`,
    ...Object.entries(folders).map(([service, folder]) => `-d${service}=${folder}`),
    configFile
  ];
}

function endOf(child: ChildProcess, lifeline: Lifeline | undefined): Promise<string> {
  return new Promise((resolve) => {
    child.once("close", (code, signal) => {
      lifeline?.release();
      resolve(signal ?? `code ${code}`);
    });
    child.once("error", (error) => resolve(error.message));
  });
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group ended by itself in the meantime; `ended` reports it.
  }
}

/** The port, once workerd reports on its control descriptor that it listens. */
async function listening(child: ChildProcess, ended: Promise<string>): Promise<number> {
  const port = Promise.race([
    listenEvent(child.stdio[3] as Readable), // Opened as a pipe above, so it is a readable stream.
    ended.then((how) => Promise.reject(new Error(`it ended with ${how}`)))
  ]);
  const clock = { sleep: (ms: number, signal?: AbortSignal) => sleep(ms, undefined, signal && { signal }) };
  const late = () => new Error(`no answer within ${START_LIMIT_MS} ms`);
  return beforeDeadline(port, { clock, timeoutMs: START_LIMIT_MS, late });
}

function listenEvent(control: Readable): Promise<number> {
  return new Promise((resolve) => {
    createInterface({ input: control }).on("line", (line) => {
      const event = JSON.parse(line) as { event?: string; socket?: string; port?: number };
      if (event.event === "listen" && event.socket === SOCKET_NAME && event.port !== undefined) resolve(event.port);
    });
  });
}
