// A gate stops a stream at a known place until the test opens it: the test knows exactly what was sent before, and
// nothing depends on time. The test and the agent may live in different objects of one workerd (see `Latch`).
import type { ScriptPart } from "./script-part.ts";

export interface Gate {
  /** The place in a reply where the stream stops while the gate is closed. */
  wait(): ScriptPart;
  /** Lets everyone through, now and later. */
  open(): void;
  readonly isOpen: boolean;
  /** Resolves when a stream has arrived at the gate for the first time. */
  readonly reached: Promise<void>;
  /** Resolves when the gate is open; useful in tools and in step functions. */
  readonly opened: Promise<void>;
}

/**
 * @example
 * const gate = createGate();
 * const model = scriptedModel([reply(text("a"), gate.wait(), text("b"))]);
 * // start a turn …
 * await gate.reached; // "a" was sent, "b" was not
 * gate.open();
 */
export function createGate(): Gate {
  const reached = new Latch();
  const opened = new Latch();
  return {
    wait: () => ({
      kind: "wait",
      until: ({ signal }) => {
        reached.release();
        return opened.wait(signal);
      }
    }),
    open: () => opened.release(),
    get isOpen() {
      return opened.isReleased;
    },
    get reached() {
      return reached.wait();
    },
    get opened() {
      return opened.wait();
    }
  };
}

const LOOK_AGAIN_MS = 1;
const isWorkerd = globalThis.navigator?.userAgent === "Cloudflare-Workers";

/**
 * A flag that code in one place sets and code in another waits for. In workerd the two may run in different objects, and a
 * promise made or resolved in one must not be awaited in the other: the code after the `await` would go on in the wrong
 * object and fail at its next I/O (the workers test runner switches off the platform's remedy). There the waiting side looks
 * at the flag from its own timers; everywhere else it gets a promise and no timer is involved.
 */
class Latch {
  #waiting: (() => void)[] = [];
  #isReleased = false;

  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Resolves when released. A signal that fires also ends the wait, quietly: the caller knows what that means. */
  async wait(signal?: AbortSignal): Promise<void> {
    while (!this.#isReleased && signal?.aborted !== true) {
      await (isWorkerd ? new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS)) : this.#releasedOr(signal));
    }
  }

  release(): void {
    this.#isReleased = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #releasedOr(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
