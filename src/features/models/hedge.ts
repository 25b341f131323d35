// Two calls of which one is used: the first to begin. A call has begun with its first content; one that fails before that
// loses. The loser is cancelled at once, whatever it is doing.
import type { Clock } from "../../host/ports.ts";
import type { ModelPart, Streamed } from "../../model/index.ts";

/** A call that has begun: its stream has what was read of it until then. */
export interface Begun {
  readonly streamed: Streamed;
}

/** A call that can be cancelled. `begun` rejects when it fails before its first content. */
export interface Contender<Value> {
  readonly begun: Promise<Value>;
  cancel(): void;
}

/** Parts that say nothing yet. */
const OPENING: ReadonlySet<string> = new Set(["stream-start", "response-metadata", "raw"]);

/** Asks, and reads up to the first content. */
export function begin(
  ask: (signal: AbortSignal) => Promise<Streamed>,
  outer: AbortSignal | undefined
): Contender<Begun> {
  const stop = new AbortController();
  const signal = outer ? AbortSignal.any([outer, stop.signal]) : stop.signal;
  let reader: ReadableStreamDefaultReader<ModelPart> | undefined;
  const begun = (async () => {
    const streamed = await ask(signal);
    reader = streamed.stream.getReader();
    const read: ModelPart[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      // A failure: the caller may have another call.
      if (value.type === "error" && "error" in value) throw value.error;
      read.push(value);
      if (!OPENING.has(value.type)) break;
    }
    return { streamed: { ...streamed, stream: rest(read, reader) } };
  })();
  begun.catch(() => undefined);
  return {
    begun,
    cancel: () => {
      const reason = new DOMException("Another model has begun first.", "AbortError");
      stop.abort(reason);
      // A model that ignores its signal is at least not read any more.
      reader?.cancel(reason).catch(() => undefined);
    }
  };
}

function rest(read: readonly ModelPart[], reader: ReadableStreamDefaultReader<ModelPart>): ReadableStream<ModelPart> {
  return new ReadableStream<ModelPart>({
    start(controller) {
      for (const part of read) controller.enqueue(part);
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason)
  });
}

export interface Race<Value> {
  readonly first: Contender<Value>;
  /** Called when the first has not begun in time. */
  readonly second: () => Contender<Value>;
  readonly waitMs: number;
  readonly clock: Pick<Clock, "sleep">;
  readonly signal: AbortSignal | undefined;
}

export interface Winner<Value> {
  readonly value: Value;
  /** Two were asked. */
  readonly isHedged: boolean;
  readonly isSecond: boolean;
}

/** Throws the failure of the first when none of them begins. */
export async function race<Value>({ first, second, waitMs, clock, signal }: Race<Value>): Promise<Winner<Value>> {
  const timer = new AbortController();
  const late = clock.sleep(waitMs, timer.signal).then(
    () => "late" as const,
    () => "late" as const
  );
  const early = await Promise.race([first.begun.then((value) => ({ value })), late]).finally(() => timer.abort());
  if (early !== "late") return { ...early, isHedged: false, isSecond: false };
  signal?.throwIfAborted();
  let other: Contender<Value>;
  try {
    other = second();
  } catch (error) {
    first.cancel();
    throw error;
  }
  const won = (isSecond: boolean) => (value: Value) => ({ value, isHedged: true, isSecond });
  try {
    const winner = await Promise.any([first.begun.then(won(false)), other.begun.then(won(true))]);
    (winner.isSecond ? first : other).cancel();
    return winner;
  } catch {
    // Both have failed: what is handled is the failure of the one that was chosen.
    return won(false)(await first.begun);
  }
}
