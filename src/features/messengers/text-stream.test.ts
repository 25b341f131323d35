import { expect, test } from "vitest";
import { TextStreamCallback } from "./text-stream.ts";

const delta = (value: string) => JSON.stringify({ type: "text-delta", id: "1", delta: value });

test("only what is within the limit is visible, and the rest remains", async () => {
  const callback = new TextStreamCallback({ visibleSoftLimit: 5 });
  for (const piece of [delta("hello"), "no JSON", JSON.stringify({ type: "finish" }), delta(" world")]) {
    callback.onEvent(piece);
  }
  const visible = [];
  for await (const piece of callback.stream()) visible.push(piece);
  expect([visible, callback.remainingText(), callback.visibleLimitReached()]).toEqual([["hello"], " world", true]);
});

test("a failure comes behind what was pending; an interruption ends without one", async () => {
  const failed = new TextStreamCallback();
  failed.onEvent(delta("so far"));
  failed.onError("it broke");
  const read: string[] = [];
  const reading = (async () => {
    for await (const piece of failed.stream()) read.push(piece);
  })();
  await expect(reading).rejects.toThrow("it broke");
  expect(read).toEqual(["so far"]);
  const interrupted = new TextStreamCallback();
  interrupted.onInterrupted();
  expect((await interrupted.stream().next()).done).toBe(true);
  expect([interrupted.wasInterrupted(), interrupted.hasText()]).toEqual([true, false]);
});
