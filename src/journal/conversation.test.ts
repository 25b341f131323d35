import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, test } from "vitest";
import { Conversation, type ConversationRow } from "./conversation.ts";
import { createTables, MemorySql } from "./memory-sql.test-support.ts";

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

test("a part that joins is written with the rest, and alone where there is none", () => {
  conversation.join((row) => {
    row.leaf = "alone";
  });
  expect(stored().leaf).toBe("alone");
  conversation.transaction((row) => {
    row.nextMessage = 5;
    conversation.join((inner) => {
      inner.leaf = "joined";
    });
    expect(stored().leaf).toBe("alone");
  });
  expect(stored()).toMatchObject({ leaf: "joined", nextMessage: 5 });
});

test("a part that joins and fails undoes all of it, also when code in between goes on", () => {
  const fail = () =>
    conversation.join((row) => {
      row.leaf = "half";
      throw new Error("no");
    });
  const attempt = () =>
    conversation.transaction((row) => {
      row.nextMessage = 9;
      expect(fail).toThrow("no");
      row.leaf = "whole";
    });
  expect(attempt).toThrow("no");
  expect(stored()).toMatchObject({ leaf: null, nextMessage: 1 });
  expect(conversation.row).toMatchObject({ leaf: null, nextMessage: 1 });
  conversation.transaction((row) => {
    const inner = () => conversation.transaction(() => fail());
    expect(inner).toThrow("no");
    row.leaf = "goes on";
  });
  expect(stored().leaf).toBe("goes on");
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
    armedContinuations: [
      { requestId: "r2", messageId: "m" },
      { requestId: "r3", messageId: "n" }
    ],
    clearedSequence: 4,
    journalFloor: 12
  };
  conversation.transaction((draft) => void Object.assign(draft, row));
  expect(stored()).toMatchObject(row);
});

describe("what waits for a commit", () => {
  let done: string[];
  beforeEach(() => void (done = []));
  const wait = (name: string) =>
    conversation.afterCommit(
      () => done.push(name),
      () => done.push(`${name} undone`)
    );
  const failing = (work: () => void) => {
    const attempt = () => {
      work();
      throw new Error("no");
    };
    return () => attempt();
  };

  test("runs at once where nothing is open, and after the commit where something is", () => {
    wait("at once");
    expect(done).toEqual(["at once"]);
    conversation.transaction(() => {
      wait("outer");
      conversation.transaction(() => wait("inner"));
      expect(done).toEqual(["at once"]);
    });
    expect(done).toEqual(["at once", "outer", "inner"]);
  });

  test("may open transactions of its own, which are stored", () => {
    conversation.transaction(() => {
      conversation.afterCommit(() => {
        conversation.transaction((row) => {
          row.leaf = "later";
        });
        wait("of the later one");
      });
    });
    expect([stored().leaf, done]).toEqual(["later", ["of the later one"]]);
  });

  test("is dropped with its transaction", () => {
    expect(() => conversation.transaction(failing(() => wait("lost")))).toThrow("no");
    conversation.transaction(() => undefined);
    expect(done).toEqual(["lost undone"]);
  });

  test("is dropped with the transaction around its own", () => {
    const attempt = failing(() => conversation.transaction(() => wait("lost")));
    expect(() => conversation.transaction(attempt)).toThrow("no");
    conversation.transaction(() => undefined);
    expect(done).toEqual(["lost undone"]);
  });

  test("is dropped with an inner transaction that fails alone, and only that", () => {
    conversation.transaction(() => {
      wait("before");
      expect(() => conversation.transaction(failing(() => wait("lost")))).toThrow("no");
      wait("after");
    });
    expect(done).toEqual(["lost undone", "before", "after"]);
  });

  test("waits for a transaction that user code opened around ours, and is dropped with it", () => {
    sql.transaction(() => {
      conversation.transaction(() => wait("kept"));
      wait("behind ours");
      expect(done).toEqual([]);
    });
    expect(done).toEqual(["kept", "behind ours"]);
    const attempt = failing(() => conversation.transaction(() => wait("lost")));
    expect(() => sql.transaction(attempt)).toThrow("no");
    expect(done.slice(2)).toEqual(["lost undone"]);
  });

  test("a transaction around ours that is undone takes the row in memory with it", () => {
    conversation.transaction((row) => {
      row.leaf = "kept";
    });
    const attempt = failing(() => {
      conversation.transaction((row) => {
        row.leaf = "lost";
      });
      expect(conversation.row.leaf).toBe("lost");
    });
    expect(() => sql.transaction(attempt)).toThrow("no");
    expect(conversation.row.leaf).toBe("kept");
  });
});

test("a continuation that an earlier build left alone in its field is still there", () => {
  conversation.transaction((row) => void (row.generation = 1));
  const armed = { requestId: "r", messageId: "m" };
  sql.run("UPDATE cf_conversations SET armed_continuation = ?", JSON.stringify(armed));
  expect(stored().armedContinuations).toEqual([armed]);
});

describe("a number of the row that is garbage after a death", () => {
  test.each(["generation", "next_message", "cleared_sequence", "journal_floor"])(
    "(%s) is reported, and the conversation goes on",
    (column) => {
      for (const garbage of ['{"broken', "", new Uint8Array([0, 255]), -7]) {
        conversation.transaction((row) => {
          row.generation += 1;
          row.nextMessage += 1;
        });
        sql.run(`UPDATE cf_conversations SET ${column} = ?`, garbage);
        const bad: string[] = [];
        const read = new Conversation(sql, conversation.id, ({ table, key }) => void bad.push(`${table} ${key}`));
        const { generation, nextMessage, clearedSequence, journalFloor } = read.row;
        expect([generation, nextMessage, clearedSequence, journalFloor].every(Number.isSafeInteger)).toBe(true);
        expect(read.isDamaged).toBe(true);
        expect(bad).toEqual([`cf_conversations ${conversation.id}.${column}`]);
      }
    }
  );

  test("(leaf) is reported, and read as none", () => {
    conversation.transaction((row) => void (row.leaf = "a"));
    sql.run("UPDATE cf_conversations SET leaf = ?", new Uint8Array([0, 255]));
    const bad: string[] = [];
    const read = new Conversation(sql, conversation.id, ({ key }) => void bad.push(key));
    expect(read.row.leaf).toBeNull();
    expect(bad).toEqual([`${conversation.id}.leaf`]);
  });
});
