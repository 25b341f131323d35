import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test } from "vitest";
import { conversation as createTables } from "../host/migrations/002-conversation.ts";
import { Conversation, type ConversationRow } from "./conversation.ts";
import { MemorySql } from "./memory-sql.test-support.ts";

let sql: MemorySql;
let conversation: Conversation;

beforeEach(() => {
  sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  conversation = new Conversation(sql);
});

const stored = (): Readonly<ConversationRow> => new Conversation(sql).row;

test("a transaction that changes the row writes it once, however often and deep it was changed", () => {
  const before = sql.rowsWritten;
  conversation.transaction((row) => {
    row.leaf = "a";
    conversation.transaction((inner) => {
      inner.nextMessage = 2;
      inner.leaf = "b";
    });
    expect(conversation.row.leaf).toBe("b");
    row.body = { x: 1 };
  });
  expect(sql.rowsWritten - before).toBe(1);
  expect(stored()).toMatchObject({ leaf: "b", nextMessage: 2, body: { x: 1 } });
});

test("a transaction that changes nothing writes nothing", () => {
  const before = sql.rowsWritten;
  conversation.transaction(() => undefined);
  conversation.transaction((row) => {
    row.generation = row.generation + 0;
  });
  expect(sql.rowsWritten).toBe(before);
});

test("a transaction that throws leaves memory and disk as they were", () => {
  conversation.transaction((row) => {
    row.leaf = "kept";
  });
  const attempt = () =>
    conversation.transaction((row) => {
      row.leaf = "lost";
      throw new Error("no");
    });
  expect(attempt).toThrow("no");
  expect(conversation.row.leaf).toBe("kept");
  expect(stored().leaf).toBe("kept");
});

test("an inner transaction that throws is undone alone when the outer one goes on", () => {
  conversation.transaction((row) => {
    row.leaf = "outer";
    try {
      conversation.transaction((inner) => {
        inner.leaf = "inner";
        throw new Error("no");
      });
    } catch {
      // The outer transaction decides that it does not matter.
    }
    row.generation = 7;
  });
  expect(stored()).toMatchObject({ leaf: "outer", generation: 7 });
});

test("every field survives a restart", () => {
  const row: Partial<ConversationRow> = {
    generation: 3,
    leaf: "m",
    nextMessage: 9,
    respondingTurns: ["t"],
    failedTurn: { requestId: "r", text: "failed", messageIds: ["u"] },
    clientTools: [{ name: "x" }],
    armedContinuation: { requestId: "r2", messageId: "m" },
    clearedSequence: 4,
    journalFloor: 12
  };
  conversation.transaction((draft) => void Object.assign(draft, row));
  expect(stored()).toMatchObject(row);
});
