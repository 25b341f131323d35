import { describe, expect, test } from "vitest";
import {
  classifyError,
  isDatabaseError,
  isOutOfMemory,
  isPlatformTransient,
  isRetryable,
  isSupersededIsolate,
  type ErrorKind
} from "./platform-errors.ts";

function failure(message: string, flags: Record<string, unknown> = {}): Error {
  return Object.assign(new Error(message), flags);
}

function wrapped(error: unknown, depth: number): unknown {
  let outer = error;
  for (let level = 0; level < depth; level++) outer = new Error(`layer ${level}`, { cause: outer });
  return outer;
}

const CASES: readonly [name: string, error: unknown, kind: ErrorKind][] = [
  ["a code update", failure("Durable Object reset because its code was updated."), "reset"],
  ["a code update in capitals", failure("DURABLE OBJECT RESET BECAUSE ITS CODE WAS UPDATED."), "reset"],
  [
    "an upgraded script",
    failure("This script has been upgraded. Please send a new request to connect to the new version."),
    "reset"
  ],
  ["a user's sentence about upgrades", failure("Your subscription script has been upgraded"), "bug"],
  ["a lost connection", failure("Network connection lost."), "connection-lost"],
  ["a lost connection behind a prefix", failure("SQL query failed: Network connection lost."), "connection-lost"],
  ["a retryable error", failure("internal error", { retryable: true }), "connection-lost"],
  ["an overloaded flag beats retryable", failure("x", { retryable: true, overloaded: true }), "overloaded"],
  [
    "an overloaded message beats retryable",
    failure("Durable Object is overloaded. Too many requests.", { retryable: true }),
    "overloaded"
  ],
  [
    "out of memory, even when flagged retryable",
    failure("Durable Object's isolate exceeded its memory limit and was reset.", { retryable: true }),
    "out-of-memory"
  ],
  ["SQLite out of memory", failure("out of memory: SQLITE_NOMEM"), "out-of-memory"],
  ["a value too big", failure("string or blob too big: SQLITE_TOOBIG"), "overflow"],
  ["a full database", failure("database or disk is full: SQLITE_FULL"), "overflow"],
  ["an ordinary error", failure("boom"), "bug"],
  ["retryable false", failure("boom", { retryable: false }), "bug"],
  ["a thrown text", "Network connection lost.", "connection-lost"],
  ["an error-like object", { message: "Network connection lost." }, "connection-lost"],
  ["nothing", undefined, "bug"],
  ["null", null, "bug"],
  ["a number", 7, "bug"],
  ["a cause eight levels down", wrapped(failure("Network connection lost."), 8), "connection-lost"],
  ["a cause nine levels down is out of sight", wrapped(failure("Network connection lost."), 9), "bug"],
  ["memory in the cause beats a reset on top", failureWith("reset because its code was updated"), "out-of-memory"]
];

function failureWith(message: string): Error {
  return new Error(message, { cause: failure("exceeded its memory limit") });
}

describe("classifyError", () => {
  test.each(CASES)("%s", (_name, error, kind) => {
    expect(classifyError(error)).toBe(kind);
  });

  test("a cycle of causes ends", () => {
    const first = failure("a");
    const second = failure("b", { cause: first });
    Object.assign(first, { cause: second });
    expect(classifyError(first)).toBe("bug");
  });
});

describe("the named questions agree with the kinds", () => {
  test.each(CASES)("%s", (_name, error, kind) => {
    expect(isSupersededIsolate(error)).toBe(kind === "reset");
    expect(isOutOfMemory(error)).toBe(kind === "out-of-memory");
    expect(isPlatformTransient(error)).toBe(kind === "reset" || kind === "connection-lost");
  });

  test("retryable is what the platform flags, unless it is overloaded", () => {
    expect(isRetryable(failure("x", { retryable: true }))).toBe(true);
    expect(isRetryable(new Error("outer", { cause: failure("x", { retryable: true }) }))).toBe(true);
    expect(isRetryable(failure("Network connection lost."))).toBe(false);
    expect(isRetryable(failure("x", { retryable: true, overloaded: true }))).toBe(false);
    expect(isRetryable(failure("Durable Object is overloaded.", { retryable: true }))).toBe(false);
    expect(isRetryable(undefined)).toBe(false);
  });
});

test.each([
  ["database or disk is full: SQLITE_FULL", true],
  ["database or disk is full", true],
  ["SQL query failed: database disk image is malformed", true],
  ["no such table: notes: SQLITE_ERROR", true],
  ["The database of customers is locked away", false],
  ["boom", false]
])("%s comes from the database: %s", (message, isOfDatabase) => {
  expect(isDatabaseError(failure(message))).toBe(isOfDatabase);
  expect(isDatabaseError(wrapped(failure(message), 3))).toBe(isOfDatabase);
});
