import { expect, test } from "vitest";
import { TextStream } from "./text-stream.ts";

/** A clock whose sleep ends with a call of `wake`. */
function sleeper() {
  let wake = () => {};
  const sleep = (_ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      wake = resolve;
      signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
  return { clock: { sleep }, wake: () => wake() };
}

test.each([
  ["the client leaves", (stream: TextStream) => void stream.body.cancel()],
  ["it is closed", (stream: TextStream) => stream.close()]
])("a stream is kept alive no longer when %s", async (_when, end) => {
  const stream = new TextStream();
  const kept = stream.keepAlive(sleeper().clock);
  end(stream);
  await expect(kept).resolves.toBeUndefined();
});

test("a client that does not read is sent no comments on top", async () => {
  const { clock, wake } = sleeper();
  const stream = new TextStream();
  void stream.keepAlive(clock);
  stream.write("unread");
  for (let round = 0; round < 3; round += 1) {
    wake();
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.close();
  expect(await new Response(stream.body).text()).toBe("unread");
});
