// Rows of tables as inspectors see them: in pages, bounded, and without what looks like a secret.
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { Sql } from "../../host/ports.ts";
import { readTable, type TableValue, type TableView } from "./table-rows.ts";

const MASK = "••••••";

function open(...statements: string[]): Sql {
  const database = new DatabaseSync(":memory:");
  for (const statement of statements) database.exec(statement);
  const all = (query: string, ...values: never[]) => database.prepare(query).all(...values);
  // What `readTable` uses of it.
  return { all, one: (query: string, ...values: never[]) => all(query, ...values)[0] } as object as Sql;
}

const PAGE = { from: 0, limit: 50 };
const plain = (value: TableValue) =>
  typeof value === "object" && value !== null && "text" in value ? value.text : value;
const shown = (view: TableView | undefined) => view?.rows.map((row) => row.map(plain));

test("pages come newest first, join to the whole table, and end after the rows that are reached", () => {
  const rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10300) SELECT i FROM n";
  const sql = open("CREATE TABLE t (i INTEGER)", `INSERT INTO t ${rows}`);
  const read: unknown[] = [];
  let pages = 0;
  for (let from: number | undefined = 0; from !== undefined; pages += 1) {
    const page: TableView | undefined = readTable(sql, "t", { from, limit: 100 });
    read.push(...(shown(page) ?? []).flat());
    from = page?.next;
  }
  expect(pages).toBe(101);
  expect(read).toEqual(Array.from({ length: 10_100 }, (_, index) => 10_300 - index));
  expect(readTable(sql, "t", { from: 10_001, limit: 1 })).toBeUndefined();
});

test("a table without rowids is read in its own order", () => {
  const sql = open("CREATE TABLE t (a TEXT PRIMARY KEY) WITHOUT ROWID", "INSERT INTO t VALUES ('b'), ('a')");
  expect(readTable(sql, "t", PAGE)).toMatchObject({ isNewestFirst: false });
  expect(shown(readTable(sql, "t", PAGE))).toEqual([["a"], ["b"]]);
});

test("the platform's tables, those that do not exist, and a name that is a statement are not there", () => {
  const sql = open("CREATE TABLE t (i INTEGER)", "CREATE TABLE _cf_KV (k TEXT)");
  for (const name of ["_cf_KV", "sqlite_master", "none", "", 't" --', "t; DROP TABLE t"])
    expect(readTable(sql, name, PAGE)).toBeUndefined();
  expect(readTable(sql, "t", PAGE)?.rows).toEqual([]);
});

test("names with quotes are names, and a value of megabytes is read as far as it is shown", () => {
  const sql = open(
    'CREATE TABLE "a""b" ("c""d" TEXT, bytes BLOB)',
    `INSERT INTO "a""b" VALUES (printf('%.*c', 3000000, 'x'), zeroblob(70000))`
  );
  const [[text, bytes] = []] = readTable(sql, 'a"b', PAGE)?.rows ?? [];
  expect(text).toEqual({ text: "x".repeat(500), chars: 3_000_000, isCut: true });
  expect(bytes).toEqual({ bytes: 70_000 });
});

const long = `{"note":"${"y".repeat(20_000)}","apiKey":"sk-behind"}`;
const secretFirst = `{"apiKey":"hidden-value-1","token" : 12345,"note":"${"y".repeat(20_000)}`;

test.each([
  ["(v TEXT)", `'{"region":"eu","apiKey":"hidden-value"}'`, [`{"region":"eu","apiKey":"${MASK}"}`]],
  ["(password TEXT, i INTEGER)", "'hidden-value', 5", [MASK, 5]],
  ["(password INTEGER, tokens_spent INTEGER)", "1234, 5", [MASK, 5]],
  ["(key TEXT, value TEXT)", "'apiKey', 'hidden-value'", ["apiKey", MASK]],
  ["(key TEXT, value TEXT)", "'region', 'eu'", ["region", "eu"]],
  ["(v TEXT)", "'sk-proj-1234567890abcdef'", [MASK]],
  ["(v TEXT)", "'https://me:hidden-value@host/'", [`https://${MASK}@host/`]],
  ["(v TEXT)", "'<script>alert(1)</script>'", ["<script>alert(1)</script>"]]
])("of a table %s with %s is shown %j", (columns, values, expected) => {
  const sql = open(`CREATE TABLE t ${columns}`, `INSERT INTO t VALUES (${values})`);
  expect(shown(readTable(sql, "t", PAGE))).toEqual([expected]);
});

test("JSON that is too long to be read whole is masked as far as it is read", () => {
  const sql = open("CREATE TABLE t (v TEXT)", `INSERT INTO t VALUES ('${long}'), ('${secretFirst}')`);
  const text = JSON.stringify(readTable(sql, "t", PAGE));
  expect(text).not.toMatch(/hidden-value|12345|sk-behind/);
  expect(text).toContain(MASK);
});

test("of a table of credentials only names are shown", () => {
  const sql = open(
    "CREATE TABLE cf_mcp_credentials (server_id TEXT, kind TEXT, value TEXT)",
    "INSERT INTO cf_mcp_credentials VALUES ('docs', 'client', 'hidden-value')"
  );
  expect(shown(readTable(sql, "cf_mcp_credentials", PAGE))).toEqual([["docs", "client", MASK]]);
});
