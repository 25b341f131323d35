// The first script of the playground: loads SQLite, then the host and the page.
import initSqlJs from "sql.js";
import { keepSql, type OpenedSql } from "./opened-sql.ts";

const file = (name: string) => new URL(name, import.meta.url).href;
keepSql((await initSqlJs({ locateFile: () => file("sql-wasm.wasm") })) as OpenedSql);
await import(file("page.js"));
