// The Sql port over the in-process platform. That the real one gives the same is checked in test/workers/ports.test.ts.
import { expect, test } from "vitest";
import { DurableObject } from "#platform";
import { createTestHost } from "../testing/index.ts";
import type { Sql } from "./ports.ts";
import { openSql } from "./sql.ts";

class Store extends DurableObject {
  static work: (sql: Sql) => unknown = () => undefined;

  run() {
    Store.work(openSql(this.ctx.storage));
  }
}

async function inside(work: (sql: Sql) => unknown): Promise<void> {
  Store.work = work;
  await (await createTestHost({ agents: { Store } }).get(Store, "a")).run();
}

const ROW = { text: "grüße", number: 1.5, missing: null, bytes: new Uint8Array([0, 255]) };
const QUERY = "SELECT text, number, missing, bytes FROM kinds";

function storeOneRow(sql: Sql): void {
  sql.run("CREATE TABLE kinds (text, number, missing, bytes)");
  sql.run("INSERT INTO kinds VALUES (?, ?, ?, ?)", ...Object.values(ROW));
}

test("every kind of value comes back as it was given, under the name of its column", () =>
  inside((sql) => {
    storeOneRow(sql);
    expect(sql.one(QUERY)).toStrictEqual(ROW);
    expect(sql.all(QUERY)).toStrictEqual([ROW]);
  }));

test("rows come in the order of the query, each an object of its own", () =>
  inside((sql) => {
    const rows = sql.all<{ n: number; text: string }>(
      "SELECT column1 AS n, 'same' AS text FROM (VALUES (2), (1), (3))"
    );
    expect(rows.map(({ n }) => n)).toStrictEqual([2, 1, 3]);
    expect(new Set(rows).size).toBe(3);
  }));

test("a query that finds nothing gives no rows, and undefined where one was asked for", () =>
  inside((sql) => {
    storeOneRow(sql);
    expect(sql.all(`${QUERY} WHERE number > 2`)).toStrictEqual([]);
    expect(sql.one(`${QUERY} WHERE number > 2`)).toBeUndefined();
  }));

test("rows that a write returns are given, and the write is done", () =>
  inside((sql) => {
    storeOneRow(sql);
    expect(sql.all("UPDATE kinds SET number = 7 RETURNING number")).toStrictEqual([{ number: 7 }]);
    expect(sql.one("DELETE FROM kinds RETURNING text")).toStrictEqual({ text: "grüße" });
    expect(sql.all(QUERY)).toStrictEqual([]);
  }));
