// A schedule as the user sees it and as it is stored. Reading never throws: a row that makes no sense is a value.
import { createHash } from "node:crypto";
import { canonicalJson } from "../../util/json.ts";
import { err, ok, type Result } from "../../util/result.ts";
import { isCron } from "./cron.ts";
import { readRetry, type RetryOptions } from "../../agent/retry.ts";

export type ScheduleType = "delayed" | "scheduled" | "cron" | "interval";

/** When a schedule runs, as it was asked for. */
export type ScheduleTiming =
  | { type: "delayed"; delayInSeconds: number }
  | { type: "scheduled" }
  | { type: "cron"; cron: string }
  | { type: "interval"; intervalSeconds: number };

/** A stored schedule. `time` is the next run in unix seconds. */
export type Schedule<T = unknown> = {
  id: string;
  /** Name of the method that is called with `(payload, schedule)`. */
  callback: string;
  /** null if none was given. */
  payload: T;
  retry?: RetryOptions;
  time: number;
} & ScheduleTiming;

export interface ScheduleOptions {
  retry?: RetryOptions;
  /** Return the existing schedule with the same callback and payload instead of adding one. Cron: default true. */
  idempotent?: boolean;
}

export interface ScheduleCriteria {
  id?: string;
  type?: ScheduleType;
  /** Inclusive at both ends. */
  timeRange?: { start?: Date; end?: Date };
}

export interface ScheduleRow {
  seq: number;
  id: string;
  callback: string;
  payload: string;
  type: string;
  detail: string | null;
  time_ms: number;
  due_ms: number;
  retry: string | null;
  running_since: number | null;
  strikes: number;
  unended_starts: number;
  unended_since: number | null;
}

/** The `detail` column: what distinguishes two schedules of one type. */
export function timingDetail(timing: ScheduleTiming): string | null {
  switch (timing.type) {
    case "delayed":
      return String(timing.delayInSeconds);
    case "cron":
      return timing.cron;
    case "interval":
      return String(timing.intervalSeconds);
    case "scheduled":
      return null;
  }
}

export function readTiming(row: ScheduleRow): Result<ScheduleTiming> {
  const seconds = row.detail === null ? Number.NaN : Number(row.detail);
  switch (row.type) {
    case "scheduled":
      return ok({ type: "scheduled" });
    case "delayed":
      return Number.isFinite(seconds)
        ? ok({ type: "delayed", delayInSeconds: seconds })
        : err("the delay is no number");
    case "interval":
      return seconds > 0 ? ok({ type: "interval", intervalSeconds: seconds }) : err("the interval is no number");
    case "cron":
      return row.detail !== null && isCron(row.detail)
        ? ok({ type: "cron", cron: row.detail })
        : err("the cron expression is invalid");
    default:
      return err(`unknown type "${row.type}"`);
  }
}

/** Equal for schedules that are the same wish. Delay and date are no part of it: asking again with another one is the same. */
export function dedupKey(row: {
  type: ScheduleType;
  callback: string;
  detail: string | null;
  payload?: unknown;
}): string {
  const detail = row.type === "cron" || row.type === "interval" ? row.detail : null;
  const identity = canonicalJson([row.type, row.callback, detail, row.payload ?? null]);
  return createHash("sha256").update(identity).digest("base64url");
}

export function isRecurring(timing: ScheduleTiming): boolean {
  return timing.type === "cron" || timing.type === "interval";
}

export function toSchedule<T>(row: ScheduleRow, timing: ScheduleTiming, payload: T): Schedule<T> {
  const retry = readRetry(row.retry);
  return {
    id: row.id,
    callback: row.callback,
    payload,
    retry,
    time: Math.floor(row.time_ms / 1000),
    ...timing
  };
}
