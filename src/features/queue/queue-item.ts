// What an item of the queue is, to its callers and as it is stored, and what moves the table of earlier builds.
import type { ReplacedTable } from "../../host/table-set.ts";
import { isObject } from "../../util/json.ts";
import { err, ok } from "../../util/result.ts";
import type { Codec, WorkView } from "../../work/kind.ts";
import type { RetryOptions } from "../../agent/retry.ts";

/** The kind of work that runs queued items. Its keys are their ids, its lanes their callbacks. */
export const QUEUE = "queue";
/** Pending items of one agent. Above it `queue` refuses. */
export const QUEUE_ITEM_LIMIT = 10_000;
/** Exhausted items kept for inspection; above it the oldest are dropped. */
export const DEAD_LETTER_LIMIT = 100;

export interface QueueOptions {
  retry?: RetryOptions;
}

/** An item waiting for its callback. `created_at` is in unix seconds. */
export interface QueueItem<T = unknown> {
  id: string;
  payload: T;
  callback: string;
  created_at: number;
  retry?: RetryOptions;
}

/** An item whose callback failed for good. */
export interface DeadLetter<T = unknown> extends QueueItem<T> {
  error: string;
  attempts: number;
  /** Unix seconds. */
  died_at: number;
}

export interface Queued {
  readonly payload: unknown;
  readonly retry?: RetryOptions | undefined;
}

export const QUEUED: Codec<Queued> = {
  encode: (queued) => queued,
  // `retry` is written only after validateRetry has checked it.
  decode: (stored) =>
    isObject(stored) && "payload" in stored ? ok(stored as object as Queued) : err("it has no payload")
};

/**
 * The table of the queue until schema version 7. A payload that is no JSON makes an item that is none: it is set aside when
 * it is its turn. Its layout is what was released: never change it.
 */
export const QUEUE_TABLE: ReplacedTable = {
  name: "cf_queue",
  move: (sql) =>
    void sql.run(
      `INSERT OR IGNORE INTO cf_work (kind, key, lane, payload, due_at, settled_at, is_aside, claim, starts, failures,
         troubled_since, error, created_at)
       SELECT ?, id, callback,
         '{"payload":' || payload || CASE WHEN json_valid(retry) THEN ',"retry":' || retry ELSE '' END || '}',
         CASE WHEN dead_at IS NULL THEN CAST(not_before AS INTEGER) END, CAST(dead_at AS INTEGER), not_before > 0, unended_starts, unended_starts, attempts, unended_since,
         CASE WHEN dead_at IS NOT NULL THEN COALESCE(dead_error, '') END, CAST(created_at AS INTEGER)
       FROM cf_queue ORDER BY seq`,
      QUEUE
    )
};

type Shown = Pick<WorkView<Queued>, "key" | "lane" | "payload" | "createdAt">;

export function toItem<T = unknown>({ key, lane, payload: { payload, retry }, createdAt }: Shown): QueueItem<T> {
  return {
    id: key,
    // The payload's type is the caller's word, as it was when it was stored.
    payload: payload as T,
    callback: lane ?? "",
    created_at: Math.floor(createdAt / 1000),
    ...(retry && { retry })
  };
}

export function toDeadLetter(view: WorkView<Queued>): DeadLetter {
  const { error, failures, settledAt } = view;
  return { ...toItem(view), error: error ?? "", attempts: failures, died_at: Math.floor((settledAt ?? 0) / 1000) };
}
