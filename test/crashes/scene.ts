// What tools play beside the crashes of a test's own script (everyCrash): more points, two crashes in a row, garbage.
import type { EveryCrashOptions } from "../../src/testing/every-crash.ts";
import type { TestHost } from "../../src/testing/test-host.ts";

export type Host = TestHost<unknown>;
export type Scene = EveryCrashOptions<Host>;

/** What one disturbance of one scene came to. `detail` says where and what, if it was not as it should be. */
export interface Played {
  readonly kind: "once" | "twice" | "garbage";
  readonly verdict: Verdict;
  /** The table that garbage was written to. */
  readonly table?: string;
  readonly detail?: string;
}

/**
 * same: as without the disturbance. reported: different, and an event names the row. refused: different, and the caller was
 * given an error. silent: different, and neither. endless: the object never came to rest.
 */
export type Verdict = "same" | "reported" | "refused" | "silent" | "endless";

/** Real time after which a run that takes milliseconds is taken for endless. */
const ENDLESS_MS = 20_000;

export class EndlessError extends Error {}

/** What comes of the work, or an error when the host does not come to rest; the host is dead then. */
export async function ending<T>(host: Host, work: () => Promise<T>): Promise<T | Error> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<Error>((resolve) => {
    timer = setTimeout(() => resolve(new EndlessError("The object does not come to rest.")), ENDLESS_MS);
  });
  try {
    const ended = await Promise.race([work(), patience]);
    if (ended instanceof EndlessError) host.kill();
    return ended;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    clearTimeout(timer);
  }
}

const SHOWN_CHARACTERS = 600;

export function show(value: unknown): string {
  const text =
    value instanceof Error
      ? `${value.name}: ${value.message}`
      : (JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? `${inner}n` : inner)) ??
        "undefined");
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
