// A world for testing durable work without an agent: one SQLite database and one alarm that outlive every crash,
// and time that moves only by calls. A crash throws the instances away; what they still do reaches nothing.
import { DatabaseSync } from "node:sqlite";
import { memoryStorage } from "../host/memory-storage.test-support.ts";
import type { Clock, Ids, Sql } from "../host/ports.ts";
import { openQuarantine } from "../host/quarantine.ts";
import { openSchema } from "../host/schema.ts";
import { openSql } from "../host/sql.ts";
import { Wakes } from "../host/wakes.ts";
import type { EventPayloads, EventType } from "../observe/events.ts";
import type { AgentCore } from "../agent/core.ts";
import { Fibers } from "../features/fibers/fibers.ts";
import { KeepAlive } from "../agent/keep-alive.ts";
import { resolveOptions, type AgentStaticOptions } from "../agent/options.ts";
import { Queue } from "../features/queue/queue.ts";
import { Schedules } from "../features/schedules/schedules.ts";

/** Turns of the event loop after which everything that can go on without time has gone on. */
const QUIET_TURNS = 12;
/** Steps of one `advance` above which something is spinning. */
const STEP_LIMIT = 20_000;
const PLATFORM_RETRY_MS = 2_000;

export class SimulatedCrash extends Error {}

export type Methods = Record<string, (...args: unknown[]) => unknown>;

export interface RecordedEvent<Type extends EventType = EventType> {
  type: Type;
  payload: EventPayloads[Type];
}

interface Timer {
  at: number;
  owner: TestAgent | undefined;
  run: () => void;
}

export interface BootSetup {
  methods?: Methods;
  options?: AgentStaticOptions;
  /** Before anything is claimed or flushed. */
  prepare?: (agent: TestAgent) => void;
}

export class World {
  nowMs = Date.UTC(2026, 0, 1);
  readonly database = new DatabaseSync(":memory:");
  /** What the platform holds. */
  alarmAt: number | null = null;
  alarmsFired = 0;
  readonly alarmErrors: unknown[] = [];
  readonly events: RecordedEvent[] = [];
  /** Handed to `onError`. */
  readonly reported: unknown[] = [];
  /** Rejections of background work. */
  readonly logged: unknown[] = [];
  random: () => number = seeded(1);
  agent: TestAgent | undefined;
  #setup: BootSetup = {};
  #timers: Timer[] = [];
  #ids = 0;
  #writesUntilCrash = Number.POSITIVE_INFINITY;
  #isAlarmRunning = false;
  #failedAlarms = 0;
  writes = 0;

  /** A new isolate on the same database. Remembers its setup for the starts that alarms cause. */
  boot(setup: BootSetup = this.#setup): TestAgent {
    this.#setup = setup;
    const agent = new TestAgent(this, setup);
    this.agent = agent;
    agent.start();
    return agent;
  }

  crash(): void {
    if (!this.agent) return;
    this.agent.isDead = true;
    this.agent = undefined;
    // Like the platform: an alarm whose handler did not return comes back, unless a new one was set.
    if (this.#isAlarmRunning) this.alarmAt ??= this.nowMs + PLATFORM_RETRY_MS;
    this.#isAlarmRunning = false;
    this.#timers = this.#timers.filter((timer) => !timer.owner?.isDead);
  }

  /** The n-th write from now on does not happen: the process ends there. */
  crashAtWrite(n: number): void {
    this.#writesUntilCrash = n;
  }

  noCrash(): void {
    this.#writesUntilCrash = Number.POSITIVE_INFINITY;
  }

  countWrite(): void {
    this.writes++;
    this.#writesUntilCrash--;
    if (this.#writesUntilCrash > 0) return;
    this.noCrash();
    this.crash();
    throw new SimulatedCrash("the process ended");
  }

  nextId(): string {
    return `id-${++this.#ids}`;
  }

  addTimer(timer: Timer): void {
    this.#timers.push(timer);
    this.#timers.sort((a, b) => a.at - b.at);
  }

  removeTimer(timer: Timer): void {
    this.#timers = this.#timers.filter((other) => other !== timer);
  }

  /** Lets everything run that needs no time to pass. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < QUIET_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Moves time, firing timers and the alarm on the way; the alarm starts an agent if there is none. */
  async advance(ms: number): Promise<void> {
    const endsAt = this.nowMs + ms;
    for (let step = 0; step < STEP_LIMIT; step++) {
      await this.settle();
      const timer = this.#timers[0];
      const alarmAt = this.#isAlarmRunning ? null : this.alarmAt;
      const nextAt = Math.min(timer?.at ?? Number.POSITIVE_INFINITY, alarmAt ?? Number.POSITIVE_INFINITY);
      if (nextAt > endsAt) {
        this.nowMs = endsAt;
        return this.settle();
      }
      this.nowMs = Math.max(this.nowMs, nextAt);
      if (timer && timer.at <= this.nowMs) {
        this.removeTimer(timer);
        timer.run();
      } else this.#fireAlarm();
    }
    throw new Error("Time does not pass: something is due again and again");
  }

  /** Like the platform: never two at once, and a rejected one comes back, unless a new one was set. */
  #fireAlarm(): void {
    this.alarmAt = null;
    this.alarmsFired++;
    this.#isAlarmRunning = true;
    let agent: TestAgent;
    try {
      agent = this.agent ?? this.boot();
    } catch (error) {
      // It died while starting; `crash` has seen to the alarm.
      if (!(error instanceof SimulatedCrash)) throw error;
      return;
    }
    agent.alarm().then(
      () => {
        if (agent.isDead) return;
        this.#failedAlarms = 0;
        this.#isAlarmRunning = false;
      },
      (error: unknown) => {
        if (!agent.isDead) this.#alarmFailed(error);
      }
    );
  }

  #alarmFailed(error: unknown): void {
    this.alarmErrors.push(error);
    this.#isAlarmRunning = false;
    this.alarmAt ??= this.nowMs + PLATFORM_RETRY_MS * 2 ** Math.min(this.#failedAlarms++, 6);
  }

  eventsOf<Type extends EventType>(type: Type): EventPayloads[Type][] {
    return this.events
      .filter((event): event is RecordedEvent<Type> => event.type === type)
      .map((event) => event.payload);
  }

  rows(query: string, ...values: (string | number | null)[]): Record<string, unknown>[] {
    try {
      return this.database.prepare(query).all(...values);
    } catch (error) {
      // Tables are made when something is first written to them.
      if (error instanceof Error && error.message.includes("no such table")) return [];
      throw error;
    }
  }

  count(table: "cf_work" | "cf_fibers" | "cf_quarantine"): number {
    return this.rows(`SELECT * FROM ${table}`).length;
  }
}

export class TestAgent implements AgentCore {
  isDead = false;
  isInUserStart = false;
  methods: Methods;
  readonly world: World;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wakes: Wakes;
  readonly options: AgentCore["options"];
  readonly quarantine: AgentCore["quarantine"];
  readonly keepAlive: KeepAlive;
  readonly schedules: Schedules;
  readonly queue: Queue;
  readonly fibers: Fibers;
  readonly #setup: BootSetup;
  /** Set to make the next arms fail, as a facet's root may. */
  armError: Error | undefined;

  constructor(world: World, setup: BootSetup) {
    this.world = world;
    this.#setup = setup;
    this.methods = setup.methods ?? {};
    this.options = resolveOptions(setup.options);
    this.sql = openTestSql(world, () => this.isDead);
    openSchema(this.sql);
    this.clock = { now: () => world.nowMs, sleep: (ms, signal) => this.#sleep(ms, signal) };
    this.ids = { next: () => world.nextId(), random: () => world.random() };
    this.wakes = new Wakes({ sql: this.sql, now: () => world.nowMs, arm: (at) => this.#arm(at), firingConsumes: true });
    this.quarantine = openQuarantine(
      this.sql,
      () => world.nowMs,
      () => undefined
    );
    this.keepAlive = new KeepAlive(this);
    this.schedules = new Schedules(this);
    this.queue = new Queue(this, this.keepAlive);
    this.fibers = new Fibers(this, this.keepAlive);
  }

  start(): void {
    this.#setup.prepare?.(this);
    this.wakes.adopt(this.world.alarmAt);
    this.schedules.start();
    this.schedules.ready();
    if (this.fibers.claim()) this.background(this.fibers.recover());
    this.background(this.wakes.rearm());
    this.queue.start();
    this.queue.ready();
  }

  async alarm(): Promise<void> {
    this.wakes.fired();
    const results = await Promise.allSettled([this.schedules.runDue(), this.fibers.recover(), this.queue.runDue()]);
    const failed = results.find((result) => result.status === "rejected");
    if (this.isDead) return;
    this.wakes.ended();
    await this.wakes.rearm(failed ? this.world.nowMs + PLATFORM_RETRY_MS : 0);
    if (failed) throw failed.reason;
  }

  emit<Type extends EventType>(type: Type, payload: EventPayloads[Type]): void {
    if (!this.isDead) this.world.events.push({ type, payload });
  }

  hasMethod(name: string): boolean {
    return Object.hasOwn(this.methods, name);
  }

  async invoke(method: string, ...args: unknown[]): Promise<unknown> {
    // What a dead process would have called is never called.
    if (this.isDead) return new Promise(() => undefined);
    return this.methods[method]?.(...args);
  }

  async report(error: unknown): Promise<void> {
    if (!this.isDead) this.world.reported.push(error);
  }

  async inAgent<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.keepAlive.while(work);
    } catch (error) {
      // A dead process goes on with nothing, and logs nothing.
      if (this.isDead) return new Promise(() => undefined);
      throw error;
    }
  }

  rearm(): void {
    this.background(this.wakes.rearm());
  }

  background(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!this.isDead) this.world.logged.push(error);
    });
  }

  #arm(at: number | null): void {
    if (this.isDead) throw new SimulatedCrash("a dead process arms nothing");
    if (this.armError) throw this.armError;
    this.world.alarmAt = at;
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.isDead) return new Promise(() => undefined);
    // It yields, and needs no time to pass.
    if (ms === 0) return new Promise((resolve) => setImmediate(resolve));
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer: Timer = { at: this.world.nowMs + Math.max(0, ms), owner: this, run: resolve };
      this.world.addTimer(timer);
      signal?.addEventListener("abort", () => {
        this.world.removeTimer(timer);
        reject(signal.reason);
      });
    });
  }
}

/** Resolves when the test says so. */
export function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** A random source that repeats itself run after run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 0x1_0000_0000;
  };
}

function openTestSql(world: World, isDead: () => boolean): Sql {
  return openSql(
    memoryStorage(world.database, (query) => {
      if (isDead()) throw new SimulatedCrash("a dead process reads and writes nothing");
      if (/^\s*(INSERT|UPDATE|DELETE)/i.test(query)) world.countWrite();
    })
  );
}
