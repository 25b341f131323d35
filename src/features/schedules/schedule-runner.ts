// Runs schedules that are due, inside the wake that found them. Each is claimed before its callback is called and settled
// after it returned, so a crash at any point runs it again; one slow callback never holds up the others.
import { isOutOfMemory } from "../../host/platform-errors.ts";
import { assertNever } from "../../util/assert-never.ts";
import { errorMessage } from "../../util/errors.ts";
import { SETTLED, type AfterDeath, type RunEnd, type WorkItem } from "../../work/kind.ts";
import { runInWake } from "../../work/wake.ts";
import { Work } from "../../work/work.ts";
import { LONGEST_WAIT_MS, restartAtMs } from "../../agent/backoff.ts";
import { runDurably } from "../../agent/context.ts";
import type { AgentCore } from "../../agent/core.ts";
import { DurableWork } from "../../agent/durable-work.ts";
import { nextOccurrence } from "./cron.ts";
import { isInterruption, isWorthRetrying, runAttempts } from "../../agent/retry.ts";
import { scheduleErrors } from "./errors.ts";
import { isRecurring, itemOf, TIMER, toSchedule, type ScheduleTiming, type Timer } from "./schedule-row.ts";
import { SCHEDULE, SCHEDULE_ROWS } from "./schedule-table.ts";

/** Rows running at once. */
export const CONCURRENCY_LIMIT = 8;
/** A row running longer than this no longer counts against the limit: slow rows must not use up all places. */
export const SLOW_ROW_MS = 30_000;
/** How long one wake takes on rows that become due while earlier ones run. Alarm handlers may last 15 minutes. */
export const PICKUP_WINDOW_MS = 5 * 60_000;
/** Due one-shots of one callback that are worth a warning. */
export const CROWD_THRESHOLD = 10;
/** Out-of-memory errors in a row after which a schedule is dropped. */
export const STRIKE_LIMIT = 3;
/** How long after its time a schedule waits for a method that the class does not have. */
export const MISSING_CALLBACK_MS = 30 * 86_400_000;
/** When it is looked for again: after as long as it has been missing, within these. All of a callback at once. */
const LOOK_AGAIN = { minMs: 60_000, maxMs: 3_600_000 };

type Due = WorkItem<Timer>;

export class ScheduleRunner {
  readonly work: Work<Timer>;
  readonly #core: AgentCore;
  /** What the wake fails with: the platform repeats it. */
  #errors: unknown[] = [];
  /** Calls of `onError` that a wake waits for. */
  #reports: Promise<void>[] = [];
  /** Before the agent is ready: what `onError` is called with then. */
  #unreported: unknown[] | undefined = [];
  /** By callback: one-shots that were due when the wake came. */
  readonly #crowds = new Map<string, number>();
  #wokeAt = 0;
  readonly #missing = new Set<string>();
  #isStopped = false;

  constructor(core: AgentCore, rearm: () => void) {
    this.#core = core;
    const { sql, clock, quarantine, options } = core;
    const { keepAliveIntervalMs, fiberRecoveryMaxAgeMs } = options;
    // The wake keeps the object alive, and its own failure is that of the table.
    const background = (work: Promise<unknown>) => void work.catch((error: unknown) => this.#errors.push(error));
    this.work = new Work(
      { sql, clock, quarantine, background, rearm, inAgent: (work) => work() },
      {
        name: SCHEDULE,
        replaces: [SCHEDULE_ROWS],
        codec: TIMER,
        retry: {
          backoff: { baseMs: keepAliveIntervalMs, maxMs: LONGEST_WAIT_MS },
          maxAttempts: STRIKE_LIMIT,
          maxAgeMs: fiberRecoveryMaxAgeMs > 0 ? fiberRecoveryMaxAgeMs : Infinity,
          isInterruption: (error) => !isOutOfMemory(error)
        },
        byWake: true,
        concurrency: CONCURRENCY_LIMIT,
        slowMs: SLOW_ROW_MS,
        retentionMs: 0,
        run: (item, signal) => this.#run(item, signal),
        givenUp: (item, error) => this.#givenUp(item, error),
        interrupted: (item, claimedAt) => this.#interrupted(item, claimedAt),
        unreadable: ({ key, stored, error }) => {
          const { callback = "" } = (stored ?? {}) as { callback?: unknown };
          this.#emitError({ id: key, callback: String(callback) }, unreadable(error), 0);
        }
      }
    );
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Takes up what earlier processes began. */
  start(): void {
    this.work.ready();
    this.work.start();
  }

  /** The user's code may be called from now on. */
  ready(): void {
    const errors = this.#unreported ?? [];
    this.#unreported = undefined;
    for (const error of errors) this.#report(error);
  }

  stop(): void {
    this.#isStopped = true;
    this.work.stop();
  }

  /** Runs what is due. Rejects, after everything else ran, with the error of a row that the platform must run again. */
  async runDue(): Promise<void> {
    if (this.#isStopped) return;
    const { clock } = this.#core;
    this.#wokeAt = clock.now();
    await runInWake(this.work, { clock, pickupMs: PICKUP_WINDOW_MS });
    await Promise.all(this.#reports.splice(0));
    if (this.#isStopped) return;
    this.#warnOfCrowds();
    // What the platform interrupted waits for the next wake.
    this.work.start();
    const [first] = this.#errors.splice(0);
    if (first !== undefined) throw first;
  }

  /** A throw ends the claim without a verdict on the schedule. */
  async #run(item: Due, signal: AbortSignal): Promise<RunEnd<Timer>> {
    try {
      if (item.payload.text !== undefined) return this.#setAside(item, item.payload.text);
      if (!this.#core.hasMethod(item.payload.callback)) return this.#wait(item);
      // The platform stops repeating an alarm after a few crashes: from the second start on, hold a wake of our own.
      if (item.starts > 1) await this.#core.wakes.rearm();
      return signal.aborted ? SETTLED : await this.#call(item);
    } catch (error) {
      if (!isOutOfMemory(error)) this.#errors.push(error);
      throw error;
    }
  }

  async #call(item: Due): Promise<RunEnd<Timer>> {
    const { clock, ids, options } = this.#core;
    const { callback, payload, timeMs, timing } = item.payload;
    const job = { callback, id: item.key };
    if (!isRecurring(timing) && timeMs <= this.#wokeAt)
      this.#crowds.set(callback, (this.#crowds.get(callback) ?? 0) + 1);
    this.#core.emit("schedule:execute", job);
    const policy = { ...options.retry, ...item.payload.retry };
    const schedule = toSchedule(item);
    let attempts = 0;
    try {
      await runAttempts(
        async (attempt) => {
          attempts = attempt;
          if (attempt > 1) this.#core.emit("schedule:retry", { ...job, attempt, maxAttempts: policy.maxAttempts });
          const work = new DurableWork(`schedule:${item.key}:${timeMs}`);
          await runDurably({ work }, () => this.#core.invoke(callback, payload, schedule));
        },
        { ...policy, clock, ids, shouldRetry: (error) => !this.#isStopped && isWorthRetrying(error) }
      );
      return this.#over(item);
    } catch (error) {
      // The last error decides, whatever earlier attempts threw.
      if (this.#isStopped || isInterruption(error)) throw error;
      if (!isOutOfMemory(error)) return { ...this.#over(item), afterwards: () => this.#failed(job, error, attempts) };
      this.#emitError(job, error, attempts);
      throw error;
    }
  }

  /** One occurrence is over: a one-shot goes, a recurring one moves into the future. Missed times are not made up for. */
  #over({ payload: timer }: Due): RunEnd<Timer> {
    const next = nextTime(timer.timing, this.#core.clock.now());
    return next === null ? SETTLED : { end: "postponed", until: next, payload: movedTo(timer, next) };
  }

  #failed(job: { callback: string; id: string }, error: unknown, attempts: number): void {
    this.#emitError(job, error, attempts);
    this.#report(error);
  }

  #report(error: unknown): void {
    if (this.#unreported) this.#unreported.push(error);
    else this.#reports.push(this.#core.report(error));
  }

  /** The class has no such method: one deploy without it must not lose what was promised. */
  #wait({ key: id, payload: timer }: Due): RunEnd<Timer> {
    const { callback, timeMs } = timer;
    const now = this.#core.clock.now();
    const keptUntil = timeMs + MISSING_CALLBACK_MS;
    if (now > keptUntil) {
      const error = new Error(`this.${callback} is not a function, for 30 days: the schedule is dropped.`);
      return { end: "settled", afterwards: () => this.#emitError({ callback, id }, error, 0) };
    }
    if (!timer.isMissing) this.#core.emit("schedule:callback_missing", { callback, id, keptUntil });
    if (!this.#missing.has(callback)) {
      console.error(`this.${callback} is not a function: its schedules wait for it, up to 30 days each.`);
    }
    this.#missing.add(callback);
    const waitMs = Math.min(Math.max(now - timeMs, LOOK_AGAIN.minMs), LOOK_AGAIN.maxMs);
    // On the same minutes for all of them: one wake looks for many.
    const until = Math.ceil((now + waitMs) / LOOK_AGAIN.minMs) * LOOK_AGAIN.minMs;
    return { end: "postponed", until, payload: { ...timer, isMissing: true } };
  }

  /** The payload cannot be read: kept in quarantine, reported, and counted as executed. */
  #setAside(item: Due, body: string): RunEnd<Timer> {
    const error = unreadable("its payload is no JSON");
    this.#core.quarantine({ table: "cf_work", key: `${SCHEDULE}:${item.key}`, body, error: error.message });
    const job = { callback: item.payload.callback, id: item.key };
    return { ...this.#over(item), afterwards: () => this.#emitError(job, error, 0) };
  }

  #interrupted({ starts, payload: { timing, callback } }: Due, claimedAt: number): AfterDeath {
    if (timing.type !== "interval") return "again";
    console.warn(`The last run of interval "${callback}" never ended; it runs again once that run counts as hung.`);
    const { keepAliveIntervalMs, hungScheduleTimeoutSeconds } = this.#core.options;
    const restart = restartAtMs(starts, this.#core.clock.now(), keepAliveIntervalMs);
    return { at: Math.max(restart, claimedAt + hungScheduleTimeoutSeconds * 1000) };
  }

  /** After its third strike a schedule is dropped; after a day of starts without an end it goes on as after a failure. */
  #givenUp({ key: id, payload: timer, starts, failures }: Due, cause: unknown): void {
    const { callback, timing } = timer;
    const isStruck = isOutOfMemory(cause);
    const error = isStruck ? cause : scheduleErrors.ScheduleGivenUpError(callback, starts);
    const next = isStruck ? null : nextTime(timing, this.#core.clock.now());
    if (next !== null) this.work.add({ key: id, ...itemOf(movedTo(timer, next)) });
    const committed = () => {
      if (!isStruck) return this.#failed({ callback, id }, error, starts);
      this.#core.emit("alarm:memory_limit_reset", { callback, id, strikes: failures + 1 });
      this.#report(error);
    };
    this.#core.sql.afterTransaction({ committed });
  }

  #emitError(job: { callback: string; id: string }, error: unknown, attempts: number): void {
    this.#core.emit("schedule:error", { ...job, error: errorMessage(error), attempts });
  }

  #warnOfCrowds(): void {
    for (const [callback, count] of this.#crowds) {
      if (count < CROWD_THRESHOLD) continue;
      console.warn(
        `${count} one-shot schedules of "${callback}" were due at once. Was schedule() meant to be idempotent?`
      );
      this.#core.emit("schedule:duplicate_warning", { callback, count, type: "one-shot" });
    }
    this.#crowds.clear();
  }
}

const unreadable = (reason: string) => new Error(`The stored schedule cannot be read: ${reason}`);

const movedTo = (timer: Timer, timeMs: number): Timer => ({ ...timer, timeMs, isMissing: false });

function nextTime(timing: ScheduleTiming, nowMs: number): number | null {
  switch (timing.type) {
    case "cron":
      return nextOccurrence(timing.cron, nowMs);
    case "interval":
      return Math.ceil(nowMs + timing.intervalSeconds * 1000);
    case "delayed":
    case "scheduled":
      return null;
    default:
      return assertNever(timing);
  }
}
