// `@ai-sdk/tui` in a process of its own, as the documentation starts it.
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { until } from "../../browser/until.ts";

const PROGRAM = fileURLToPath(new URL("../../clients/newest/connect/terminal.ts", import.meta.url));

export class Terminal {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  #screen = "";

  constructor(url: string) {
    this.#process = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", PROGRAM, url], {
      stdio: ["pipe", "pipe", "inherit"]
    });
    this.#process.stdout.on("data", (data: Buffer) => (this.#screen += data.toString()));
  }

  /** Types a line, when the program is ready to take it. */
  async ask(question: string): Promise<void> {
    await this.shows(">");
    this.#process.stdin.write(question);
    await this.shows(question);
    this.press("\r");
  }

  press(key: string): void {
    this.#process.stdin.write(key);
  }

  async shows(text: string): Promise<void> {
    await until({
      what: `the terminal shows ${text}`,
      // Without colours and cursor movements.
      look: async () => stripVTControlCharacters(this.#screen),
      fits: (screen) => screen.includes(text),
      tell: (screen) => screen.slice(-1_000)
    });
  }

  async leave(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}
