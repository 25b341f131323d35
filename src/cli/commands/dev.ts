// `everthink dev`: the project's development server, which is Vite.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { CommandError, type CliContext } from "../cli-context.ts";
import { filledText, wholeNumber, type ParsedArguments } from "../command-line.ts";
import { makePrivateFolder } from "../../framework/serve/data-lock.ts";
import { DEV_LOG, levelOf, LogFile } from "../logs/log-file.ts";
import { requireProject, rootOf, routePrefixOf, viteConfigOf } from "../load-project.ts";

const HIGHEST_PORT = 65_535;
const STATE_FOLDER = ".wrangler";

export async function runDev(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = rootOf(parsed, context);
  if (viteConfigOf(root) === undefined) {
    requireProject(root);
    throw new CommandError("There is no vite.config.ts here.", "Make a project that has one: everthink init");
  }
  const host = filledText(parsed, "host");
  const port = parsed.text("port");
  if (port !== undefined) wholeNumber(parsed, "port", { fallback: 0, highest: HIGHEST_PORT });
  // A port that was asked for is that one or an error: links, webhooks and other commands name it.
  const flags = [
    ...(port === undefined ? [] : ["--port", port, "--strictPort"]),
    ...(host === undefined ? [] : ["--host", host])
  ];
  const program = [process.execPath, viteProgram(root), "dev", ...flags, ...parsed.passedOn];
  // Where Vite's plugin keeps the conversations of development.
  makePrivateFolder(join(root, STATE_FOLDER));
  const { terminal } = context;
  if (terminal !== undefined && !parsed.flag("plain")) {
    const { runDevTerminal } = await import("../dev/dev-terminal.ts");
    return runDevTerminal({ root, routePrefix: routePrefixOf(parsed, root), program, terminal, context });
  }
  const [file = "", ...args] = program;
  // Vite takes its keys from a terminal, and then nothing can be between it and that.
  const isPassed = terminal === undefined;
  const child = spawn(file, args, { cwd: root, stdio: isPassed ? ["inherit", "pipe", "pipe"] : "inherit" });
  if (isPassed) passOutput(child, new LogFile(join(root, DEV_LOG), context.note), context);
  const stop = () => void child.kill("SIGTERM");
  context.signal.addEventListener("abort", stop, { once: true });
  context.hurry.addEventListener("abort", () => void child.kill("SIGKILL"), { once: true });
  const [code] = (await once(child, "close")) as [number | null];
  return context.signal.aborted ? 0 : (code ?? 1);
}

/** To whom it was printed before, and into the log. */
function passOutput({ stdout, stderr }: ChildProcess, log: LogFile, { print, note }: CliContext): void {
  const [output, errors] = [stdout, stderr].map((input) => input && createInterface({ input }));
  output?.on("line", (line) => {
    log.write(line, levelOf(line, "stdout"));
    print(line);
  });
  errors?.on("line", (line) => {
    log.write(line, levelOf(line, "stderr"));
    note(line);
  });
}

export function viteProgram(root: string): string {
  try {
    const manifest = createRequire(join(root, "package.json")).resolve("vite/package.json");
    return join(dirname(manifest), "bin", "vite.js");
  } catch {
    throw new CommandError("Vite is not installed in this project.", "Install it: npm install");
  }
}
