// A gate stops a stream at a known place until the test opens it: the test knows exactly what was sent before, and
// nothing depends on time. The test and the agent may live in different objects of one workerd (see `latch.ts`).
import { Latch } from "./latch.ts";
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
