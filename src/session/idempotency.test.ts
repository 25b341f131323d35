import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createTables, MemorySql } from "../journal/memory-sql.test-support.ts";
import { Idempotency, idempotencyId, OUTPUT_LIMIT_BYTES } from "./idempotency.ts";

const turn = { turnId: "t1", requestId: "r1", status: "completed", messageId: "m1" } as const;
function open(): Idempotency {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  return new Idempotency(sql);
}

/** As JSON so many bytes. */
const output = (bytes: number) => "x".repeat(bytes - 2);

test("an output is kept with its key up to a size; of a larger one the rest of the turn is", () => {
  const kept = open();
  kept.keepTurn("fits", { ...turn, output: output(OUTPUT_LIMIT_BYTES) });
  kept.keepTurn("large", { ...turn, output: output(OUTPUT_LIMIT_BYTES + 1) });
  expect(kept.turn("fits")).toEqual({ ...turn, output: output(OUTPUT_LIMIT_BYTES) });
  expect(kept.turn("large")).toEqual(turn);
});

test("a clear takes the outputs, and leaves what keeps a call from being made twice", () => {
  const kept = open();
  kept.keepTurn("key", { ...turn, output: { said: "secret" } });
  kept.forgetOutputs();
  expect([kept.has("key"), kept.turn("key")]).toEqual([true, turn]);
});

test("one key for a turn, for messages and for durable work are three", () => {
  const ids = (["turn", "messages", "durable"] as const).map((kind) => idempotencyId(kind, "k"));
  expect(new Set(ids).size).toBe(3);
});
