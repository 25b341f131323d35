// Another program, run to its end beside the command: the command stays able to report and to be stopped.
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { CliContext } from "./cli-context.ts";

export interface ProgramEnd {
  /** Null when it cannot be run, or was stopped. */
  readonly code: number | null;
  /** What it wrote to standard output; past the limit nothing is added. */
  readonly output: string;
  /** What it wrote to standard error; its beginning is dropped past the limit. */
  readonly errors: string;
}

const ERRORS_LIMIT_CHARACTERS = 65_536;
const OUTPUT_LIMIT_CHARACTERS = 4 * 1024 * 1024;

export async function runProgram(
  [program = "", ...args]: readonly string[],
  folder: string,
  { signal }: Pick<CliContext, "signal">
): Promise<ProgramEnd> {
  const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const stop = () => void child.kill("SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(0, OUTPUT_LIMIT_CHARACTERS);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-ERRORS_LIMIT_CHARACTERS);
  });
  try {
    const [code] = (await once(child, "close")) as [number | null];
    return { code, output, errors };
  } catch {
    // It could not be started: not installed, or not a program.
    return { code: null, output, errors };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
