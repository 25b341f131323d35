// The process of the development server, which is Vite: started, killed and started again. It leads a group of its own, so
// that a kill reaches the workerd that it starts.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

export interface DevProcessInit {
  readonly root: string;
  readonly program: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  onLine(line: string, stream: "stdout" | "stderr"): void;
  /** It ended by itself. */
  onEnd(code: number | null): void;
}

/** A line without an end is handed out in pieces of this length. */
const LINE_LIMIT_CHARACTERS = 16_384;
/** What a server that is asked to stop gets. */
const GRACE_MS = 5_000;

export class DevProcess {
  readonly #init: DevProcessInit;
  #child: ChildProcess | undefined;

  constructor(init: DevProcessInit) {
    this.#init = init;
  }

  /** `more` follows the arguments: where it listened before. */
  start(more: readonly string[] = []): void {
    const { root, environment, onEnd } = this.#init;
    const [file = "", ...args] = this.#init.program;
    const child = spawn(file, [...args, ...more], {
      cwd: root,
      env: { ...environment },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true
    });
    this.#child = child;
    for (const stream of ["stdout", "stderr"] as const) this.#follow(child, stream);
    child.once("close", (code) => {
      if (this.#child === child) onEnd(code);
    });
  }

  /** At once, with all it has started: as a power cut. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    const child = this.#child;
    const timer = setTimeout(() => child && signal(child, "SIGKILL"), GRACE_MS);
    await this.#end("SIGTERM");
    clearTimeout(timer);
  }

  async #end(how: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "close");
    signal(child, how);
    await ended;
  }

  #follow(child: ChildProcess, stream: "stdout" | "stderr"): void {
    let rest = "";
    const hand = (line: string) => this.#init.onLine(line, stream);
    child[stream]?.setEncoding("utf8").on("data", (piece: string) => {
      const lines = (rest + piece).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > LINE_LIMIT_CHARACTERS) lines.push(rest);
      if (rest.length > LINE_LIMIT_CHARACTERS) rest = "";
      for (const line of lines) hand(line.replace(/\r$/, ""));
    });
    child[stream]?.once("end", () => rest !== "" && hand(rest));
  }
}

/** To the whole group; it may have ended. */
function signal({ pid }: ChildProcess, how: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, how);
  } catch {
    // It has ended already.
  }
}
