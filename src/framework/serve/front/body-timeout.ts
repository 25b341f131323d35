// Bodies that stop arriving, or hardly arrive. workerd waits for the rest of one for ever, and so does the Worker that reads
// it: a client that sends half a request, or a byte now and then, holds memory and a connection. How long a body may take as
// a whole depends on its size only.

/** A body is waited for this many times the longest silence that the operator allows, however little of it arrives, and then as long as its size allows. */
export const BODY_GRACE = 4;
/** What a body brings in a second of waiting, on average beyond that: less than any connection that a person would use. */
export const LEAST_BODY_BYTES_PER_SECOND = 500;

/** Answers with 408 when the body goes silent, or is too slow, before there is an answer; after that its reader fails. */
export function answerWithBody(
  request: Request,
  silenceMs: number,
  answer: (request: Request) => Promise<Response>
): Promise<Response> {
  if (!request.body) return answer(request);
  const silent = Promise.withResolvers<Response>();
  const body = untilSilent(request.body, silenceMs, () =>
    silent.resolve(new Response("The body of the request did not arrive in time.", { status: 408 }))
  );
  // A body of unknown length needs it; the types of this platform do not know it.
  const init: RequestInit & { duplex: "half" } = { body, duplex: "half" };
  const answered = answer(new Request(request, init));
  // It may fail because of the silence, after that was answered.
  answered.catch(() => undefined);
  return Promise.race([answered, silent.promise]);
}

/** The time runs only while the source is waited for: a slow reader is not the sender's fault. */
function untilSilent(
  source: ReadableStream<Uint8Array>,
  silenceMs: number,
  onSilence: () => void
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let leftMs = BODY_GRACE * silenceMs;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const silence = Promise.withResolvers<undefined>();
      const startedAt = Date.now();
      const timer = setTimeout(() => silence.resolve(undefined), Math.min(silenceMs, leftMs));
      const next = await Promise.race([reader.read(), silence.promise]).finally(() => clearTimeout(timer));
      if (next === undefined) {
        onSilence();
        controller.error(new Error("The body of the request did not arrive in time."));
        // Its connection may be gone, and there is nothing more to take from it.
        await reader.cancel().catch(() => undefined);
      } else if (next.done) controller.close();
      else {
        const earnedMs = (next.value.byteLength * 1_000) / LEAST_BODY_BYTES_PER_SECOND;
        leftMs = Math.max(0, leftMs - (Date.now() - startedAt) + earnedMs);
        controller.enqueue(next.value);
      }
    },
    cancel: (reason) => reader.cancel(reason)
  });
}
