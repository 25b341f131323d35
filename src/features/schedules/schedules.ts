// The agent's durable timers: accepted into a table, run from the object's one wake, at least once, in time order.
// Guarantees that what it returned is stored and armed. Running rows is in schedule-runner.ts.
import { parseJson } from "../../util/json.ts";
import { requireCallback } from "../../agent/callback.ts";
import type { AgentCore } from "../../agent/core.ts";
import type { Feature, Roles } from "../../feature/feature.ts";
import { firstOccurrence } from "./cron.ts";
import { Heartbeat } from "../../agent/keep-alive.ts";
import { validateRetry, type RetryOptions } from "../../agent/retry.ts";
import { scheduleErrors } from "./errors.ts";
import {
  dedupKey,
  isRecurring,
  readTiming,
  timingDetail,
  toSchedule,
  type Schedule,
  type ScheduleCriteria,
  type ScheduleOptions,
  type ScheduleRow,
  type ScheduleTiming
} from "./schedule-row.ts";
import { ScheduleRunner } from "./schedule-runner.ts";
import { SCHEDULE_TABLES, ScheduleTable } from "./schedule-table.ts";
import { encodeStored } from "../../agent/stored-json.ts";

/** Longest interval: 30 days. */
export const INTERVAL_LIMIT_SECONDS = 2_592_000;
/** The last instant a Date can name. */
const TIME_LIMIT_MS = 8.64e15;

interface Request {
  timing: ScheduleTiming;
  timeMs: number;
  callback: string;
  payload: unknown;
  retry: RetryOptions | undefined;
  isIdempotent: boolean;
}

export class Schedules implements Feature {
  readonly name = "schedules";
  readonly tables = SCHEDULE_TABLES;
  readonly roles: Partial<Roles> = {
    schedules: () => this.list().map(({ callback, id }) => ({ callback, id }))
  };
  readonly #core: AgentCore;
  readonly #table: ScheduleTable;
  readonly #runner: ScheduleRunner;
  readonly #heartbeat: Heartbeat;
  readonly #warnedInStart = new Set<string>();

  constructor(core: AgentCore) {
    this.#core = core;
    this.#table = new ScheduleTable(core.sql);
    this.#runner = new ScheduleRunner(core, this.#table);
    this.#heartbeat = new Heartbeat(core.options.keepAliveIntervalMs);
    core.wakes.add((nowMs) => this.#nextWake(nowMs));
  }

  /** Runs `callback(payload, schedule)` after seconds, at a Date, or by a cron expression (UTC). */
  async schedule<T>(
    when: number | Date | string,
    callback: string,
    payload?: T,
    options: ScheduleOptions = {}
  ): Promise<Schedule<T>> {
    requireCallback(this.#core, callback);
    const { timing, timeMs } = readWhen(when, this.#core.clock.now(), callback);
    if (this.#core.isInUserStart && timing.type !== "cron" && options.idempotent === undefined)
      this.#warnInStart(callback);
    const isIdempotent = options.idempotent ?? timing.type === "cron";
    return this.#accept({ timing, timeMs, callback, payload, retry: options.retry, isIdempotent });
  }

  /** Runs `callback` every `seconds`, counted from the end of each run. Asking twice for the same keeps one. */
  async scheduleEvery<T>(
    seconds: number,
    callback: string,
    payload?: T,
    options: { retry?: RetryOptions } = {}
  ): Promise<Schedule<T>> {
    requireCallback(this.#core, callback);
    if (typeof seconds !== "number" || !(seconds > 0) || seconds > INTERVAL_LIMIT_SECONDS) {
      throw scheduleErrors.InvalidScheduleError(
        `The interval of "${callback}" must be a positive number of seconds up to ${INTERVAL_LIMIT_SECONDS}, not ${String(seconds)}.`
      );
    }
    const timing: ScheduleTiming = { type: "interval", intervalSeconds: seconds };
    const timeMs = Math.ceil(this.#core.clock.now() + seconds * 1000);
    return this.#accept({ timing, timeMs, callback, payload, retry: options.retry, isIdempotent: true });
  }

  /** False if there is no such schedule. A run that has begun is not stopped, but is its last. */
  async cancel(id: string): Promise<boolean> {
    const row = this.#table.byId(id);
    if (!row) return false;
    this.#table.remove(row.seq);
    this.#core.emit("schedule:cancel", { callback: row.callback, id });
    await this.#core.wakes.rearm();
    return true;
  }

  get<T = unknown>(id: string): Schedule<T> | undefined {
    const row = this.#table.byId(id);
    return row && publicView<T>(row);
  }

  /** In time order. */
  list<T = unknown>(filter: ScheduleCriteria = {}): Schedule<T>[] {
    const startMs = filter.timeRange?.start?.getTime() ?? Number.NEGATIVE_INFINITY;
    const endMs = filter.timeRange?.end?.getTime() ?? Number.POSITIVE_INFINITY;
    const rows = filter.id === undefined ? this.#table.all() : [this.#table.byId(filter.id)];
    return (
      rows
        .filter((row) => row !== undefined)
        .filter((row) => filter.type === undefined || row.type === filter.type)
        // Users know the second, the table the millisecond: a bound equal to either is inclusive.
        .filter((row) => row.time_ms >= startMs && Math.floor(row.time_ms / 1000) * 1000 <= endMs)
        .map((row) => publicView<T>(row))
        .filter((schedule) => schedule !== undefined)
    );
  }

  /** Runs what is due. Rejects, after everything else ran, with the error of a row that the platform must run again. */
  runDue(): Promise<void> {
    return this.#runner.runDue();
  }

  /** The object is being destroyed: its tables may be gone. Nothing is started or written any more. */
  stop(): void {
    this.#runner.stop();
  }

  async #accept<T>(request: Request): Promise<Schedule<T>> {
    if (request.retry !== undefined) validateRetry(request.retry, this.#core.options.retry);
    const { row, isNew } = this.#table.insert(
      {
        id: this.#core.ids.next(),
        callback: request.callback,
        payload: encodeStored(request.payload, `payload of "${request.callback}"`),
        timing: request.timing,
        timeMs: request.timeMs,
        dedupKey: dedupKey({ ...request, type: request.timing.type, detail: timingDetail(request.timing) }),
        retry: request.retry === undefined ? null : JSON.stringify(request.retry)
      },
      (candidate) => request.isIdempotent && !this.#isEnding(candidate, request.timing)
    );
    if (isNew) this.#core.emit("schedule:create", { callback: request.callback, id: row.id });
    await this.#core.wakes.rearm();
    const timing = readTiming(row);
    const payload = parseJson(row.payload);
    // The row has the request's own type, detail and payload, new or found by their hash; only JSON's view of T remains.
    return toSchedule(row, timing.ok ? timing.value : request.timing, (payload.ok ? payload.value : null) as T);
  }

  /** A one-shot that asks for its own successor is about to be deleted: it must not swallow the request. */
  #isEnding(row: ScheduleRow, timing: ScheduleTiming): boolean {
    return !isRecurring(timing) && this.#runner.isRunning(row.id);
  }

  #nextWake(nowMs: number): number | null {
    if (this.#runner.isStopped) return null;
    // A row being run is still due: its alarm's handler is at work, and should the process die, the alarm must come
    // back at once. Only a row that outlasted its handler would turn that into a loop; the heartbeat finds those.
    const lasting = this.#runner.runningSince(nowMs - this.#core.options.keepAliveIntervalMs);
    const due = this.#table.earliestDue(lasting);
    const next = due === null ? null : Math.max(due, this.#runner.pausedUntilMs);
    if (lasting.size === 0) return next;
    return Math.min(next ?? Number.POSITIVE_INFINITY, this.#heartbeat.next(nowMs));
  }

  #warnInStart(callback: string): void {
    if (this.#warnedInStart.has(callback)) return;
    this.#warnedInStart.add(callback);
    console.warn(
      `schedule("${callback}") inside onStart adds a row at every start. Pass { idempotent: true } to keep one, or { idempotent: false } if you mean it.`
    );
  }
}

function readWhen(when: unknown, nowMs: number, callback: string): { timing: ScheduleTiming; timeMs: number } {
  if (typeof when === "string") {
    const cron = when.trim();
    return { timing: { type: "cron", cron }, timeMs: firstOccurrence(cron, nowMs) };
  }
  if (typeof when === "number") {
    // Rounded up: a delay may end late, never early. A negative one is a time just missed.
    const timeMs = Math.ceil(nowMs + Math.max(0, when) * 1000);
    if (timeMs <= TIME_LIMIT_MS) return { timing: { type: "delayed", delayInSeconds: when }, timeMs };
  }
  if (when instanceof Date && Number.isFinite(when.getTime())) {
    return { timing: { type: "scheduled" }, timeMs: when.getTime() };
  }
  throw scheduleErrors.InvalidScheduleError(`"${callback}" cannot be scheduled at ${String(when)} (${typeof when}).`);
}

/** The payload's type is the caller's word, as it was when it was stored. */
function publicView<T>(row: ScheduleRow): Schedule<T> | undefined {
  const timing = readTiming(row);
  if (!timing.ok) return undefined;
  const payload = parseJson(row.payload);
  return toSchedule(row, timing.value, (payload.ok ? payload.value : null) as T);
}
