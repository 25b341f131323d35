import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createGate, reply, text, textChunks } from "../testing/model/index.ts";
import { coalesceParts, MAX_MERGED_CHARS, MAX_READ_AHEAD_PARTS, type ModelPart, type PartReader } from "./coalesce.ts";
import { guardModel } from "./guarded-model.ts";
import { majors, readAll, run, textOf } from "./sdk-majors.test-support.ts";
import type { FastReadableStream } from "./fast-readable.ts";

interface TestPart extends ModelPart {
  readonly id?: string;
  readonly delta?: string;
  readonly providerMetadata?: unknown;
}

/** Hands out one part per read. */
class ListReader implements PartReader<TestPart> {
  reads = 0;
  cancelled: unknown;
  readonly #parts: TestPart[];
  readonly #failure: Error | undefined;

  constructor(parts: readonly TestPart[], failure?: Error) {
    this.#parts = [...parts];
    this.#failure = failure;
  }

  async read() {
    this.reads += 1;
    const part = this.#parts.shift();
    if (part !== undefined) return [part];
    if (this.#failure !== undefined) throw this.#failure;
    return undefined;
  }

  async cancel(reason: unknown) {
    this.cancelled = reason;
  }
}

const macrotask = () => new Promise((resolve) => setImmediate(resolve));

/** Reads as a busy consumer does: `pauses[n]` says whether it is away before the n-th read. */
async function consume(stream: FastReadableStream<TestPart>, pauses: readonly boolean[] = []): Promise<TestPart[]> {
  const reader = stream.getReader();
  const parts: TestPart[] = [];
  for (let count = 0; ; count += 1) {
    if (pauses[count % Math.max(1, pauses.length)] === true) await macrotask();
    const { done, value } = await reader.read();
    if (done) return parts;
    parts.push(value);
  }
}

const delta = (id: string, content: string, providerMetadata?: unknown): TestPart => ({
  type: "text-delta",
  id,
  delta: content,
  ...(providerMetadata === undefined ? {} : { providerMetadata })
});

/** Every run of deltas of one block with one metadata, as one entry: what must not change. */
function canonical(parts: readonly TestPart[]): string[] {
  const entries: { key: string; content: string }[] = [];
  for (const part of parts) {
    const key = JSON.stringify([part.type, part.id, part.providerMetadata]);
    const last = entries.at(-1);
    if (part.delta !== undefined && last?.key === key) last.content += part.delta;
    else entries.push({ key, content: part.delta ?? "" });
  }
  return entries.map(({ key, content }) => `${key} ${content}`);
}

const anyPart: fc.Arbitrary<TestPart> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constantFrom("text-delta", "reasoning-delta", "tool-input-delta"),
      id: fc.constantFrom("1", "2"),
      delta: fc.string({ maxLength: 5 })
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom("text-delta", "reasoning-delta"),
      id: fc.constantFrom("1", "2"),
      delta: fc.string({ maxLength: 5 }),
      providerMetadata: fc.constantFrom({ a: { b: 1 } }, { a: { b: 2 } })
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constantFrom("text-start", "finish", "raw"), id: fc.constantFrom("1", "2") })
  }
);

describe("merging", () => {
  test("never changes order, content or metadata, however busy the consumer is", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyPart, { maxLength: 60 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
        async (parts, pauses) => {
          const merged = await consume(coalesceParts(new ListReader(parts)), pauses);
          expect(canonical(merged)).toEqual(canonical(parts));
        }
      )
    );
  });

  test("happens while the consumer is busy", async () => {
    const parts = await consume(coalesceParts(new ListReader(Array.from({ length: 100 }, () => delta("1", "x")))), [
      true
    ]);
    expect(parts.length).toBeLessThan(4);
  });

  test("does not happen across metadata, unless it is equal", async () => {
    const run = async (...parts: TestPart[]) =>
      (await consume(coalesceParts(new ListReader([delta("0", "-"), ...parts])), [true])).slice(1);
    expect(await run(delta("1", "a"), delta("1", "b", { p: 1 }), delta("1", "c"))).toHaveLength(3);
    expect(await run(delta("1", "a", { p: { x: 1, y: 2 } }), delta("1", "b", { p: { y: 2, x: 1 } }))).toEqual([
      delta("1", "ab", { p: { x: 1, y: 2 } })
    ]);
  });

  test("does not touch a delta with fields it does not know", async () => {
    const odd = { ...delta("1", "a"), logprobs: [1] };
    expect(await consume(coalesceParts(new ListReader([delta("0", "-"), odd, odd])), [true])).toHaveLength(3);
  });

  test("stops at a size, so that readers see progress", async () => {
    const piece = "x".repeat(1000);
    const parts = await consume(coalesceParts(new ListReader(Array.from({ length: 100 }, () => delta("1", piece)))), [
      true
    ]);
    expect(parts.length).toBeGreaterThan(5);
    expect(Math.max(...parts.map((part) => part.delta?.length ?? 0))).toBeLessThanOrEqual(MAX_MERGED_CHARS);
  });
});

describe("the source", () => {
  test("is not read before the first read, and not without end while it is not read", async () => {
    const source = new ListReader(
      Array.from({ length: 5000 }, (_unused, index) => ({ type: "raw", id: String(index) }))
    );
    const reader = coalesceParts(source).getReader();
    await macrotask();
    expect(source.reads).toBe(0);
    await reader.read();
    await macrotask();
    expect(source.reads).toBeLessThanOrEqual(MAX_READ_AHEAD_PARTS + 2);
  });

  test("that fails does so after everything it sent", async () => {
    const reader = coalesceParts(new ListReader([delta("1", "a"), delta("2", "b")], new Error("broken"))).getReader();
    await macrotask();
    expect((await reader.read()).value).toEqual(delta("1", "a"));
    expect((await reader.read()).value).toEqual(delta("2", "b"));
    await expect(reader.read()).rejects.toThrow("broken");
  });

  test("is cancelled with the reader's reason and read no further", async () => {
    const source = new ListReader(
      Array.from({ length: 2000 }, (_unused, index) => ({ type: "raw", id: String(index) }))
    );
    const reader = coalesceParts(source).getReader();
    await reader.read();
    await reader.cancel("enough");
    const { reads } = source;
    await macrotask();
    expect(source.cancelled).toBe("enough");
    expect(source.reads).toBeLessThanOrEqual(reads + 1);
  });
});

describe.each(majors)("through streamText of $name", (major) => {
  test("at human speed every delta stays its own chunk", async () => {
    const parts = [];
    for (const word of ["a", "b", "c", "d"]) {
      const gate = createGate();
      void gate.reached.then(macrotask).then(() => gate.open());
      parts.push(text(word), gate.wait());
    }
    const { chunks } = await run(major, { steps: [reply(...parts)] });
    const deltas = chunks.flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.delta] : []));
    expect(deltas).toEqual(["a", "b", "c", "d"]);
  });

  test("a burst becomes far fewer chunks with the same text", async () => {
    const burst = [reply(textChunks(2000))];
    const merged = await run(major, { steps: burst });
    const single = await run(major, { steps: burst, coalesce: false });
    expect(textOf(merged.chunks)).toBe(textOf(single.chunks));
    expect(single.chunks.length).toBeGreaterThan(2000);
    expect(merged.chunks.length).toBeLessThan(400);
  });

  test("a guarded model is otherwise the model itself", async () => {
    const model = major.model([reply(text("a"))]);
    const guarded = guardModel(model);
    expect(guarded.provider).toBe(model.provider);
    expect(guarded.modelId).toBe(model.modelId);
    expect(guarded.specificationVersion).toBe(model.specificationVersion);
    expect("script" in guarded && guarded.script).toBe(model.script);
    expect(guardModel(Object.freeze(model)).doStream).not.toBe(model.doStream);
    const { stream }: { stream: ReadableStream<ModelPart> } = await guarded.doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }]
    });
    expect((await readAll(stream)).at(-1)?.type).toBe("finish");
  });
});
