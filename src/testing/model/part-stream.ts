// Turns a played reply into the stream the SDK reads. Parts are produced only when asked for, one by one, so a test
// that stops reading also stops the model, and the order of crash points does not depend on buffering.
import type { NeutralPart } from "./stream-part.ts";

export interface PartStreamOptions<Part> {
  /** Starts playing; the signal ends every wait. */
  readonly play: (signal: AbortSignal) => AsyncGenerator<NeutralPart, void, void>;
  /** The caller's abort signal: the stream errors with its reason. */
  readonly signal: AbortSignal;
  readonly boundary: () => Promise<void>;
  readonly encode: (part: NeutralPart) => Part;
  /** Called when the reader has received how the answer ended, or has cancelled it; possibly twice. */
  readonly onEnd: () => void;
}

export function partStream<Part>(options: PartStreamOptions<Part>): ReadableStream<Part> {
  const { signal, boundary, encode, onEnd } = options;
  const cancelled = new AbortController();
  const parts = options.play(AbortSignal.any([signal, cancelled.signal]));
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        const outcome = await nextOutcome(parts, signal);
        if (outcome.kind !== "closed") await boundary();
        if (cancelled.signal.aborted) return;
        if (outcome.kind === "part" && !signal.aborted) {
          controller.enqueue(encode(outcome.part));
          // Nothing can follow the finish part, so the answer is complete even if the reader never asks again.
          if (outcome.part.type === "finish") onEnd();
          return;
        }
        onEnd();
        if (outcome.kind === "closed") controller.close();
        else controller.error(outcome.kind === "failed" ? outcome.error : signal.reason);
      },
      cancel(reason) {
        cancelled.abort(reason);
        onEnd();
      }
    },
    // No read-ahead: see the top of the file.
    { highWaterMark: 0 }
  );
}

type Outcome =
  | { readonly kind: "part"; readonly part: NeutralPart }
  | { readonly kind: "closed" }
  | { readonly kind: "failed"; readonly error: unknown };

async function nextOutcome(parts: AsyncGenerator<NeutralPart, void, void>, signal: AbortSignal): Promise<Outcome> {
  try {
    signal.throwIfAborted();
    const next = await parts.next();
    return next.done === true ? { kind: "closed" } : { kind: "part", part: next.value };
  } catch (error) {
    return { kind: "failed", error };
  }
}
