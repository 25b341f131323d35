// Rows of any table of the object, for inspectors: page by page, each value as bounded text, and what looks like a secret
// masked: by the name of the table, of the column, of a field of JSON, of the row's own key, and by its form. Reads only.
import type { Sql } from "../../host/ports.ts";
import { parseJson } from "../../util/json.ts";
import { isSecret, MASK, masked, shownText } from "./shown-text.ts";
import type { ShownText } from "./views.ts";

export const DEFAULT_ROWS = 50;
export const MAX_ROWS = 100;
/** Rows beyond it are not reached: each page reads the rows before it. */
const MAX_OFFSET = 10_000;
const MAX_COLUMNS = 60;
/** Characters of one value that are shown, and those that are read for it. */
const VALUE_CHARS = 500;
const READ_CHARS = 16_384;

/** `GET table?name=&from=&limit=`: the newest rows first, where the table keeps an order. */
export interface TableView {
  readonly name: string;
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly TableValue[])[];
  /** Pass it as `from` for the rows behind these; absent: there are none, or none that are reached. */
  readonly next?: number;
  readonly isNewestFirst: boolean;
}

export interface TableColumn {
  readonly name: string;
  /** As it was declared; it may be empty. */
  readonly type: string;
}

/** A text, a number as it is, null, or the size of bytes, which are not shown. */
export type TableValue = ShownText | number | null | { readonly bytes: number };

export interface TablePage {
  readonly from: number;
  readonly limit: number;
}

/** Undefined: there is no such table, or it is the platform's own. */
export function readTable(sql: Sql, name: string, { from, limit }: TablePage): TableView | undefined {
  const found = sql.one<{ name: string; sql: string | null }>(
    `SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name = ? ${NOT_OF_THE_PLATFORM}`,
    name
  );
  if (!found || from > MAX_OFFSET) return undefined;
  const columns = sql
    .all<{ name: string; type: string }>(`PRAGMA table_info(${quoted(name)})`)
    .slice(0, MAX_COLUMNS)
    .map((column): TableColumn => ({ name: column.name, type: column.type }));
  const isNewestFirst = !/WITHOUT\s+ROWID\s*;?\s*$/i.test(found.sql ?? "");
  const rows = sql.all<Record<string, unknown>>(
    `SELECT ${columns.map(selected).join(", ")} FROM ${quoted(name)} ${isNewestFirst ? "ORDER BY rowid DESC" : ""} LIMIT ? OFFSET ?`,
    limit + 1,
    from
  );
  const next = from + limit;
  return {
    name,
    columns,
    rows: rows.slice(0, limit).map((row) => valuesOf(row, name, columns)),
    ...(rows.length > limit && next <= MAX_OFFSET && { next }),
    isNewestFirst
  };
}

/** Part of a query over `sqlite_master`. */
export const NOT_OF_THE_PLATFORM = "AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_cf_%'";

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A value of megabytes is not read for its beginning to be shown. */
function selected({ name }: TableColumn, index: number): string {
  const column = quoted(name);
  const value = `CASE typeof(${column}) WHEN 'blob' THEN NULL WHEN 'text' THEN substr(${column}, 1, ${READ_CHARS}) ELSE ${column} END`;
  return `typeof(${column}) AS t${index}, length(${column}) AS l${index}, ${value} AS v${index}`;
}

function valuesOf(row: Record<string, unknown>, table: string, columns: readonly TableColumn[]): TableValue[] {
  const isSecretRow = isSecret(table, "") || columns.some((column, index) => isKeyOfSecret(column, row[`v${index}`]));
  return columns.map((column, index) => {
    const [type, length, value] = [row[`t${index}`], Number(row[`l${index}`] ?? 0), row[`v${index}`]];
    if (type === "blob") return { bytes: length };
    const hides = !isKey(column) && (isSecretRow || isSecret(column.name, value));
    if (typeof value === "number" || typeof value === "bigint") return hides ? shownText(MASK) : Number(value);
    if (typeof value !== "string") return null;
    const text = hides && value !== "" ? MASK : maskedText(value);
    const shown = shownText(text, VALUE_CHARS);
    return hides
      ? shown
      : { ...shown, chars: Math.max(length, shown.chars), isCut: shown.isCut || length > READ_CHARS };
  });
}

/** A column of this name holds names, and no secret itself. */
function isKey({ name }: TableColumn): boolean {
  return /^(?:key|name|id|kind|server_id)$/i.test(name);
}

/** A row such as `key = "apiKey", value = …`. */
function isKeyOfSecret(column: TableColumn, value: unknown): boolean {
  return isKey(column) && typeof value === "string" && isSecret(value, "");
}

/** JSON is masked by its fields, also where only its beginning was read. */
function maskedText(value: string): string {
  if (!/^\s*[[{"]/.test(value)) return String(masked(value));
  const parsed = parseJson(value);
  if (parsed.ok) return JSON.stringify(masked(parsed.value)) ?? value;
  return value.replaceAll(FIELD, (field, name: string) => (isSecret(name, "") ? `"${name}":"${MASK}"` : field));
}

/** A field with its text, number or the rest of what was read. */
const FIELD = /"((?:[^"\\]|\\.){1,100})"\s*:\s*(?:"(?:[^"\\]|\\.)*(?:"|$)|[^\s",{[][^,}\]]*)/g;
