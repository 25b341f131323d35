// A schedule as the user sees it and as its item of durable work holds it. Reading never throws: what makes no sense is a value.
import { createHash } from "node:crypto";
import { canonicalJson, isObject, parseJson } from "../../util/json.ts";
import { err, ok, type Result } from "../../util/result.ts";
import type { Codec, NewItem, WorkItem } from "../../work/kind.ts";
import { isCron } from "./cron.ts";
import type { RetryOptions } from "../../agent/retry.ts";

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

/** What an item of durable work says of its schedule. The item's key is the schedule's id, its lane the `dedupKey`. */
export interface Timer {
  readonly callback: string;
  readonly timing: ScheduleTiming;
  /** The time that was asked for. The item may be due later: it backs off, or its method is missing. */
  readonly timeMs: number;
  readonly payload: unknown;
  /** The payload, where it is no JSON: only older builds have stored such. */
  readonly text?: string | undefined;
  readonly retry: RetryOptions | undefined;
  /** Its method was missing when it was due, which was said. */
  readonly isMissing: boolean;
}

export const TIMER: Codec<Timer> = {
  encode: ({ callback, timing, timeMs, payload, text, retry, isMissing }) => ({
    ...{ callback, type: timing.type, detail: timingDetail(timing), time: timeMs, payload, text, retry },
    ...(isMissing && { isMissing })
  }),
  decode: (stored) => {
    if (!isObject(stored) || typeof stored["callback"] !== "string") return err("it names no callback");
    const { callback, time, retry, isMissing } = stored;
    const timing = readTiming(stored);
    if (!timing.ok) return timing;
    if (typeof time !== "number") return err("it has no time");
    const text = typeof stored["text"] === "string" ? stored["text"] : undefined;
    const payload = text === undefined ? ok(stored["payload"] ?? null) : parseJson(text);
    return ok({
      ...{ callback, timing: timing.value, timeMs: time, isMissing: isMissing === true },
      ...(payload.ok ? { payload: payload.value } : { payload: null, text }),
      // Written only after validateRetry has checked it.
      retry: isObject(retry) ? (retry as RetryOptions) : undefined
    });
  }
};

/** The item of a schedule, but for its id. */
export function itemOf(timer: Timer): Omit<NewItem<Timer>, "key"> {
  const { timing, timeMs } = timer;
  const lane = dedupKey({ ...timer, type: timing.type, detail: timingDetail(timing) });
  return { payload: timer, dueAt: timeMs, lane };
}

/** What distinguishes two schedules of one type. */
function timingDetail(timing: ScheduleTiming): string | null {
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

/** Of `type` and `detail` as they are stored. */
function readTiming({ type, detail }: { type?: unknown; detail?: unknown }): Result<ScheduleTiming> {
  const text = typeof detail === "string" ? detail : undefined;
  const seconds = Number(text ?? Number.NaN);
  switch (type) {
    case "scheduled":
      return ok({ type });
    case "delayed":
      return Number.isFinite(seconds) ? ok({ type, delayInSeconds: seconds }) : err("the delay is no number");
    case "interval":
      return seconds > 0 ? ok({ type, intervalSeconds: seconds }) : err("the interval is no number");
    case "cron":
      return text !== undefined && isCron(text) ? ok({ type, cron: text }) : err("the cron expression is invalid");
    default:
      return err(`unknown type "${String(type)}"`);
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

/** The payload's type is the caller's word, as it was when it was stored. */
export function toSchedule<T>({ key, payload: timer }: Pick<WorkItem<Timer>, "key" | "payload">): Schedule<T> {
  const { callback, payload, retry, timeMs, timing } = timer;
  return { id: key, callback, payload: payload as T, retry, time: Math.floor(timeMs / 1000), ...timing };
}
