// The lines `everthink serve` prints: time, who speaks, text. Output of the Worker arrives in pieces of any size and
// leaves as whole lines. Under systemd the journal knows the time, so it is left out.

/** A longer line is cut into pieces of this length. */
const LINE_LIMIT_CHARACTERS = 16_384;

export interface LogTarget {
  write(text: string): unknown;
}

export interface LogOptions {
  output: LogTarget;
  errors: LogTarget;
  now(): Date;
  withTime: boolean;
}

export class Log {
  readonly #options: LogOptions;
  readonly #rest = { stdout: "", stderr: "" };

  constructor(options: LogOptions) {
    this.#options = options;
  }

  /** A line of our own. */
  say(text: string): void {
    this.#print(this.#options.output, "everthink", text);
  }

  /** A line of our own that the operator should act on. */
  warn(text: string): void {
    this.#print(this.#options.errors, "everthink", text);
  }

  /** A piece of what workerd or the Worker's console printed. */
  pass(piece: string, stream: "stdout" | "stderr"): void {
    const lines = (this.#rest[stream] + piece).split("\n");
    const rest = lines.pop() ?? "";
    this.#rest[stream] = rest.length > LINE_LIMIT_CHARACTERS ? "" : rest;
    if (rest.length > LINE_LIMIT_CHARACTERS) lines.push(rest);
    for (const line of lines) this.#passLine(line, stream);
  }

  /** Prints what has no end of line; to be called when the process has ended. */
  flush(): void {
    for (const stream of ["stdout", "stderr"] as const) {
      const rest = this.#rest[stream];
      this.#rest[stream] = "";
      if (rest !== "") this.#passLine(rest, stream);
    }
  }

  #passLine(line: string, stream: "stdout" | "stderr"): void {
    const text = plainWords(line.replace(/\r$/, ""));
    if (text === undefined) return;
    const target = stream === "stdout" ? this.#options.output : this.#options.errors;
    for (let at = 0; at === 0 || at < text.length; at += LINE_LIMIT_CHARACTERS) {
      this.#print(target, "worker   ", text.slice(at, at + LINE_LIMIT_CHARACTERS));
    }
  }

  #print(target: LogTarget, who: string, text: string): void {
    const time = this.#options.withTime ? `${this.#options.now().toISOString()} ` : "";
    target.write(`${time}${who} ${text}\n`);
  }
}

/** What workerd says of itself, in words for operators; undefined: of use only to developers of workerd. */
function plainWords(line: string): string | undefined {
  const missing = /referenced the class "([^"]+)", but no such Durable Object class is exported/.exec(line);
  if (missing) return `The Worker does not export the Durable Object class ${missing[1]}: calls to it will fail.`;
  if (line.includes("connect() blocked by restrictPeers()")) {
    return "The Worker may not reach this machine or its local network, and tried to. --allow-private-network allows it.";
  }
  // Alarms were moved to later times on purpose (alarm-files.ts).
  if (line.includes("SQLite alarm overdue, running despite AlarmManager mismatch")) return undefined;
  const stack = /^stack: (?:\S+@[0-9a-f]+ ?)+(?:; .*?wdErrId = (\w+))?$/.exec(line);
  if (!stack) return line;
  // All that the Worker's own code gets to see of the error.
  return stack[1] === undefined ? undefined : `It was thrown as: internal error; reference = ${stack[1]}`;
}
