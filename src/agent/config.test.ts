import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { BadRow } from "../host/quarantine.ts";
import { createTables, MemorySql } from "../journal/memory-sql.test-support.ts";
import { readConfig, writeConfig } from "./config.ts";

function openStore() {
  const database = new DatabaseSync(":memory:");
  const setAside: BadRow[] = [];
  const sql = new MemorySql(database);
  createTables(sql);
  return { database, setAside, sql, quarantine: (row: BadRow) => void setAside.push(row) };
}

describe("the configuration", () => {
  test("is null until something was stored, and then what was stored last, also after a restart", () => {
    const store = openStore();
    expect(readConfig(store)).toBeNull();
    writeConfig(store, { tier: "fast" });
    writeConfig(store, { tier: "capable" });
    expect(readConfig({ ...store, sql: store.sql.reboot() })).toEqual({ tier: "capable" });
  });

  test("cannot be changed by changing what was given or returned", () => {
    const store = openStore();
    const given = { list: [1] };
    writeConfig(store, given);
    given.list.push(2);
    (readConfig(store) as typeof given).list.push(3);
    expect(readConfig(store)).toEqual({ list: [1] });
  });

  test("refuses what is not JSON or too large, and keeps what it has", () => {
    const store = openStore();
    writeConfig(store, 1);
    expect(() => writeConfig(store, { big: 1n })).toThrow("not JSON");
    expect(() => writeConfig(store, "x".repeat(2_000_000))).toThrow("too large");
    expect(readConfig(store)).toBe(1);
  });

  test("sets a row aside that cannot be read, once", () => {
    const store = openStore();
    writeConfig(store, {});
    store.database.exec("REPLACE INTO think_config VALUES ('_think_config', '{broken')");
    expect(readConfig(store)).toBeNull();
    expect(readConfig(store)).toBeNull();
    expect(store.setAside).toMatchObject([{ table: "think_config", body: "{broken" }]);
  });
});
