// Failures that may pass: how often the model is asked again, after which pauses, and when users are notified. On a real
// engine, with a model that fails and a clock that skips what no test should wait for.
import { tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Blobs } from "../host/blobs.ts";
import { openJournal } from "../journal/journal.ts";
import { MemorySql } from "../journal/memory-sql.test-support.ts";
import type { ReadableRecord } from "../journal/records.ts";
import { createScript, fail, reply, stall, text, toolCall, type Step } from "../testing/index.ts";
import { installedModel } from "../testing/model/installed-model.test-support.ts";
import { user, World, type WorldInit } from "./engine.test-support.ts";
import { FAILURE_PAUSE_MS, FAILURES_IN_A_ROW, hookPauseMs, MAX_FAILURE_PAUSE_MS } from "./retry-policy.ts";

/** Longer than what counts as one interruption. */
const STALL_MS = 40_000;

const busy = () => fail(new Error("busy"));

describe("a provider that fails", () => {
  test("is asked again after pauses that double, and answers in the same turn", async () => {
    const w = world([busy(), busy(), busy(), reply(text("hello"))], { classifyFailure: () => "transient" });
    const pauses = await pausesOf(w);
    expect(pauses).toEqual([1, 2, 4].map((times) => times * FAILURE_PAUSE_MS));
    expect(w.texts()).toEqual(["user:r1", "assistant:hello"]);
  });

  test(`for ever is asked ${FAILURES_IN_A_ROW} times, and then users are notified`, async () => {
    const w = world(() => busy(), { classifyFailure: () => "rate_limit" });
    await pausesOf(w);
    expect(w.model.callCount).toBe(FAILURES_IN_A_ROW);
    expect(w.engine.failed()).toMatchObject({ requestId: "r1", text: "failed in stream" });
  });

  test("begins anew to count after it finished a step", async () => {
    const add = tool({ inputSchema: z.object({}), execute: () => 2 });
    const failures = Array.from({ length: 4 }, () => busy());
    const steps = [...failures, reply(toolCall("add", {}, { id: "c1" })), ...failures, reply(text("whole"))];
    const w = world(steps, { tools: { add }, classifyFailure: () => "transient" });
    const pauses = await pausesOf(w);
    expect(pauses).toEqual([1, 2, 4, 8, 1, 2, 4, 8].map((times) => times * FAILURE_PAUSE_MS));
    expect(w.texts()).toEqual(["user:r1", "assistant:whole"]);
  });

  test("after its first words, or falls silent there, begins no new count", async () => {
    const half = () => reply(text("half "), stall());
    const w = world([busy(), half(), half(), reply(text("whole"))], {
      classifyFailure: () => "transient",
      stall: { timeoutMs: STALL_MS }
    });
    expect(await pausesOf(w)).toEqual([1, 2, 4].map((times) => times * FAILURE_PAUSE_MS));
    expect(w.texts()).toEqual(["user:r1", "assistant:half half whole"]);
  });

  test("for a reason that will not pass is asked once", async () => {
    const w = world(() => busy(), { classifyFailure: () => undefined });
    expect(await pausesOf(w)).toEqual([]);
    expect(w.model.callCount).toBe(1);
  });

  test("is asked once where nothing is recovered", async () => {
    const w = world(() => busy(), { classifyFailure: () => "transient", recovery: { enabled: false } });
    expect(await pausesOf(w)).toEqual([]);
    expect(w.model.callCount).toBe(1);
  });

  test("because the object has no memory is given up after the third time", async () => {
    const w = world(() => fail(new Error("The Durable Object exceeded its memory limit and was reset.")));
    await pausesOf(w);
    expect(w.model.callCount).toBe(3);
    expect(w.hooksCalled).toContain("exhausted:out_of_memory");
    expect(w.engine.failed()).toMatchObject({ text: "gave up" });
  });
});

describe("a stream that only ever opens", () => {
  test("is no progress: stalls 30 s apart use up the attempts", async () => {
    const w = world(() => reply(stall()), { stall: { timeoutMs: STALL_MS }, recovery: { maxAttempts: 3 } });
    await pausesOf(w);
    expect(w.model.callCount).toBe(4);
    expect(w.hooksCalled).toContain("exhausted:max_attempts_exceeded");
    expect(w.engine.failed()).toMatchObject({ text: "gave up" });
  });

  test("is no progress after the result of a tool either", async () => {
    const add = tool({ inputSchema: z.object({}), execute: () => 2 });
    const silent = Array.from({ length: 9 }, () => reply(stall()));
    const w = world([reply(toolCall("add", {}, { id: "c1" })), ...silent], {
      tools: { add },
      stall: { timeoutMs: STALL_MS },
      recovery: { maxAttempts: 2 }
    });
    await pausesOf(w);
    expect(w.model.callCount).toBe(4);
    expect(w.hooksCalled).toContain("exhausted:max_attempts_exceeded");
  });

  test("is no progress after half an answer either", async () => {
    const w = world([reply(text("half"), stall()), ...Array.from({ length: 9 }, () => reply(stall()))], {
      stall: { timeoutMs: STALL_MS },
      recovery: { maxAttempts: 2 }
    });
    await pausesOf(w);
    expect(w.model.callCount).toBe(3);
    expect(w.texts()).toEqual(["user:r1", "assistant:half"]);
  });
});

test("a hook that fails is asked again after 30 s, then twice as long, at most 5 minutes", () => {
  expect([0, 1, 2, 3, 4, 50].map(hookPauseMs)).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
});

test("no pause of the provider's own is longer than the longest", () => {
  expect(FAILURE_PAUSE_MS * 2 ** (FAILURES_IN_A_ROW - 2)).toBeLessThanOrEqual(MAX_FAILURE_PAUSE_MS);
});

function world(steps: Step[] | (() => Step), init: Partial<WorldInit> = {}) {
  const script = createScript(typeof steps === "function" ? Array.from({ length: 40 }, steps) : steps);
  const model = installedModel(script);
  return Object.assign(new World({ model: () => model, ...init }), { model });
}

/** Runs one turn to its end, and tells how long it was told to wait between attempts. Waiting is cut short. */
async function pausesOf(w: World): Promise<number[]> {
  void w.engine.admit({ requestId: "r1", trigger: "ws-chat", input: [user("r1")] });
  for (let rounds = 0; w.conversation.row.openTurns.length > 0; rounds += 1) {
    if (rounds > 200) throw new Error("It does not end.");
    for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const pauseMs = w.retryAt - w.clock.now();
    w.clock.skip(pauseMs > 0 ? pauseMs : STALL_MS);
  }
  const pauses = recordsOf(w).flatMap((record) =>
    record.type === "attempt-ended" && record.retryAt !== null ? [record.retryAt - record.at] : []
  );
  // The clock of this world is a real one: it may tick between the two.
  return pauses.map((pauseMs) => Math.round(pauseMs / FAILURE_PAUSE_MS) * FAILURE_PAUSE_MS);
}

function recordsOf({ database, conversation }: World): ReadableRecord[] {
  const sql = new MemorySql(database);
  const journal = openJournal({ sql, blobs: new Blobs(sql), conversation });
  return [...journal.reader.pages({ after: 0 })].flatMap(({ entries }) => entries.map(({ record }) => record));
}
