// Delivery: crash points, aborts at every await, virtual time.
import { describe, expect, test } from "vitest";
import {
  after,
  createGate,
  fail,
  reply,
  ScriptError,
  scriptedModel,
  stall,
  text,
  waitFor,
  type ScriptClock,
  type Step
} from "./index.ts";

const prompt = [{ role: "user", content: [{ type: "text", text: "Hi" }] }] as const;
const stopped = new Error("stopped by the user");

async function readAll(stream: ReadableStream<{ type: string }>): Promise<string[]> {
  const types: string[] = [];
  for await (const part of stream) types.push(part.type);
  return types;
}

describe("the boundary", () => {
  test("is awaited before the answer and before each part", async () => {
    const log: string[] = [];
    const boundary = async () => void log.push("boundary");
    const { stream } = await scriptedModel([reply(text("a"))], { boundary }).doStream({ prompt });
    log.push("answer");
    for await (const part of stream) log.push(part.type);
    expect(log).toEqual([
      "boundary",
      "answer",
      ...["stream-start", "response-metadata", "text-start", "text-delta", "text-end", "finish"].flatMap((type) => [
        "boundary",
        type
      ])
    ]);
  });

  test("is awaited once before an answer that is not streamed, and before a refusal", async () => {
    let count = 0;
    const boundary = async () => void (count += 1);
    const model = scriptedModel([reply(text("a"), text("b")), fail(new Error("no"))], { boundary });
    await model.doGenerate({ prompt });
    expect(count).toBe(1);
    await expect(model.doStream({ prompt })).rejects.toThrow("no");
    expect(count).toBe(2);
  });

  test("that never resolves lets nothing out, not even an abort", async () => {
    const stop = new AbortController();
    const crashed = Promise.withResolvers<void>();
    let count = 0;
    const boundary = () => {
      count += 1;
      if (count < 5) return Promise.resolve();
      crashed.resolve();
      return new Promise<never>(() => {});
    };
    const { stream } = await scriptedModel([reply(text("a"))], { boundary }).doStream({
      prompt,
      abortSignal: stop.signal
    });
    const heard: string[] = [];
    const reading = readAll(stream.pipeThrough(spy(heard))).then(
      () => "ended",
      () => "failed"
    );
    await crashed.promise;
    stop.abort(stopped);
    expect(await Promise.race([reading, macrotask()])).toBe("silent");
    expect(heard).toEqual(["stream-start", "response-metadata", "text-start"]);
  });
});

function spy(heard: string[]): TransformStream<{ type: string }, { type: string }> {
  return new TransformStream({
    transform(part, controller) {
      heard.push(part.type);
      controller.enqueue(part);
    }
  });
}

/** Every promise that could settle without outside help has settled by then. */
function macrotask(): Promise<string> {
  return new Promise((resolve) => setImmediate(() => resolve("silent")));
}

describe("an abort ends", () => {
  const never = () => new Promise<never>(() => {});
  const clock: ScriptClock = { now: () => 0, sleep: never };

  test.each<[string, Step]>([
    ["a stall", reply(text("a"), stall())],
    ["a gate", reply(text("a"), createGate().wait(), text("b"))],
    ["a wait", reply(text("a"), waitFor(never), text("b"))],
    ["a delay", reply(text("a"), after(60_000), text("b"))],
    ["a stream between two parts", reply(text("a"), text("b"))]
  ])("%s with its own reason", async (_name, step) => {
    const stop = new AbortController();
    const model = scriptedModel([step], { clock });
    const { stream } = await model.doStream({ prompt, abortSignal: stop.signal });
    const reader = stream.getReader();
    while ((await reader.read()).value?.type !== "text-delta");
    const next = reader.read();
    stop.abort(stopped);
    await expect(next).rejects.toBe(stopped);
  });

  test.each<[string, Step]>([
    ["an answer that never comes", stall()],
    ["a stalled answer", reply(text("a"), stall())],
    ["a step function", never]
  ])("%s without streaming", async (_name, step) => {
    const stop = new AbortController();
    const answer = scriptedModel([step]).doGenerate({ prompt, abortSignal: stop.signal });
    stop.abort(stopped);
    await expect(answer).rejects.toBe(stopped);
  });
});

test("an abort during a boundary holds the part back", async () => {
  const stop = new AbortController();
  let count = 0;
  // Answer, stream-start, response-metadata, text-start; the fifth comes before the text.
  const boundary = async () => {
    count += 1;
    if (count === 5) stop.abort(stopped);
  };
  const model = scriptedModel([reply(text("a"))], { boundary });
  const { stream } = await model.doStream({ prompt, abortSignal: stop.signal });
  const heard: string[] = [];
  await expect(readAll(stream.pipeThrough(spy(heard)))).rejects.toBe(stopped);
  expect(heard).toEqual(["stream-start", "response-metadata", "text-start"]);
});

test("a step function that aborts its own call and then never answers is ended too", async () => {
  const stop = new AbortController();
  const model = scriptedModel(() => {
    stop.abort(stopped);
    return new Promise<never>(() => {});
  });
  await expect(model.doStream({ prompt, abortSignal: stop.signal })).rejects.toBe(stopped);
});

describe("time", () => {
  test("after() waits on the given clock only", async () => {
    const slept: number[] = [];
    const clock: ScriptClock = {
      now: () => Date.parse("2026-01-01"),
      sleep: async (ms) => void slept.push(ms)
    };
    const model = scriptedModel([reply(text("a"), after(86_400_000), text("b"))], { clock });
    const { stream } = await model.doStream({ prompt });
    expect(await readAll(stream)).toHaveLength(7);
    expect(slept).toEqual([86_400_000]);
  });

  test("responses carry the clock's time", async () => {
    const clock: ScriptClock = { now: () => Date.parse("2026-01-01"), sleep: async () => {} };
    const { response } = await scriptedModel([reply()], { clock, modelId: "m" }).doGenerate({ prompt });
    expect(response).toEqual({ id: "response-1", modelId: "m", timestamp: new Date("2026-01-01") });
  });

  test("after() without a clock is a mistake in the script", async () => {
    const { stream } = await scriptedModel([reply(after(1))]).doStream({ prompt });
    await expect(readAll(stream)).rejects.toThrow(ScriptError);
  });
});

test("parts are made only when they are read", async () => {
  let played = 0;
  const count = waitFor(async () => (played += 1));
  const { stream } = await scriptedModel([reply(text("a"), count, text("b"), count)]).doStream({ prompt });
  const reader = stream.getReader();
  while ((await reader.read()).value?.type !== "text-delta");
  await macrotask();
  expect(played).toBe(0);
  await reader.read();
  await macrotask();
  expect(played).toBe(1);
});

test("a reader that cancels ends a wait in progress", async () => {
  const ended = Promise.withResolvers<string>();
  const model = scriptedModel([reply(text("a"), stall())], { advance: "at-end" });
  const { stream } = await model.doStream({ prompt });
  const reader = stream.getReader();
  while ((await reader.read()).value?.type !== "text-delta");
  reader.read().then(({ done }) => ended.resolve(done ? "done" : "part"), ended.reject);
  await reader.cancel("enough");
  expect(await ended.promise).toBe("done");
  expect(model.script.remaining).toBe(0);
});

test("an answer is over when its finish part was read, even if the reader stops there", async () => {
  const model = scriptedModel([reply(text("a"))], { advance: "at-end" });
  const reader = (await model.doStream({ prompt })).stream.getReader();
  while ((await reader.read()).value?.type !== "finish") expect(model.script.remaining).toBe(1);
  expect(model.script.remaining).toBe(0);
});
