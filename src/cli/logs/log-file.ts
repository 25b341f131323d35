// The log of a running server as a file, for `everthink logs`: lines with their time and level. It has a limit: past it the
// file becomes the previous one, and the one before that goes.
import { appendFileSync, closeSync, openSync, readSync, renameSync, statSync } from "node:fs";
import { errorMessage } from "../../util/errors.ts";
import { isObject, parseJson } from "../../util/json.ts";

export type LogLevel = "info" | "warn" | "error";
export const LOG_LEVELS: readonly LogLevel[] = ["info", "warn", "error"];

export interface LogLine {
  /** ISO. */
  readonly time: string;
  readonly level: LogLevel;
  readonly text: string;
}

/** Beside it there may be one earlier file of this size. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Where the development server of a project writes; `serve` writes `everthink.log` into its data folder. */
export const DEV_LOG = ".wrangler/everthink-dev.log";
export const SERVE_LOG = "everthink.log";

// oxlint-disable-next-line no-control-regex
const CODES = /\u001b\[[\d;?]*[A-Za-z]/g;

export class LogFile {
  readonly #path: string;
  readonly #warn: (text: string) => void;
  #bytes: number;
  #isBroken = false;

  constructor(path: string, warn: (text: string) => void) {
    this.#path = path;
    this.#warn = warn;
    this.#bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** A log that cannot be written stops no server: it is said once. */
  write(text: string, level: LogLevel, now = new Date()): void {
    if (this.#isBroken) return;
    const line = `${JSON.stringify({ time: now.toISOString(), level, text: text.replace(CODES, "") })}\n`;
    try {
      if (this.#bytes + line.length > MAX_BYTES && this.#bytes > 0) {
        renameSync(this.#path, previousOf(this.#path));
        this.#bytes = 0;
      }
      appendFileSync(this.#path, line, { mode: 0o600 });
      this.#bytes += Buffer.byteLength(line);
    } catch (error) {
      this.#isBroken = true;
      this.#warn(`${this.#path} cannot be written (${errorMessage(error)}): everthink logs has nothing to show.`);
    }
  }
}

export const previousOf = (path: string) => `${path}.1`;

export interface LogPiece {
  readonly lines: readonly LogLine[];
  /** Where the next piece begins. */
  readonly end: number;
}

/** Whole lines from a place on; from the beginning where the file has become shorter. Undefined: there is no file. */
export function readLog(path: string, from: number): LogPiece | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return undefined;
  const start = size < from ? 0 : from;
  const bytes = Buffer.alloc(size - start);
  const file = openSync(path, "r");
  try {
    readSync(file, bytes, 0, bytes.length, start);
  } finally {
    closeSync(file);
  }
  const whole = bytes.subarray(0, bytes.lastIndexOf("\n") + 1);
  return { lines: whole.toString("utf8").split("\n").flatMap(readLine), end: start + whole.length };
}

function readLine(line: string): LogLine[] {
  const read = line === "" ? undefined : parseJson(line);
  if (!read?.ok || !isObject(read.value)) return [];
  const { time, level, text } = read.value;
  const known = LOG_LEVELS.find((one) => one === level);
  return typeof time === "string" && typeof text === "string" && known ? [{ time, level: known, text }] : [];
}

export interface LogFilter {
  readonly level: LogLevel;
  /** Words that must all be in the line: an agent, an instance, the id of a turn. */
  readonly words: readonly string[];
}

export function fits({ level, text }: Pick<LogLine, "level" | "text">, filter: LogFilter): boolean {
  if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(filter.level)) return false;
  const lower = text.toLowerCase();
  return filter.words.every((word) => lower.includes(word.toLowerCase()));
}

/** How loud a line of a server is. Vite, Wrangler and workerd have no common form: their words say it. */
export function levelOf(line: string, stream: "stdout" | "stderr"): LogLevel {
  if (/\b(?:[Ee]rror|ERROR|[Ff]ailed|uncaught)\b|✘/.test(line)) return "error";
  return stream === "stderr" || /\b(?:warn|warning|WARN)\b|▲/i.test(line) ? "warn" : "info";
}
