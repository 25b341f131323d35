// Results that were too long to show, kept whole so that the model can read on. Pages are cut by bytes and never in the
// middle of a character; the pages of a result, joined, are the result. Oldest results go first.
import type { BlobRef } from "../../host/blobs.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { whereTheRestIs } from "../../feature/read-result.ts";
import { decodeText, encodeText } from "../../util/bytes.ts";
import { isObject, type Json } from "../../util/json.ts";
import { sliceText, truncateText, truncateToolOutput } from "../../util/truncate-value.ts";
import { jsonCopy } from "./json-copy.ts";
import type { ActionsHost } from "./runtime.ts";

/** Values kept at once. */
export const MAX_RESULTS = 100;
/** A longer one is not kept: the model sees its beginning only. */
export const MAX_RESULT_BYTES = 8 * 1024 * 1024;
/** Of all kept values together. */
export const MAX_RESULTS_BYTES = 64 * 1024 * 1024;
export const RESULT_AGE_MS = 7 * 24 * 60 * 60 * 1000;
/** Bytes of one page, and what a call without `length` gets. */
export const MAX_PAGE_BYTES = 20_000;
/** No page is shorter, so that every page has at least one whole character. */
const MIN_PAGE_BYTES = 4;

export interface ResultPage {
  readonly id: string;
  readonly from: number;
  readonly totalBytes: number;
  readonly text: string;
  /** Where the next page starts; absent at the end. */
  readonly next?: number;
}

interface ResultRow {
  id: number;
  result_id: string;
  hash: string;
  size_bytes: number;
}

export const RESULT_TABLES: readonly TableDefinition[] = [
  // Bound: 100 values, 64 MB in all, 7 days. Deleted: oldest first when one is added, and by age.
  {
    name: "cf_action_results",
    create: [
      `CREATE TABLE cf_action_results (
        id INTEGER PRIMARY KEY,
        result_id TEXT NOT NULL UNIQUE,
        hash TEXT NOT NULL,
        size_bytes INTEGER NOT NULL,
        created_at INTEGER NOT NULL
      )`
    ]
  }
];

type ResultsHost = Pick<ActionsHost, "sql" | "blobs" | "clock" | "ids">;

export class Results {
  readonly #host: ResultsHost;
  readonly #sql: TableSet;

  constructor(host: ResultsHost) {
    this.#host = host;
    this.#sql = new TableSet(host.sql, RESULT_TABLES);
  }

  /** An id to show before the value is stored: the value is stored with the outcome that mentions it. */
  newId(): string {
    return `result_${this.#host.ids.next()}`;
  }

  fits(whole: string): boolean {
    // Most texts need no second pass: a UTF-16 unit is at most three bytes.
    return whole.length * 3 <= MAX_RESULT_BYTES || encodeText(whole).byteLength <= MAX_RESULT_BYTES;
  }

  /** Part of the caller's transaction. */
  keep(resultId: string, whole: string): void {
    const { blobs, clock } = this.#host;
    this.#sql.transaction(() => {
      const ref = blobs.put(whole, ownerOf(resultId));
      this.#sql.run(
        "INSERT INTO cf_action_results (result_id, hash, size_bytes, created_at) VALUES (?, ?, ?, ?)",
        resultId,
        ref.hash,
        ref.sizeBytes,
        clock.now()
      );
      this.#dropOldest();
    });
  }

  /** Undefined when there is no such result, or no longer. */
  page(resultId: string, from: number, lengthBytes: number): ResultPage | undefined {
    const row = this.#sql.one<ResultRow>(
      "SELECT id, result_id, hash, size_bytes FROM cf_action_results WHERE result_id = ?",
      resultId
    );
    if (!row) return undefined;
    const ref: BlobRef = { hash: row.hash, sizeBytes: row.size_bytes };
    const length = Math.min(Math.max(MIN_PAGE_BYTES, lengthBytes), MAX_PAGE_BYTES);
    const { start, text, end } = wholeCharacters(this.#host.blobs.slice(ref, from, length), from, row.size_bytes);
    return { id: resultId, from: start, totalBytes: row.size_bytes, text, ...(end < row.size_bytes && { next: end }) };
  }

  sweep(): void {
    const sql = this.#sql;
    const cutoff = this.#host.clock.now() - RESULT_AGE_MS;
    const old = sql.all<ResultRow>(
      "SELECT id, result_id, hash, size_bytes FROM cf_action_results WHERE created_at < ? ORDER BY id",
      cutoff
    );
    if (old.length > 0) sql.transaction(() => old.forEach((row) => this.#delete(row)));
  }

  #dropOldest(): void {
    const rows = this.#sql.all<ResultRow>(
      "SELECT id, result_id, hash, size_bytes FROM cf_action_results ORDER BY id DESC"
    );
    let bytes = 0;
    for (const [index, row] of rows.entries()) {
      bytes += row.size_bytes;
      if (index >= MAX_RESULTS || bytes > MAX_RESULTS_BYTES) this.#delete(row);
    }
  }

  #delete(row: ResultRow): void {
    this.#sql.change("DELETE FROM cf_action_results WHERE id = ?", row.id);
    this.#host.blobs.release(ownerOf(row.result_id));
  }
}

function ownerOf(resultId: string): string {
  return `action-result:${resultId}`;
}

/** The characters that lie wholly within the bytes, and where they lie. Pure. */
function wholeCharacters(
  bytes: Uint8Array,
  from: number,
  totalBytes: number
): { start: number; end: number; text: string } {
  let first = 0;
  while (first < bytes.length && isContinuation(bytes[first])) first += 1;
  let end = bytes.length;
  if (from + end < totalBytes) end = lastWhole(bytes);
  const kept = bytes.subarray(first, Math.max(first, end));
  return { start: from + first, end: from + Math.max(first, end), text: decodeText(kept) };
}

/** Where the last character that is complete ends. */
function lastWhole(bytes: Uint8Array): number {
  let lead = bytes.length - 1;
  while (lead > 0 && isContinuation(bytes[lead])) lead -= 1;
  return lead + lengthOf(bytes[lead] ?? 0) <= bytes.length ? bytes.length : lead;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Bytes of the UTF-8 character that starts with this one. */
function lengthOf(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

// What the model is shown of an action's result: JSON, at most MAX_OUTPUT_CHARS of it, with its shape kept where it is
// cut and the id under which the whole can be read in pages. Pure: keeping the whole value is the caller's.

/** Characters of a text, or of the JSON of anything else. */
export const MAX_OUTPUT_CHARS = 20_000;

export interface PreparedOutput {
  /** Undefined when there was no result. */
  readonly output: Json | undefined;
  /** The whole result as text, when `output` is only a part of it. */
  readonly whole?: string;
  /** The result could not be made JSON; why. */
  readonly problem?: string;
}

/** `keep` is asked for an id only when the output must be cut; undefined when the whole cannot be kept. */
export function prepareOutput(value: unknown, keep: (whole: string) => string | undefined): PreparedOutput {
  const copied = jsonCopy(value);
  if (!copied.ok) return { output: { serialized: false, error: copied.error }, problem: copied.error };
  const output = copied.value;
  if (typeof output === "string") {
    return output.length <= MAX_OUTPUT_CHARS ? { output } : { output: cutText(output, keep(output)), whole: output };
  }
  const whole = output === undefined ? "" : JSON.stringify(output);
  if (whole.length <= MAX_OUTPUT_CHARS) return { output };
  return { output: cutValue(output, whole, keep(whole)), whole };
}

function cutText(text: string, resultId: string | undefined): string {
  const start = sliceText(text, MAX_OUTPUT_CHARS);
  const rest = resultId === undefined ? "" : `; ${whereTheRestIs(resultId)}`;
  return `${start}\n... [truncated ${text.length - start.length} chars${rest}]`;
}

function cutValue(value: unknown, whole: string, resultId: string | undefined): Json {
  return {
    truncated: true,
    chars: whole.length,
    preview: previewOf(value, whole),
    ...(resultId !== undefined && { resultId })
  };
}

/** The value with its shape, or where nothing but a note would be left of it, the beginning of its JSON. */
function previewOf(value: unknown, whole: string): Json {
  // What shrinks JSON gives JSON.
  const shrunk = truncateToolOutput(value, MAX_OUTPUT_CHARS) as Json;
  const isOnlyNote = isObject(shrunk) && Object.keys(shrunk).every((key) => key.startsWith("__") || key === "note");
  return isOnlyNote ? truncateText(whole, MAX_OUTPUT_CHARS) : shrunk;
}
