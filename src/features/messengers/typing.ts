// The typing indicator: shown while there is no text yet. It is best effort; a provider that refuses it costs nothing.
import type { Clock } from "../../host/ports.ts";

/** Providers show it for five seconds at least. */
const REPEAT_MS = 4_000;
const MAX_REPEATS = 30;

export interface TypingInit {
  readonly clock: Clock;
  readonly type: () => Promise<void> | undefined;
  readonly isNeeded: () => boolean;
  /** Default 4 s. */
  readonly repeatMs?: number | undefined;
}

/** Returns the function that ends it. */
export function typingWhile({ clock, type, isNeeded, repeatMs = REPEAT_MS }: TypingInit): () => void {
  const end = new AbortController();
  const show = async (): Promise<void> => {
    for (let count = 0; count < MAX_REPEATS && isNeeded() && !end.signal.aborted; count += 1) {
      await type();
      await clock.sleep(repeatMs, end.signal);
    }
  };
  show().catch(() => undefined);
  return () => end.abort();
}
