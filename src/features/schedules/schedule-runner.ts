// Runs due rows. A row is marked started before its callback is called and settled after it returned, so a crash at
// any point runs it again; one slow row never holds up the others; a row is never running twice in one activation.
import { happensWithin } from "../../host/deadline.ts";
import { isOutOfMemory } from "../../host/platform-errors.ts";
import { assertNever } from "../../util/assert-never.ts";
import { errorMessage } from "../../util/errors.ts";
import { parseJson } from "../../util/json.ts";
import { durableBackoffMs, isGivenUp, restartAtMs } from "../../agent/backoff.ts";
import { runDurably } from "../../agent/context.ts";
import type { AgentCore } from "../../agent/core.ts";
import { DurableWork } from "../../agent/durable-work.ts";
import { nextOccurrence } from "./cron.ts";
import { isInterruption, isWorthRetrying, readRetry, runAttempts } from "../../agent/retry.ts";
import { scheduleErrors } from "./errors.ts";
import { readTiming, toSchedule, type ScheduleRow, type ScheduleTiming } from "./schedule-row.ts";
import type { ScheduleTable } from "./schedule-table.ts";

/** Rows running at once. */
export const CONCURRENCY_LIMIT = 8;
/** A row running longer than this no longer counts against the limit: slow rows must not use up all places. */
export const SLOW_ROW_MS = 30_000;
/** How long one `runDue` takes on rows that become due while earlier ones run. Alarm handlers may last 15 minutes. */
export const PICKUP_WINDOW_MS = 5 * 60_000;
/** Due one-shots of one callback that are worth a warning. */
export const CROWD_THRESHOLD = 10;
/** Out-of-memory errors in a row after which a schedule is dropped. */
export const STRIKE_LIMIT = 3;
/** How long after its time a schedule waits for a method that the class does not have. */
export const MISSING_CALLBACK_MS = 30 * 86_400_000;
/** When it is looked for again: after as long as it has been missing, within these. All of a callback at once. */
const LOOK_AGAIN = { minMs: 60_000, maxMs: 3_600_000 };

type Outcome =
  | { kind: "done" }
  | { kind: "failed"; error: unknown; attempts: number }
  | { kind: "interrupted"; error: unknown }
  | { kind: "out-of-memory"; error: unknown; attempts: number };

/** One call of `runDue`. */
interface Round {
  /** Still to start, last first. */
  waiting: string[];
  /** Kept for the platform to run again; not twice in this round. */
  readonly interrupted: Set<string>;
  readonly errors: unknown[];
  active: number;
  readAtMs: number;
  readonly closesAtMs: number;
}

export class ScheduleRunner {
  readonly #core: AgentCore;
  readonly #table: ScheduleTable;
  /** Id to start time. */
  readonly #running = new Map<string, number>();
  #change = Promise.withResolvers<void>();
  readonly #missing = new Set<string>();
  #isStopped = false;
  #pausedUntilMs = 0;

  constructor(core: AgentCore, table: ScheduleTable) {
    this.#core = core;
    this.#table = table;
  }

  isRunning(id: string): boolean {
    return this.#running.has(id);
  }

  /** Ids of rows that were started at or before `startedAtMs` and still run. */
  runningSince(startedAtMs: number): ReadonlySet<string> {
    const lasting = [...this.#running].filter(([, startedAt]) => startedAt <= startedAtMs);
    return new Set(lasting.map(([id]) => id));
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** After the table itself failed: when it is worth trying again. Keeps a broken disk from becoming a hot loop. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async runDue(): Promise<void> {
    if (this.#isStopped) return;
    const now = this.#core.clock.now();
    this.#warn(now);
    const waiting = this.#table
      .due(now)
      .filter((id) => !this.#running.has(id))
      .reverse();
    const round: Round = {
      waiting,
      interrupted: new Set(),
      errors: [],
      active: 0,
      readAtMs: now,
      closesAtMs: now + PICKUP_WINDOW_MS
    };
    for (;;) {
      this.#fill(round);
      if (round.active === 0) break;
      await this.#waitForChange(round);
    }
    if (round.errors.length > 0) throw round.errors[0];
  }

  #fill(round: Round): void {
    const now = this.#core.clock.now();
    if (now > round.closesAtMs) return;
    // Only while something runs, and only after time has passed: a row that keeps adding due rows must go through
    // the wake, or a callback without I/O, for which time stands still, would never let the round end.
    if (!this.#isStopped && round.waiting.length === 0 && round.active > 0 && now > round.readAtMs) {
      round.readAtMs = now;
      round.waiting = this.#table
        .due(now)
        .filter((id) => this.#canStart(id, round))
        .reverse();
    }
    // A callback begins synchronously with its start, and may destroy the object.
    while (!this.#isStopped && this.#hasFreePlace(now)) {
      const id = round.waiting.pop();
      if (id === undefined) return;
      if (this.#canStart(id, round)) this.#start(id, round);
    }
  }

  #canStart(id: string, round: Round): boolean {
    return !this.#running.has(id) && !round.interrupted.has(id);
  }

  #hasFreePlace(nowMs: number): boolean {
    let counted = 0;
    for (const startedAt of this.#running.values()) if (nowMs - startedAt < SLOW_ROW_MS) counted++;
    return counted < CONCURRENCY_LIMIT;
  }

  #start(id: string, round: Round): void {
    this.#running.set(id, this.#core.clock.now());
    round.active++;
    void this.#run(id, round)
      .catch((error: unknown) => {
        // Not the callback's error: those are outcomes. The row is as it was; let the platform try again later.
        this.#pausedUntilMs = this.#core.clock.now() + this.#core.options.keepAliveIntervalMs;
        round.interrupted.add(id);
        round.errors.push(error);
      })
      .finally(() => {
        this.#running.delete(id);
        round.active--;
        this.#change.resolve();
        this.#change = Promise.withResolvers();
      });
  }

  /** Resolves when a row ended, another became due, or a slow row gave up its place. */
  async #waitForChange(round: Round): Promise<void> {
    const now = this.#core.clock.now();
    const atMs = this.#nextOpportunity(round, now);
    if (atMs === null || Math.max(atMs, now + 1) > round.closesAtMs) return this.#change.promise;
    await happensWithin(Math.max(1, atMs - now), this.#change.promise, this.#core.clock);
  }

  #nextOpportunity(round: Round, nowMs: number): number | null {
    if (this.#isStopped) return null;
    if (this.#hasFreePlace(nowMs)) {
      const busy = new Set([...this.#running.keys(), ...round.interrupted]);
      return this.#table.earliestDue(busy);
    }
    const starts = [...this.#running.values()].filter((startedAt) => nowMs - startedAt < SLOW_ROW_MS);
    return Math.min(...starts) + SLOW_ROW_MS;
  }

  async #run(id: string, round: Round): Promise<void> {
    const now = this.#core.clock.now();
    const row = this.#table.byId(id);
    // Cancelled, or run by another round, since the list was read.
    if (!row || row.due_ms > now) return;
    const timing = readTiming(row);
    if (!timing.ok) return this.#discard(row, null, timing.error);
    const payload = parseJson(row.payload);
    if (!payload.ok) return this.#discard(row, timing.value, payload.error);
    if (!this.#core.hasMethod(row.callback)) return this.#wait(row, now);
    if (this.#isGivenUp(row, now)) {
      const error = scheduleErrors.ScheduleGivenUpError(row.callback, row.unended_starts);
      return this.#settle(row, timing.value, { kind: "failed", error, attempts: row.unended_starts });
    }
    this.#table.markStarted(row.seq, now, this.#restartAt(row, timing.value, now));
    if (row.unended_starts > 0) {
      // The platform stops repeating an alarm after a few crashes: from the second start on, hold a wake of our own.
      await this.#core.wakes.rearm();
      if (!this.#table.byId(id)) return;
    }
    const outcome = await this.#call(row, timing.value, payload.value);
    if (this.#isStopped) return;
    if (outcome.kind === "interrupted") {
      // As good as a crash: the row stays as `markStarted` left it.
      round.interrupted.add(id);
      round.errors.push(outcome.error);
      return;
    }
    await this.#settle(row, timing.value, outcome);
  }

  async #call(row: ScheduleRow, timing: ScheduleTiming, payload: unknown): Promise<Outcome> {
    const { callback, id } = row;
    this.#core.emit("schedule:execute", { callback, id });
    const policy = { ...this.#core.options.retry, ...readRetry(row.retry) };
    const schedule = toSchedule(row, timing, payload);
    let attempts = 0;
    try {
      await runAttempts(
        async (attempt) => {
          attempts = attempt;
          if (attempt > 1)
            this.#core.emit("schedule:retry", { callback, id, attempt, maxAttempts: policy.maxAttempts });
          const work = new DurableWork(`schedule:${id}:${row.time_ms}`);
          await runDurably({ work }, () => this.#core.invoke(callback, payload, schedule));
        },
        {
          ...policy,
          clock: this.#core.clock,
          ids: this.#core.ids,
          shouldRetry: (error) => !this.#isStopped && isWorthRetrying(error)
        }
      );
      return { kind: "done" };
    } catch (error) {
      return judge(error, attempts);
    }
  }

  async #settle(
    row: ScheduleRow,
    timing: ScheduleTiming,
    outcome: Exclude<Outcome, { kind: "interrupted" }>
  ): Promise<void> {
    switch (outcome.kind) {
      case "done":
        this.#consume(row, timing);
        break;
      case "failed":
        this.#consume(row, timing);
        this.#emitError(row, outcome.error, outcome.attempts);
        await this.#core.report(outcome.error);
        break;
      case "out-of-memory":
        await this.#strike(row, outcome.error, outcome.attempts);
        break;
      default:
        assertNever(outcome);
    }
    await this.#core.wakes.rearm();
  }

  async #strike(row: ScheduleRow, error: unknown, attempts: number): Promise<void> {
    const strikes = row.strikes + 1;
    const job = { callback: row.callback, id: row.id };
    if (strikes < STRIKE_LIMIT) {
      const wait = durableBackoffMs(strikes - 1, this.#core.options.keepAliveIntervalMs);
      this.#table.markStruck(row.seq, strikes, this.#core.clock.now() + wait);
      this.#emitError(row, error, attempts);
      return;
    }
    this.#table.remove(row.seq);
    this.#core.emit("alarm:memory_limit_reset", { ...job, strikes });
    this.#emitError(row, error, attempts);
    await this.#core.report(error);
  }

  /** The class has no such method: one deploy without it must not lose what was promised. */
  async #wait(row: ScheduleRow, nowMs: number): Promise<void> {
    const { callback, id, time_ms: timeMs } = row;
    const keptUntil = timeMs + MISSING_CALLBACK_MS;
    if (nowMs > keptUntil) {
      this.#table.remove(row.seq);
      this.#emitError(row, new Error(`this.${callback} is not a function, for 30 days: the schedule is dropped.`), 0);
    } else {
      if (!isKnownToWait(row)) this.#core.emit("schedule:callback_missing", { callback, id, keptUntil });
      if (!this.#missing.has(callback)) {
        console.error(`this.${callback} is not a function: its schedules wait for it, up to 30 days each.`);
      }
      this.#missing.add(callback);
      const waitMs = Math.min(Math.max(nowMs - timeMs, LOOK_AGAIN.minMs), LOOK_AGAIN.maxMs);
      // On the same minutes for all of them: one wake looks for many.
      this.#table.markWaiting(row.seq, Math.ceil((nowMs + waitMs) / LOOK_AGAIN.minMs) * LOOK_AGAIN.minMs);
    }
    await this.#core.wakes.rearm();
  }

  /** The row cannot be read: kept in quarantine, reported, and counted as executed. */
  async #discard(row: ScheduleRow, timing: ScheduleTiming | null, reason: string): Promise<void> {
    const body = timing === null ? JSON.stringify(row) : row.payload;
    this.#core.sql.transaction(() => {
      this.#core.quarantine({ table: "cf_schedules", key: row.id, body, error: reason });
      if (timing === null) this.#table.remove(row.seq);
      else this.#consume(row, timing);
    });
    this.#emitError(row, new Error(`The stored schedule cannot be read: ${reason}`), 0);
    await this.#core.wakes.rearm();
  }

  /** One occurrence is over: a one-shot goes, a recurring row moves into the future. Missed times are not made up for. */
  #consume(row: ScheduleRow, timing: ScheduleTiming): void {
    const next = nextTime(timing, this.#core.clock.now());
    if (next === null) this.#table.remove(row.seq);
    else this.#table.advance(row.seq, next);
  }

  #restartAt(row: ScheduleRow, timing: ScheduleTiming, nowMs: number): number {
    const { keepAliveIntervalMs, hungScheduleTimeoutSeconds } = this.#core.options;
    const restart = Math.max(row.due_ms, restartAtMs(row.unended_starts + 1, nowMs, keepAliveIntervalMs));
    if (timing.type !== "interval") return restart;
    return Math.max(restart, nowMs + hungScheduleTimeoutSeconds * 1000);
  }

  #isGivenUp(row: ScheduleRow, nowMs: number): boolean {
    const work = { unendedStarts: row.unended_starts, unendedSince: row.unended_since };
    return isGivenUp(work, nowMs, this.#core.options.fiberRecoveryMaxAgeMs);
  }

  #emitError(row: ScheduleRow, error: unknown, attempts: number): void {
    this.#core.emit("schedule:error", { callback: row.callback, id: row.id, error: errorMessage(error), attempts });
  }

  #warn(nowMs: number): void {
    for (const { callback, count } of this.#table.crowds(nowMs, CROWD_THRESHOLD)) {
      console.warn(
        `${count} one-shot schedules of "${callback}" are due at once. Was schedule() meant to be idempotent?`
      );
      this.#core.emit("schedule:duplicate_warning", { callback, count, type: "one-shot" });
    }
    const hungMs = this.#core.options.hungScheduleTimeoutSeconds * 1000;
    for (const { id, callback } of this.#table.heldIntervals(nowMs, nowMs + hungMs)) {
      if (this.#running.has(id)) continue;
      console.warn(`The last run of interval "${callback}" never ended; it runs again once that run counts as hung.`);
    }
  }
}

/** `markWaiting` was the last to change the row: what else moves `due_ms` notes a start or a strike. Pure. */
function isKnownToWait({ time_ms: timeMs, due_ms: dueMs, running_since: runningSince, strikes }: ScheduleRow): boolean {
  return dueMs > timeMs && runningSince === null && strikes === 0;
}

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

/** The last error decides, whatever earlier attempts threw. */
function judge(error: unknown, attempts: number): Outcome {
  if (isOutOfMemory(error)) return { kind: "out-of-memory", error, attempts };
  return isInterruption(error) ? { kind: "interrupted", error } : { kind: "failed", error, attempts };
}
