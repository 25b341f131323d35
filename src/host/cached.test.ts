import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Cached } from "./cached.ts";
import { memoryStorage } from "./memory-storage.test-support.ts";
import { openSql } from "./sql.ts";

function open() {
  const storage = memoryStorage(new DatabaseSync(":memory:"));
  const sql = openSql(storage);
  sql.run("CREATE TABLE t (n INTEGER)");
  let reads = 0;
  const count = new Cached(sql, () => {
    reads += 1;
    return sql.one<{ n: number }>("SELECT COUNT(*) AS n FROM t")?.n ?? 0;
  });
  const add = () => {
    const before = count.value;
    sql.run("INSERT INTO t VALUES (1)");
    count.set(before + 1);
  };
  return { storage, sql, count, add, reads: () => reads };
}

test("a value is read once, and is then what its owner says", () => {
  const { count, add, reads, sql } = open();
  expect([count.value, count.value, reads()]).toEqual([0, 0, 1]);
  add();
  expect([count.value, reads()]).toEqual([1, 1]);
  sql.run("DELETE FROM t");
  count.drop();
  expect([count.value, reads()]).toEqual([0, 2]);
});

test("a value does not outlive a transaction that is undone, whichever it was and whenever it was set", () => {
  const { storage, sql, count, add } = open();
  add();
  const fail = () => {
    add();
    expect(count.value).toBe(2);
    throw new Error("undone");
  };
  expect(() => sql.transaction(fail)).toThrow("undone");
  expect(count.value).toBe(1);
  expect(() => storage.transactionSync(fail)).toThrow("undone");
  expect(count.value).toBe(1);
  storage.transactionSync(() => {
    expect(() => sql.transaction(fail)).toThrow("undone");
    expect(count.value).toBe(1);
    add();
  });
  expect(count.value).toBe(2);
});

test("a read that fails keeps nothing", () => {
  const { sql } = open();
  let isBroken = true;
  const value = new Cached<number | undefined>(sql, () => {
    if (isBroken) throw new Error("disk");
    return undefined;
  });
  expect(() => value.value).toThrow("disk");
  isBroken = false;
  expect(value.value).toBeUndefined();
});
