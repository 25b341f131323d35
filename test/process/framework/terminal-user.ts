// A user at a terminal, without a pseudo-terminal: the command reads keys from a stream and writes to a screen.
import { PassThrough } from "node:stream";
import { testContext } from "../../../src/cli/cli.test-support.ts";
import { dispatch } from "../../../src/cli/main.ts";
import { until } from "../../browser/until.ts";
import { Screen } from "./screen.ts";

export const ENTER = "\r";
export const CONTROL_C = "\u0003";
const DEADLINE_MS = 30_000;

export class TerminalUser {
  readonly screen = new Screen();
  readonly ended: Promise<number>;
  readonly #input = new PassThrough();

  constructor(args: readonly string[], place: { readonly cwd: string; readonly hasColors?: boolean }) {
    const output = new PassThrough();
    output.setEncoding("utf8").on("data", (text: string) => this.screen.write(text));
    const context = testContext({
      cwd: place.cwd,
      terminal: { input: this.#input, output, hasColors: place.hasColors ?? false },
      print: (text) => void output.write(`${text}\n`),
      note: (text) => void output.write(`${text}\n`),
      stream: (text) => void output.write(text)
    });
    this.ended = dispatch(args, context);
    this.ended.catch(() => undefined);
  }

  types(keys: string): void {
    this.#input.write(keys);
  }

  /** Until the screen ends like this. */
  async sees(end: string | RegExp): Promise<void> {
    await until({
      what: `the terminal shows ${String(end)}`,
      look: async () => this.screen.text,
      fits: (text) => (typeof end === "string" ? text.endsWith(end.trimEnd()) : end.test(text)),
      tell: (text) => text,
      deadlineMs: DEADLINE_MS
    });
  }
}
