// The agent's durable timers: accepted as items of durable work, run from the object's one wake, at least once, in time order.
// Guarantees that what it returned is stored and armed. Running them is in schedule-runner.ts.
import { requireCallback } from "../../agent/callback.ts";
import type { AgentCore } from "../../agent/core.ts";
import type { Feature, Roles } from "../../feature/feature.ts";
import type { NewItem, WorkItem } from "../../work/kind.ts";
import type { Work } from "../../work/work.ts";
import { firstOccurrence } from "./cron.ts";
import { Heartbeat } from "../../agent/keep-alive.ts";
import { validateRetry, type RetryOptions } from "../../agent/retry.ts";
import { scheduleErrors } from "./errors.ts";
import {
  isRecurring,
  itemOf,
  toSchedule,
  type Schedule,
  type ScheduleCriteria,
  type ScheduleOptions,
  type ScheduleTiming,
  type Timer
} from "./schedule-row.ts";
import { ScheduleRunner } from "./schedule-runner.ts";
import { encodeStored } from "../../agent/stored-json.ts";

/** Schedules of one agent. Above it `schedule` refuses, because those that pile up cost a run each. */
export const SCHEDULE_LIMIT = 10_000;
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
  readonly roles: Partial<Roles> = {
    schedules: () => this.list().map(({ callback, id }) => ({ callback, id }))
  };
  readonly #core: AgentCore;
  readonly #runner: ScheduleRunner;
  readonly #work: Work<Timer>;
  readonly #heartbeat: Heartbeat;
  readonly #warnedInStart = new Set<string>();
  /** A caller waits for the wake of what it changes, and hears of its failure. */
  #isArmedByCaller = false;

  constructor(core: AgentCore) {
    this.#core = core;
    this.#runner = new ScheduleRunner(core, () => {
      if (!this.#isArmedByCaller) core.rearm();
    });
    this.#work = this.#runner.work;
    this.#heartbeat = new Heartbeat(core.options.keepAliveIntervalMs);
    core.wakes.add((nowMs) => this.#nextWake(nowMs));
  }

  start(): void {
    try {
      this.#runner.start();
    } catch (error) {
      // The agent is up, and the next wake takes up what an earlier process began.
      this.#core.background(Promise.reject(error));
    }
  }

  ready(): void {
    this.#runner.ready();
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
    const callback = this.#work.find(id)?.payload.callback ?? "";
    if (!this.#change(() => this.#work.cancel(id))) return false;
    this.#core.emit("schedule:cancel", { callback, id });
    await this.#core.wakes.rearm();
    return true;
  }

  get<T = unknown>(id: string): Schedule<T> | undefined {
    const item = this.#work.find(id);
    return item && toSchedule<T>(item);
  }

  /** In time order. */
  list<T = unknown>(filter: ScheduleCriteria = {}): Schedule<T>[] {
    const startMs = filter.timeRange?.start?.getTime() ?? Number.NEGATIVE_INFINITY;
    const endMs = filter.timeRange?.end?.getTime() ?? Number.POSITIVE_INFINITY;
    const items = filter.id === undefined ? [...this.#work.items()] : [this.#work.find(filter.id)];
    return (
      items
        .filter((item) => item !== undefined)
        .filter(({ payload: { timing } }) => filter.type === undefined || timing.type === filter.type)
        // Users know the second, the item the millisecond: a bound equal to either is inclusive.
        .filter(({ payload: { timeMs } }) => timeMs >= startMs && Math.floor(timeMs / 1000) * 1000 <= endMs)
        .sort((one, other) => one.payload.timeMs - other.payload.timeMs)
        .map((item) => toSchedule<T>(item))
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

  async #accept<T>({ isIdempotent, ...request }: Request): Promise<Schedule<T>> {
    if (request.retry !== undefined) validateRetry(request.retry, this.#core.options.retry);
    const text = encodeStored(request.payload, `payload of "${request.callback}"`);
    // What the callback is given is what was stored.
    const item = itemOf({ ...request, payload: JSON.parse(text) as unknown, isMissing: false });
    const { sql, ids, wakes } = this.#core;
    const accepted = this.#change(() =>
      sql.transaction(() => {
        const twin = isIdempotent ? this.#twinOf(item) : undefined;
        if (twin) return twin;
        if (this.#work.holdsAtLeast(SCHEDULE_LIMIT)) throw scheduleErrors.ScheduleLimitError(SCHEDULE_LIMIT);
        const key = ids.next();
        this.#work.add({ ...item, key });
        sql.afterTransaction({
          committed: () => this.#core.emit("schedule:create", { callback: request.callback, id: key })
        });
        return { key, payload: item.payload };
      })
    );
    await wakes.rearm();
    return toSchedule<T>(accepted);
  }

  /** The same wish. A one-shot that asks for its own successor is about to be deleted: it must not swallow the request. */
  #twinOf({ lane, payload: { timing } }: Pick<NewItem<Timer>, "lane" | "payload">): WorkItem<Timer> | undefined {
    const running = new Set(isRecurring(timing) ? [] : this.#work.running().map(({ key }) => key));
    return [...this.#work.items({ lane, states: ["waiting", "claimed"] })].find(({ key }) => !running.has(key));
  }

  #change<T>(change: () => T): T {
    this.#isArmedByCaller = true;
    try {
      return change();
    } finally {
      this.#isArmedByCaller = false;
    }
  }

  #nextWake(nowMs: number): number | null {
    if (this.#runner.isStopped) return null;
    const next = this.#work.nextWake();
    const running = this.#work.running();
    if (running.length === 0) return next;
    // What runs is still due: its alarm's handler is at work, and should the process die, the alarm must come back at
    // once. Only what outlasted its handler would turn that into a loop; the heartbeat finds it.
    const isLasting = running.every(
      ({ claimedAt }) => (claimedAt ?? 0) <= nowMs - this.#core.options.keepAliveIntervalMs
    );
    return Math.min(next ?? Number.POSITIVE_INFINITY, isLasting ? this.#heartbeat.next(nowMs) : nowMs);
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
