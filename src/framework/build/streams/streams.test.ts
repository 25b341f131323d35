import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FastReadableStream, type Source, type Strategy } from "../../../model/fast-readable.ts";
import { FastTransformStream } from "./transform.ts";

/** What is used of either kind. */
interface Kind {
  readonly readable: <T>(source: Source<T>, strategy?: Strategy) => ReadableStream<T>;
  readonly transform: <In, Out>(transformer?: Transformer<In, Out>) => ReadableWritablePair<Out, In>;
}

const native: Kind = {
  readable: (source, strategy) => {
    const { start, pull, cancel } = source;
    const parts = {
      // The controllers are alike as far as these sources go.
      ...(start && { start: (controller: object) => void start.call(source, controller as never) }),
      ...(pull && { pull: async (controller: object) => void (await pull.call(source, controller as never)) }),
      ...(cancel && { cancel: async (reason: unknown) => void (await cancel.call(source, reason)) })
    };
    return new ReadableStream(parts, strategy);
  },
  transform: (transformer) => new TransformStream(transformer)
};
const fast: Kind = {
  readable: (source, strategy) => {
    const stream: object = new FastReadableStream(source, strategy);
    return stream as ReturnType<Kind["readable"]> as never;
  },
  transform: (transformer) => new FastTransformStream(transformer)
};
/** One of ours behind one of theirs, and the other way round. */
const kinds: [string, Kind][] = [
  ["native", native],
  ["fast", fast],
  ["native into fast", { readable: native.readable, transform: fast.transform }],
  ["fast into native", { readable: fast.readable, transform: native.transform }]
];

function listed<T>(items: readonly T[]): Source<T> {
  const rest = items.values();
  return {
    pull(controller) {
      const { value, done } = rest.next();
      if (done) controller.close();
      else controller.enqueue(value);
    }
  };
}

async function readAll<T>(stream: ReadableStream<T>): Promise<T[]> {
  const reader = stream.getReader();
  const all: T[] = [];
  for (let read = await reader.read(); !read.done; read = await reader.read()) all.push(read.value);
  return all;
}

const macrotask = () => new Promise((resolve) => setImmediate(resolve));

describe.each(kinds)("%s streams", (_name, kind) => {
  test("keep order and content through any transforms", async () => {
    const repeats = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer(), { maxLength: 20 }),
        fc.array(repeats, { maxLength: 4 }),
        async (items, stages) => {
          let stream = kind.readable(listed(items));
          let expected = items;
          for (const stage of stages) {
            const repeated = (index: number, item: number) =>
              Array.from({ length: stage[index % stage.length] ?? 0 }, () => item);
            let seen = 0;
            stream = stream.pipeThrough(
              kind.transform<number, number>({
                async transform(item, controller) {
                  for (const one of repeated(seen++, item)) controller.enqueue(one);
                },
                flush: (controller) => controller.enqueue(-1)
              })
            );
            expected = [...expected.flatMap((item, index) => repeated(index, item)), -1];
          }
          expect(await readAll(stream)).toEqual(expected);
        }
      ),
      { numRuns: 50 }
    );
  });

  test("pass everything on through a transform without a function", async () => {
    expect(await readAll(kind.readable(listed(["a", "b"])).pipeThrough(kind.transform<string, string>()))).toEqual([
      "a",
      "b"
    ]);
  });

  test("ask for nothing before the first read with a high water mark of 0", async () => {
    let pulls = 0;
    const stream = kind.readable<number>({ pull: (controller) => controller.enqueue(++pulls) }, { highWaterMark: 0 });
    await macrotask();
    expect(pulls).toBe(0);
    expect(await stream.getReader().read()).toEqual({ done: false, value: 1 });
  });

  test("read one chunk ahead, and not more, by default", async () => {
    let pulls = 0;
    kind.readable<number>({ pull: (controller) => controller.enqueue(++pulls) });
    await macrotask();
    expect(pulls).toBe(1);
  });

  test("hand a failure of the source to the reader", async () => {
    const broken = kind.readable<number>({ pull: () => Promise.reject(new Error("broken")) }, { highWaterMark: 0 });
    await expect(readAll(broken.pipeThrough(kind.transform<number, number>()))).rejects.toThrow("broken");
  });

  test("cancel the source when a transform fails, and tell the reader why", async () => {
    const cancelled = Promise.withResolvers<unknown>();
    const source = kind.readable<number>({ ...listed([1, 2]), cancel: cancelled.resolve }, { highWaterMark: 0 });
    const failing = kind.transform<number, number>({
      transform() {
        throw new Error("cannot");
      }
    });
    await expect(readAll(source.pipeThrough(failing))).rejects.toThrow("cannot");
    expect(await cancelled.promise).toMatchObject({ message: "cannot" });
  });

  test("end a pending read when they are cancelled, reach the source, and flush nothing", async () => {
    const cancelled = Promise.withResolvers<unknown>();
    let flushes = 0;
    const silent = kind.readable<number>({
      pull: () => new Promise(() => undefined),
      cancel: cancelled.resolve
    });
    const flush = () => void (flushes += 1);
    const reader = silent
      .pipeThrough(kind.transform<number, number>({ flush }))
      .pipeThrough(kind.transform<number, number>({ flush }))
      .getReader();
    const pending = reader.read();
    await macrotask();
    const ended = reader.cancel("enough");
    expect(await pending).toMatchObject({ done: true });
    await ended;
    expect(await cancelled.promise).toBe("enough");
    await macrotask();
    expect(flushes).toBe(0);
  });

  test("let a flush wait for what the reader makes of its chunk", async () => {
    const seen = Promise.withResolvers<void>();
    const stream = kind
      .readable(listed([1]))
      .pipeThrough(
        kind.transform<number, number>({
          async flush(controller) {
            controller.enqueue(2);
            await seen.promise;
            controller.enqueue(3);
          }
        })
      )
      .pipeThrough(
        kind.transform<number, number>({
          transform(item, controller) {
            controller.enqueue(item);
            if (item === 2) seen.resolve();
          }
        })
      );
    expect(await readAll(stream)).toEqual([1, 2, 3]);
  });

  test("end for the reader when a transform ends them", async () => {
    const ending = kind.transform<number, number>({
      transform(item, controller) {
        controller.enqueue(item);
        if (item === 2) controller.terminate();
      }
    });
    expect(await readAll(kind.readable(listed([1, 2, 3])).pipeThrough(ending))).toEqual([1, 2]);
  });

  test("give both branches of a tee everything, at any pace", async () => {
    const [one, two] = kind
      .readable(listed([1, 2, 3]))
      .pipeThrough(kind.transform<number, number>())
      .tee();
    expect(await readAll(one)).toEqual([1, 2, 3]);
    expect(await readAll(two)).toEqual([1, 2, 3]);
  });

  test("cancel the source of a tee when both branches are cancelled, not before", async () => {
    const reasons: unknown[] = [];
    const [one, two] = kind.readable<number>({ cancel: (reason) => void reasons.push(reason) }).tee();
    const first = one.cancel("a");
    await macrotask();
    expect(reasons).toEqual([]);
    await Promise.all([first, two.cancel("b")]);
    expect(reasons).toEqual([["a", "b"]]);
  });

  test("belong to one reader at a time", async () => {
    const stream = kind.readable(listed([1, 2]), { highWaterMark: 0 });
    const reader = stream.getReader();
    expect(stream.locked).toBe(true);
    expect(() => stream.getReader()).toThrow(TypeError);
    await expect(stream.cancel()).rejects.toThrow(TypeError);
    expect(await reader.read()).toEqual({ done: false, value: 1 });
    reader.releaseLock();
    await expect(reader.read()).rejects.toThrow(TypeError);
    expect(await stream.getReader().read()).toEqual({ done: false, value: 2 });
  });

  test("can be iterated, and are cancelled by who leaves early", async () => {
    let isCancelled = false;
    const cancel = () => void (isCancelled = true);
    for await (const item of kind.readable({ ...listed([1, 2]), cancel })) {
      expect(item).toBe(1);
      break;
    }
    expect(isCancelled).toBe(true);
  });

  test("become bodies through a TextEncoderStream", async () => {
    const texts = kind.readable(listed(["a", "b"])).pipeThrough(kind.transform<string, string>());
    expect(await new Response(texts.pipeThrough(new TextEncoderStream())).text()).toBe("ab");
  });

  test("are written to a native sink, which may refuse", async () => {
    const written: number[] = [];
    await kind.readable(listed([1, 2])).pipeTo(new WritableStream({ write: (item) => void written.push(item) }));
    expect(written).toEqual([1, 2]);
    const refusing = new WritableStream<number>({ write: () => Promise.reject(new Error("full")) });
    await expect(kind.readable(listed([1, 2])).pipeTo(refusing)).rejects.toThrow("full");
  });
});

test("a fast stream never becomes the text of an object where a body is wanted", () => {
  expect(() => String(fast.readable(listed(["a"])))).toThrow("no body");
});

test("the two ends of a fast transform are native ones", async () => {
  const { readable, writable } = new FastTransformStream<number, number>();
  expect(readable).toBeInstanceOf(ReadableStream);
  void fast.readable(listed([1, 2])).pipeTo(writable);
  expect(await readAll(readable)).toEqual([1, 2]);
});

test("a fast transform whose end was taken is piped through as a native one", async () => {
  const transform = new FastTransformStream<number, number>();
  const { readable } = transform;
  expect(fast.readable(listed([1])).pipeThrough(transform)).toBe(readable);
  expect(await readAll(readable)).toEqual([1]);
});
