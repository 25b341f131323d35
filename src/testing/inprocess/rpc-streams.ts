// A stream that crosses an object boundary: each chunk is its own delivery, so a crash can fall between any two, and a
// consumer outside sees the stream fail instead of going on with a dead object's data.
import type { Crossing } from "./rpc-values.ts";
import { remoteError } from "./rpc-errors.ts";

export function carryStream<T>(stream: ReadableStream<T>, crossing: Crossing): ReadableStream<T> {
  const reader = stream.getReader();
  const read = () =>
    reader.read().catch((error: unknown) => {
      throw remoteError(error, (value) => value);
    });
  return new ReadableStream<T>(
    {
      async pull(controller) {
        const chunk = await crossing.receiver().receive(crossing.sender().track(read()));
        if (chunk.done) controller.close();
        else controller.enqueue(chunk.value);
      },
      cancel: (reason) => reader.cancel(reason)
    },
    { highWaterMark: 0 }
  );
}
