// A recurring task as a class declares it. The types check literal schedules: times, units, and what cannot stand together.
// What is only known at run time is checked by declaration.ts before anything is stored.
import type { MaybePromise } from "../../util/maybe-promise.ts";

type Digit = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9";
/** A time of day, "00:00" to "23:59". */
export type ThinkTime =
  `${`${"0" | "1"}${Digit}` | `2${"0" | "1" | "2" | "3"}`}:${"0" | "1" | "2" | "3" | "4" | "5"}${Digit}`;

export type ThinkIntervalSchedule = `every ${number} ${"minute" | "minutes" | "hour" | "hours"}`;

type WallClock =
  `every day at ${ThinkTime}` | `every weekday at ${ThinkTime}` | `every week on ${string} at ${ThinkTime}`;

export type ThinkWallClockSchedule = WallClock | `${WallClock} in ${string}`;

/** How often and how patiently one occurrence is tried: 3 times, with random pauses from 100 ms up to 3 s. */
export interface ThinkScheduledTaskRetry {
  maxAttempts?: number;
  baseDelayMs?: number;
  maxDelayMs?: number;
}

export interface ThinkScheduledTaskContext {
  taskId: string;
  /** When it was meant to run, in milliseconds since 1970. */
  scheduledFor: number;
  scheduledForDate: Date;
  /** How much later it runs. */
  lateByMs: number;
  /** The same for every try of this occurrence, also after a crash. */
  occurrenceKey: string;
  /** The same, and different from that of every other agent. */
  idempotencyKey: string;
  /** The schedule as it was read, without its timezone. */
  schedule: string;
  scheduleKind: "interval" | "wall-clock";
  timezone?: string;
  metadata?: Record<string, unknown>;
}

interface Shared {
  retry?: ThinkScheduledTaskRetry;
  /** Kept with the submission, and given to the handler. */
  metadata?: Record<string, unknown>;
  /** An occurrence that is later than this is left out; the next one is scheduled all the same. */
  maxLatenessMs?: number;
}

/** Submits this text as a user message: a durable submission under the occurrence's key. */
interface PromptAction {
  prompt: string | (() => MaybePromise<string>);
  handler?: never;
  /** Stamped on the message as `metadata.channel`. */
  channel?: string;
  /** "skip": left out while the submission of an earlier occurrence is not over. Default "allow". */
  overlap?: "allow" | "skip";
}

/** Called at least once per occurrence: a crash calls it again with the same keys. */
interface HandlerAction {
  handler: (context: ThinkScheduledTaskContext) => MaybePromise<void>;
  prompt?: never;
}

interface IntervalTask {
  schedule: ThinkIntervalSchedule;
  timezone?: never;
}

interface WallClockTask {
  schedule: ThinkWallClockSchedule;
  /** An IANA name. Default: that of the schedule, or `getDefaultTimezone()`. */
  timezone?: string;
}

export type ThinkScheduledTask = (IntervalTask | WallClockTask) & (PromptAction | HandlerAction) & Shared;

export type ThinkScheduledTasks = Record<string, ThinkScheduledTask>;

/**
 * Returns its argument, with the literal checks of a declared type.
 *
 * @example
 * getScheduledTasks() {
 *   return defineScheduledTasks({
 *     digest: { schedule: "every weekday at 08:30 in Europe/London", prompt: "Write the morning digest." }
 *   });
 * }
 */
export function defineScheduledTasks<const Tasks extends ThinkScheduledTasks>(tasks: Tasks): Tasks {
  return tasks;
}

/** How a declared task stands. */
export interface ThinkScheduledTaskInfo {
  taskId: string;
  schedule: string;
  scheduleKind: "interval" | "wall-clock";
  timezone?: string;
  /** In milliseconds since 1970. */
  nextRunAt?: number;
  /** Of the newest occurrence that was run or left out. */
  lastRunAt?: number;
  lastOutcome?: "submitted" | "handled" | "failed" | "skipped";
  /** Of the newest occurrence of a prompt. */
  lastSubmissionId?: string;
  lastError?: string;
}
