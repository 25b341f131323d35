// The watchdog on a clock that a test moves: nothing here waits.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "../host/ports.ts";
import { Watchdog, type WatchdogInit } from "./watchdog.ts";

const TIMEOUT_MS = 100;

describe("a stream", () => {
  test("that is slow but steady never trips it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: TIMEOUT_MS - 1 }), { maxLength: 40 }), async (gaps) => {
        const scene = watch();
        for (const gap of gaps) {
          await scene.clock.advance(gap);
          scene.dog.beat();
        }
        expect(scene.stalls).toEqual([]);
      }),
      { numRuns: 50 }
    );
  });

  test("whose first chunk does not come trips it after the time, not before", async () => {
    const { clock, stalls } = watch();
    await clock.advance(TIMEOUT_MS - 1);
    expect(stalls).toEqual([]);
    await clock.advance(1);
    expect(stalls).toEqual([TIMEOUT_MS]);
  });

  test("that falls silent trips it once, counted from its last chunk", async () => {
    const { clock, dog, stalls } = watch();
    await clock.advance(70);
    dog.beat();
    await clock.advance(10 * TIMEOUT_MS);
    expect(stalls).toEqual([170]);
  });

  test("that trips it trips at the first silence of that length, wherever it is", async () => {
    const gap = fc.integer({ min: 1, max: 2 * TIMEOUT_MS });
    await fc.assert(
      fc.asyncProperty(fc.array(gap, { maxLength: 12 }), async (gaps) => {
        const { clock, dog, stalls } = watch();
        for (const silence of gaps) {
          await clock.advance(silence);
          dog.beat();
        }
        const at = gaps.findIndex((silence) => silence >= TIMEOUT_MS);
        const before = gaps.slice(0, at).reduce((sum, silence) => sum + silence, 0);
        expect(stalls).toEqual(at < 0 ? [] : [before + TIMEOUT_MS]);
      }),
      { numRuns: 50 }
    );
  });

  test.each([0, -1, Infinity, Number.NaN])("is not watched with a time of %s", async (timeoutMs) => {
    const { clock, stalls } = watch({ timeoutMs });
    await clock.advance(1e12);
    expect(stalls).toEqual([]);
    expect(clock.sleepers).toBe(0);
  });

  test("that has ended is not watched, and nothing sleeps on its account", async () => {
    const { clock, dog, stalls } = watch();
    await clock.advance(50);
    dog.stop();
    await clock.advance(TIMEOUT_MS);
    expect(stalls).toEqual([]);
    expect(clock.sleepers).toBe(0);
  });
});

describe("time in tools", () => {
  test("counts when told so: a tool longer than the time trips it", async () => {
    const { clock, dog, stalls } = watch({ includesTools: true });
    dog.toolStarted();
    await clock.advance(TIMEOUT_MS);
    expect(stalls).toEqual([TIMEOUT_MS]);
  });

  test("that counts is not reset by the end of a tool: only chunks are signs of life", async () => {
    const { clock, dog, stalls } = watch({ includesTools: true });
    dog.toolStarted();
    await clock.advance(60);
    dog.toolEnded();
    await clock.advance(60);
    expect(stalls).toEqual([TIMEOUT_MS]);
  });

  test("stands still otherwise, however long it takes, and begins anew after the last of them", async () => {
    const { clock, dog, stalls } = watch({ includesTools: false });
    await clock.advance(90);
    dog.toolStarted();
    dog.toolStarted();
    await clock.advance(1_000);
    dog.toolEnded();
    await clock.advance(1_000);
    expect(stalls).toEqual([]);
    dog.toolEnded();
    await clock.advance(TIMEOUT_MS - 1);
    expect(stalls).toEqual([]);
    await clock.advance(1);
    expect(stalls).toEqual([90 + 2_000 + TIMEOUT_MS]);
  });

  test("does not outlive a stop", async () => {
    const { clock, dog, stalls } = watch({ includesTools: false });
    dog.toolStarted();
    await clock.advance(1_000);
    dog.stop();
    dog.toolEnded();
    await clock.advance(1_000);
    expect(stalls).toEqual([]);
    expect(clock.sleepers).toBe(0);
  });
});

test("however many chunks come, there is one sleeper", async () => {
  const { clock, dog } = watch();
  for (let beat = 0; beat < 500; beat += 1) {
    await clock.advance(1);
    dog.beat();
  }
  expect(clock.sleepers).toBe(1);
  expect(clock.slept).toBeLessThanOrEqual(8);
});

describe("a silence", () => {
  const NOTICE_MS = 60;
  const noticing = (more: Partial<WatchdogInit> = {}) => watch({ noticeMs: NOTICE_MS, timeoutMs: 1_000, ...more });

  test("is reported once, with when it began, and before it is a stall", async () => {
    const { clock, dog, silences, stalls } = noticing();
    await clock.advance(50);
    dog.beat();
    await clock.advance(NOTICE_MS - 1);
    expect([silences, dog.silentSinceMs]).toEqual([[], undefined]);
    await clock.advance(1);
    expect([silences, dog.silentSinceMs]).toEqual([[50], 50]);
    await clock.advance(1_000);
    expect([silences, stalls]).toEqual([[50], [1_050]]);
  });

  test.each([0, 1_000])("that follows another is reported too (stall after %s)", async (timeoutMs) => {
    const { clock, dog, silences } = noticing({ timeoutMs });
    await clock.advance(NOTICE_MS);
    await clock.advance(10);
    dog.beat();
    expect(dog.silentSinceMs).toBeUndefined();
    await clock.advance(NOTICE_MS);
    expect(silences).toEqual([0, 70]);
  });

  test.each([true, false])("does not count a tool, whatever the stall counts (%s)", async (includesTools) => {
    const { clock, dog, silences } = noticing({ includesTools });
    await clock.advance(10);
    dog.toolStarted();
    await clock.advance(500);
    dog.toolEnded();
    await clock.advance(NOTICE_MS - 1);
    expect(silences).toEqual([]);
    await clock.advance(1);
    expect(silences).toEqual([510]);
  });

  test("is over with the stream, and none is reported afterwards", async () => {
    const { clock, dog, silences } = noticing({ timeoutMs: 0 });
    await clock.advance(NOTICE_MS);
    dog.stop();
    expect(dog.silentSinceMs).toBeUndefined();
    dog.beat();
    await clock.advance(1e12);
    expect([silences, clock.sleepers]).toEqual([[0], 0]);
  });

  test("costs a stream that goes on one sleep per notice, not one per chunk", async () => {
    const { clock, dog, silences } = noticing();
    for (let chunk = 0; chunk < 600; chunk += 1) {
      await clock.advance(1);
      dog.beat();
    }
    expect(silences).toEqual([]);
    expect(clock.slept).toBeLessThanOrEqual(1 + (600 / NOTICE_MS) * 2);
  });
});

function watch(more: Partial<WatchdogInit> = {}) {
  const clock = new HandClock();
  const stalls: number[] = [];
  const onStall = () => void stalls.push(clock.now());
  const silences: number[] = [];
  const onSilence = (sinceMs: number) => void silences.push(sinceMs);
  const settings = { timeoutMs: TIMEOUT_MS, includesTools: false, noticeMs: Infinity };
  const dog = new Watchdog({ clock, onStall, onSilence, ...settings, ...more });
  dog.start();
  return { clock, dog, stalls, silences };
}

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Stands still until it is moved, and stops at each sleeper on the way. */
class HandClock implements Clock {
  readonly #sleepers = new Set<Sleeper>();
  #nowMs = 0;
  slept = 0;

  get sleepers(): number {
    return this.#sleepers.size;
  }

  now(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.slept += 1;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { at: this.#nowMs + ms, wake: resolve };
    this.#sleepers.add(sleeper);
    signal?.addEventListener("abort", () => {
      this.#sleepers.delete(sleeper);
      reject(signal.reason);
    });
    return promise;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#nowMs + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#nowMs = next.at;
      this.#sleepers.delete(next);
      next.wake();
      await settled();
    }
    this.#nowMs = end;
    await settled();
  }

  #next(limit: number): Sleeper | undefined {
    const due = [...this.#sleepers].filter(({ at }) => at <= limit);
    return due.toSorted((a, b) => a.at - b.at)[0];
  }
}

/** Everything that was woken has run. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}
