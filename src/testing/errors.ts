// What the test kit says when a test's expectation of the host does not hold.
import { ThinkError } from "../util/errors.ts";

const SHOWN_CHARACTERS = 2_000;

export class NoSuchFrame extends ThinkError {
  constructor(wanted: string, unread: readonly unknown[], closed: { code: number; reason: string } | undefined) {
    const ending = closed === undefined ? "" : ` The socket is closed (${closed.code} ${closed.reason}).`;
    super({
      code: "no-such-frame",
      message: `The host is idle and no frame matches ${wanted}.${ending} Unread: ${show(unread)}`,
      hint: "Advance the clock if the frame is sent later, or look at socket.frames for what was read before."
    });
  }
}

export class UpgradeRefused extends ThinkError {
  constructor(path: string, status: number, body: string) {
    super({ code: "upgrade-refused", message: `${path} answered ${status} instead of a WebSocket: ${body}` });
  }
}

export interface CrashDifference {
  /** Where the process died, e.g. `write 3`. */
  readonly point: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

export class CrashChangedOutcome extends ThinkError {
  readonly points: number;
  readonly differences: readonly CrashDifference[];

  constructor(points: number, differences: readonly CrashDifference[]) {
    const list = differences.map(
      ({ point, expected, actual }) => `- ${point}\n    expected ${show(expected)}\n    actual   ${show(actual)}`
    );
    super({
      code: "crash-changed-outcome",
      message: `${differences.length} of ${points} crash points changed the outcome:\n${list.join("\n")}`
    });
    this.points = points;
    this.differences = differences;
  }
}

function show(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  const text = JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? `${inner}n` : inner));
  if (text === undefined) return String(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
