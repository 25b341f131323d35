// Storage as objects see it: the SQL dialect's rules and errors, key-value, transactions, alarms.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { DurableObject, platformOf } from "#platform";
import { createTestHost } from "../index.ts";
import { Database } from "./database.ts";

type Work = (storage: DurableObjectStorage, ctx: DurableObjectState) => unknown;

/** Runs what the test gives it inside the object; the work itself stays in the test's own scope. */
class Store extends DurableObject {
  static work: Work = () => undefined;
  static onAlarm: (ctx: DurableObjectState, info: AlarmInvocationInfo | undefined) => unknown = () => undefined;

  async run() {
    const result: unknown = await Store.work(this.ctx.storage, this.ctx);
    return result as never;
  }
  override async alarm(info?: AlarmInvocationInfo) {
    await Store.onAlarm(this.ctx, info);
  }
}

class NoAlarm extends DurableObject {
  setAlarm() {
    return this.ctx.storage.setAlarm(1e15);
  }
}

function open() {
  const host = createTestHost({ agents: { Store, NoAlarm } });
  const run = async (work: Work): Promise<unknown> => {
    Store.work = work;
    return (await host.get(Store, "a")).run();
  };
  return { host, run };
}

const query =
  (sql: string, ...values: unknown[]) =>
  (storage: DurableObjectStorage) =>
    storage.sql.exec(sql, ...values).toArray();

test.each([
  ["a number is a real", "SELECT typeof(?) AS a", [1], [{ a: "real" }]],
  ["a boolean becomes text", "SELECT ? AS a", [true], [{ a: "true" }]],
  ["undefined is NULL", "SELECT ? AS a", [undefined], [{ a: null }]],
  ["NaN is NULL", "SELECT ? AS a", [Number.NaN], [{ a: null }]],
  ["a numbered parameter can repeat", "SELECT ?1 || ?1 AS a", ["x"], [{ a: "xx" }]],
  ["question marks in strings and comments are not parameters", "SELECT '?' AS a /* ? */ -- ?", [], [{ a: "?" }]],
  ["an integer above 2^53 comes back rounded", "SELECT 9007199254740993 AS a", [], [{ a: 9007199254740992 }]],
  ["double quotes may hold a string", 'SELECT "abc" AS a', [], [{ a: "abc" }]],
  ["foreign keys are on", "PRAGMA foreign_keys", [], [{ foreign_keys: 1 }]]
])("sql: %s", async (_name, sql, values, expected) => {
  expect(await open().run(query(sql, ...values))).toEqual(expected);
});

const refused: [sql: string, values: unknown[], message: string][] = [
  ["BEGIN", [], "please use the state.storage.transaction()"],
  ["  /* x */ savepoint a", [], "please use the state.storage.transaction()"],
  ["PRAGMA user_version", [], "not authorized: SQLITE_AUTH"],
  ["ATTACH ':memory:' AS x", [], "not authorized: SQLITE_AUTH"],
  ["CREATE TEMP TABLE x (a)", [], "not authorized: SQLITE_AUTH"],
  ["CREATE TABLE _cf_x (a)", [], "not authorized: SQLITE_AUTH"],
  ["SELECT sqlite_version()", [], "not authorized to use function: sqlite_version"],
  ["SELECT * FROM nope", [], "no such table: nope: SQLITE_ERROR"],
  ["SELECT ?, ?", [1], "Wrong number of parameter bindings for SQL query."],
  ["SELECT ?", [1, 2], "Wrong number of parameter bindings for SQL query."],
  ["SELECT ?; SELECT 1", [1], "only the last statement can have parameters"],
  ["", [], "SQL code did not contain a statement."],
  ["SELECT 1; -- x", [], "SQL code did not contain a statement."],
  ["SELECT ?", [10n], "Cannot convert a BigInt value to a number"],
  ["SELECT ?", ["x".repeat(2 * 1024 * 1024 + 1)], "string or blob too big: SQLITE_TOOBIG"],
  ["SELECT ?", [new Uint8Array(2 * 1024 * 1024 + 1)], "string or blob too big: SQLITE_TOOBIG"],
  [`SELECT 1 /*${"x".repeat(100_001)}*/`, [], "statement too long: SQLITE_TOOBIG"]
];

for (const [sql, values, message] of refused) {
  test(`sql refuses ${sql.slice(0, 30)}: ${message}`, async () => {
    await expect(open().run(query(sql, ...values))).rejects.toThrow(message);
  });
}

const BLANK = [" ;", "-- x", "/* x */", "/* x", "\uFEFF", "\0", "--\0\nSELECT 1", "SELECT 1; /* \0 */ SELECT 2"];

test("texts without a statement are refused; blanks and comments before one are not", async () => {
  const { run } = open();
  for (const sql of BLANK) {
    await expect(run(query(sql)), sql).rejects.toThrow("SQL code did not contain a statement.");
  }
  for (const sql of ["; SELECT 1 AS a", "-- x\nSELECT 1 AS a", "/**/SELECT 1 AS a"]) {
    expect(await run(query(sql)), sql).toEqual([{ a: 1 }]);
  }
});

test("a process survives that databases which were given no statement are collected", async () => {
  for (let count = 0; count < 50; count++) {
    const database = new Database();
    expect(() => database.run("-- x")).toThrow("SQL code did not contain a statement.");
  }
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 5; round++) {
    collect();
    await new Promise(setImmediate);
  }
});

test("a constraint error names the constraint", async () => {
  const { run } = open();
  await run(query("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)"));
  await expect(run(query("INSERT INTO t VALUES (1)"))).rejects.toThrow(
    "UNIQUE constraint failed: t.a: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)"
  );
});

test("several statements run in order and the last one answers; triggers are one statement", async () => {
  const { run } = open();
  const batch = `CREATE TABLE t (a); CREATE TABLE log (a);
    CREATE TRIGGER copy AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END;
    INSERT INTO t VALUES (7); SELECT a FROM log WHERE a = ?;`;
  expect(await run(query(batch, 7))).toEqual([{ a: 7 }]);
});

test("a cursor gives rows once: as objects, as arrays, or exactly one", async () => {
  const { run } = open();
  const shape = await run(({ sql }) => {
    const cursor = sql.exec("SELECT 1 AS a, 2 AS a UNION ALL SELECT 3, 4");
    const first = cursor.next();
    return [cursor.columnNames, first.value, [...cursor.raw()], cursor.toArray(), cursor.rowsRead];
  });
  expect(shape).toEqual([["a", "a"], { a: 2 }, [[3, 4]], [], 2]);
  await expect(run(({ sql }) => sql.exec("SELECT 1 WHERE 0").one())).rejects.toThrow("but got no results");
  await expect(run(({ sql }) => sql.exec("SELECT 1 UNION SELECT 2").one())).rejects.toThrow("but got multiple results");
});

test("blobs come back as ArrayBuffer", async () => {
  const bytes = await open().run(({ sql }) => sql.exec("SELECT ? AS b", new Uint8Array([1, 2])).one()["b"]);
  expect(bytes).toBeInstanceOf(ArrayBuffer);
  expect(new Uint8Array(bytes as ArrayBuffer)).toEqual(new Uint8Array([1, 2]));
});

test("full-text search and JSON are there", async () => {
  const { run } = open();
  await run(query("CREATE VIRTUAL TABLE f USING fts5(body, tokenize = 'porter unicode61')"));
  await run(query("INSERT INTO f VALUES ('running dogs')"));
  expect(await run(query("SELECT json('[1]') ->> 0 AS j FROM f WHERE f MATCH 'run'"))).toEqual([{ j: 1 }]);
});

test("transactionSync rolls back rows, keys and the alarm on a throw, and nests", async () => {
  const { host, run } = open();
  await run(query("CREATE TABLE t (a)"));
  const result = await run((storage) => {
    storage.transactionSync(() => {
      storage.sql.exec("INSERT INTO t VALUES (1)");
      try {
        storage.transactionSync(() => {
          storage.sql.exec("INSERT INTO t VALUES (2)");
          storage.kv.put("k", 1);
          void storage.setAlarm(1e15);
          throw new Error("inner");
        });
      } catch {
        storage.sql.exec("INSERT INTO t VALUES (3)");
      }
    });
    return [storage.sql.exec("SELECT a FROM t").toArray(), storage.kv.get("k")];
  });
  expect(result).toEqual([[{ a: 1 }, { a: 3 }], undefined]);
  expect(host.alarm(Store, "a")).toBeNull();
});

test("an async transaction rolls back on a throw without resetting the object", async () => {
  const { run } = open();
  await expect(
    run((storage) =>
      storage.transaction(async (transaction) => {
        await transaction.put("k", 1);
        throw new Error("no");
      })
    )
  ).rejects.toThrow("no");
  expect(await run((storage) => storage.get("k"))).toBeUndefined();
  expect(await run((storage) => storage.transaction((transaction) => transaction.put("k", 2)))).toBeUndefined();
  expect(await run((storage) => storage.get("k"))).toBe(2);
});

test("kv keeps structured clones, lists in key order within bounds, and says what it deleted", async () => {
  const { run } = open();
  const seen = await run(({ kv }) => {
    kv.put("b", { at: new Date(0), map: new Map([[1, new Uint8Array([9])]]) });
    for (const key of ["a", "c", "d", "dd"]) kv.put(key, key);
    return [
      kv.get("b"),
      [...kv.list({ start: "b", end: "d", reverse: true })].map(([key]) => key),
      [...kv.list({ prefix: "d" })].map(([key]) => key),
      [...kv.list({ startAfter: "a", limit: 1 })].map(([key]) => key),
      kv.delete("a"),
      kv.delete("a")
    ];
  });
  expect(seen).toEqual([
    { at: new Date(0), map: new Map([[1, new Uint8Array([9])]]) },
    ["c", "b"],
    ["d", "dd"],
    ["b"],
    true,
    false
  ]);
  await expect(run(({ kv }) => kv.put("f", () => 1))).rejects.toMatchObject({ name: "DataCloneError" });
});

test("the asynchronous calls see the same keys, many at a time", async () => {
  const { run } = open();
  const seen = await run(async (storage) => {
    await storage.put({ x: 1, y: 2 });
    const many = await storage.get(["y", "x", "z"]);
    return [[...many], await storage.delete(["x", "z"]), [...(await storage.list())], storage.kv.get("y")];
  });
  expect(seen).toEqual([
    [
      ["x", 1],
      ["y", 2]
    ],
    1,
    [["y", 2]],
    2
  ]);
});

test("no event starts between a storage call and its continuation", async () => {
  const { host, run } = open();
  await run((storage) => storage.put("n", 0));
  Store.work = async (storage) => storage.put("n", Number(await storage.get("n")) + 1);
  const stub = await host.get(Store, "a");
  await Promise.all([stub.run(), stub.run(), stub.run()]);
  expect(await run((storage) => storage.get("n"))).toBe(3);
});

test("deleteAll leaves an empty database and no alarm", async () => {
  const { host, run } = open();
  await run(query("CREATE TABLE t (a)"));
  await run(async (storage) => {
    await storage.put("k", 1);
    await storage.setAlarm(1e15);
    await storage.deleteAll();
  });
  expect(await run(query("SELECT name FROM sqlite_master"))).toEqual([]);
  expect(host.alarm(Store, "a")).toBeNull();
});

test("an alarm fires at its time, is invisible to its own handler, and is gone afterwards", async () => {
  const { host, run } = open();
  const due = host.now + 1_000;
  const seen: unknown[] = [];
  Store.onAlarm = async (ctx, info) => void seen.push(info, await ctx.storage.getAlarm());
  await run((storage) => storage.setAlarm(due));
  await host.advance(999);
  expect(seen).toEqual([]);
  await host.advance(1);
  expect(seen).toEqual([{ scheduledTime: due, retryCount: 0, isRetry: false }, null]);
  expect(host.alarm(Store, "a")).toBeNull();
});

test("a failing alarm is retried after 2, 4, 8, 16, 32 and 64 s, then dropped", async () => {
  const { host, run } = open();
  const at: number[] = [];
  const start = host.now;
  Store.onAlarm = (_ctx, info) => {
    at.push((host.now - start) / 1_000);
    expect(info).toMatchObject({ retryCount: at.length - 1, isRetry: at.length > 1 });
    throw new Error("not yet");
  };
  await run((storage) => storage.setAlarm(start + 1_000));
  await host.advance(2_000);
  expect(host.alarm(Store, "a")).toBe(start + 1_000);
  await host.advance(600_000);
  expect(at).toEqual([1, 3, 7, 15, 31, 63, 127]);
  expect(host.alarm(Store, "a")).toBeNull();
});

test("an alarm set by a failing handler replaces the retry; one set for now waits for the handler's end", async () => {
  const { host, run } = open();
  const log: unknown[] = [];
  Store.onAlarm = async (ctx, info) => {
    log.push(info?.retryCount);
    if (log.length > 1) return;
    await ctx.storage.setAlarm(host.now);
    await platformOf(ctx).clock.sleep(100);
    log.push("first done");
    throw new Error("failed all the same");
  };
  await run((storage) => storage.setAlarm(host.now));
  await host.advance(100);
  expect(log).toEqual([0, "first done", 0]);
  expect(host.alarm(Store, "a")).toBeNull();
});

test("a pending alarm survives a restart; one that was running when killed runs again", async () => {
  const { host, run } = open();
  let runs = 0;
  Store.onAlarm = async (ctx) => {
    runs++;
    await platformOf(ctx).clock.sleep(1_000);
  };
  await run((storage) => storage.setAlarm(host.now + 500));
  await host.restart();
  await host.advance(600);
  expect(runs).toBe(1);
  await host.restart();
  expect(runs).toBe(2);
  await host.advance(1_000);
  expect([runs, host.alarm(Store, "a")]).toEqual([2, null]);
});

test("setAlarm checks its time and that there is a handler", async () => {
  const { host, run } = open();
  await expect(run((storage) => storage.setAlarm(-5))).rejects.toThrow("alarm time <= 0");
  await expect(run((storage) => storage.setAlarm(Number.NaN))).rejects.toThrow("not a valid Date");
  await expect((await host.get(NoAlarm, "a")).setAlarm()).rejects.toThrow("must have an alarm() handler");
});
