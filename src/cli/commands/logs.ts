// `everthink logs`: what the project's running server printed, from its file; or what a deployed Worker prints, through
// `wrangler tail`.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { wranglerProgram } from "../wrangler.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { usageError, wholeNumber, type ParsedArguments } from "../command-line.ts";
import { requireProject, rootOf } from "../load-project.ts";
import {
  DEV_LOG,
  fits,
  levelOf,
  LOG_LEVELS,
  previousOf,
  readLog,
  SERVE_LOG,
  type LogFilter,
  type LogLevel,
  type LogLine
} from "../logs/log-file.ts";
import { printable } from "../message-text.ts";

const DEFAULT_LINES = 100;
const LOOK_MS = 300;

export async function runLogs(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = rootOf(parsed, context);
  requireProject(root);
  const filter: LogFilter = {
    level: levelIn(parsed),
    words: ["agent", "turn"].flatMap((name) => parsed.text(name) ?? [])
  };
  const print = (line: LogLine) => {
    if (fits(line, filter)) context.print(parsed.flag("json") ? JSON.stringify(line) : describe(line));
  };
  if (parsed.flag("deployed")) return tail(root, parsed, { context, print });
  const path = logOf(root, parsed);
  const lines = wholeNumber(parsed, "lines", { fallback: DEFAULT_LINES });
  const [earlier, current] = [readLog(previousOf(path), 0), readLog(path, 0)];
  const shown = [...(earlier?.lines ?? []), ...(current?.lines ?? [])].filter((line) => fits(line, filter));
  for (const line of shown.slice(Math.max(0, shown.length - lines))) print(line);
  if (!parsed.flag("follow")) return 0;
  for (let at = current?.end ?? 0; !context.signal.aborted;) {
    await pause(LOOK_MS, undefined, { signal: context.signal }).catch(() => undefined);
    const piece = readLog(path, at);
    for (const line of piece?.lines ?? []) print(line);
    at = piece?.end ?? 0;
  }
  return 0;
}

function levelIn(parsed: ParsedArguments): LogLevel {
  const given = parsed.text("level") ?? "info";
  const level = LOG_LEVELS.find((one) => one === given);
  if (level === undefined) throw usageError(parsed.name, `--level is ${LOG_LEVELS.join(", ")}, not "${given}".`);
  return level;
}

/** Of the server that wrote last, or that is named. */
function logOf(root: string, parsed: ParsedArguments): string {
  const data = parsed.text("data");
  const places =
    data === undefined ? [join(root, DEV_LOG), join(root, ".data", SERVE_LOG)] : [join(root, data, SERVE_LOG)];
  const found = places
    .filter((path) => existsSync(path))
    .toSorted((one, other) => lastOf(other).localeCompare(lastOf(one)));
  if (found[0] !== undefined) return found[0];
  throw new CommandError(
    "No server of this project has written a log.",
    "everthink dev and everthink serve write one. Of a deployed Worker: everthink logs --deployed"
  );
}

const lastOf = (path: string) => readLog(path, 0)?.lines.at(-1)?.time ?? "";

function describe({ time, level, text }: LogLine): string {
  return `${time} ${level.padEnd("error".length)} ${printable(text)}`;
}

interface Printing {
  readonly context: CliContext;
  print(line: LogLine): void;
}

async function tail(root: string, parsed: ParsedArguments, { context, print }: Printing): Promise<number> {
  const env = parsed.text("env");
  const [file = "", ...args] = wranglerProgram(root);
  const child = spawn(file, [...args, "tail", ...(env === undefined ? [] : ["--env", env]), ...parsed.passedOn], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"]
  });
  const stop = () => void child.kill("SIGTERM");
  context.signal.addEventListener("abort", stop, { once: true });
  for (const stream of ["stdout", "stderr"] as const) {
    createInterface({ input: child[stream] }).on("line", (text) => {
      print({ time: new Date().toISOString(), level: levelOf(text, stream), text });
    });
  }
  const code = await new Promise<number | null>((settle) => {
    child.once("error", () => settle(null));
    child.once("close", settle);
  });
  context.signal.removeEventListener("abort", stop);
  if (code === 0 || context.signal.aborted) return 0;
  throw new CommandError(
    `wrangler tail ${code === null ? "cannot be run" : `ended with ${code}`}.`,
    code === null ? "Install it: npm install --save-dev wrangler" : "A login is made with: npx wrangler login"
  );
}
