// A whole server in one test: all objects, their stored data, virtual time, and the process that runs them, which can be
// killed and started again. Stored data, alarms and the clock survive; everything else is the process's.
import { armAlarm } from "./alarms.ts";
import { ClassRegistry, type HostedClass } from "./class-registry.ts";
import { CrashControl } from "./crash.ts";
import type { Database } from "./database.ts";
import { inprocessErrors } from "./errors.ts";
import { watchWebCrypto } from "./foreign-work.ts";
import { HostProcess } from "./host-process.ts";
import { InboundFrames } from "./inbound-frames.ts";
import type { ObjectId } from "./object-id.ts";
import { ObjectRecord } from "./object-record.ts";
import { SeededIds } from "./seeded-ids.ts";
import { TurnQueue } from "./turn-queue.ts";
import { type Owner, VirtualClock } from "./virtual-clock.ts";
import { ignoreZombieFailures } from "./zombie-failures.ts";

export interface EngineOptions {
  /** Bound classes by binding name. */
  agents: Record<string, HostedClass>;
  /** Classes without a binding, for facets. */
  exports?: readonly HostedClass[];
  /** Everything else in `env`. */
  variables?: Record<string, unknown>;
  now: number;
  seed: number;
}

export class Engine {
  readonly classes: ClassRegistry;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly clock: VirtualClock;
  readonly ids: SeededIds;
  readonly turns = new TurnQueue();
  readonly inbound = new InboundFrames(this);
  readonly crash = new CrashControl(() => this.kill());
  readonly #records = new Map<string, ObjectRecord>();
  #process = new HostProcess();
  #crashListeners = new Set<() => void>();

  constructor(options: EngineOptions) {
    watchWebCrypto();
    ignoreZombieFailures();
    this.classes = new ClassRegistry(options.agents, options.exports ?? []);
    this.variables = options.variables ?? {};
    this.clock = new VirtualClock(options.now);
    this.ids = new SeededIds(options.seed);
  }

  get process(): HostProcess {
    return this.#process;
  }

  /** The stored side of an object; made on first mention. */
  record(objectClass: HostedClass, id: ObjectId): ObjectRecord {
    const key = `${objectClass.name}/${id.toString()}`;
    const known = this.#records.get(key);
    if (known === undefined) {
      const record = new ObjectRecord({ engine: this, id, objectClass });
      this.#records.set(key, record);
      return record;
    }
    // Reached by its name once, an object knows its name from then on.
    if (known.id.name === undefined && id.name !== undefined) known.id = id;
    return known;
  }

  /** Of all objects and facets, by their path. */
  databases(): ReadonlyMap<string, Database> {
    const found = new Map<string, Database>();
    const visit = (path: string, record: ObjectRecord) => {
      found.set(path, record.database);
      for (const [name, facet] of record.facets) visit(`${path}/${name}`, facet);
    };
    for (const [key, record] of this.#records) visit(record.id.name ?? key, record);
    return found;
  }

  /** Runs at a virtual time; a time that has come already means the next turn. Returns how to cancel. */
  schedule(at: number, owner: Owner, run: () => void): () => void {
    let isCancelled = false;
    const runOnce = () => {
      if (!isCancelled) run();
    };
    if (at <= this.clock.now) {
      this.turns.push(owner, runOnce);
      return () => {
        isCancelled = true;
      };
    }
    const timer = { at, owner, run: runOnce };
    this.clock.add(timer);
    return () => {
      isCancelled = true;
      this.clock.remove(timer);
    };
  }

  idle(): Promise<void> {
    return this.turns.idle();
  }

  async advance(ms: number): Promise<void> {
    const until = this.clock.now + ms;
    await this.idle();
    for (let timer = this.clock.takeNext(until); timer !== undefined; timer = this.clock.takeNext(until)) {
      const { owner, run } = timer;
      this.turns.push(owner, run);
      await this.idle();
    }
    this.clock.moveTo(until);
  }

  /** SIGKILL. Uncommitted work is gone, and so is every object, timer, call and socket of this process. */
  kill(): void {
    if (!this.#process.alive) return;
    this.crash.disarm();
    this.#process.die();
    this.turns.dropDead();
    this.clock.dropDead();
    this.inbound.clear();
    for (const record of this.#records.values()) record.abandon();
    for (const listener of this.#crashListeners) listener();
    this.#crashListeners.clear();
  }

  boot(): void {
    this.kill();
    this.#process = new HostProcess();
    for (const record of this.#records.values()) armAlarm(record);
  }

  /** Resolves when the process dies. */
  untilKilled(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#process.alive) this.#crashListeners.add(resolve);
      else resolve();
    });
  }

  async evict(record: ObjectRecord): Promise<void> {
    await this.idle();
    if (record.activation?.isBusy === true) throw inprocessErrors.ObjectBusy(nameOf(record));
    record.evict();
  }

  async evictAll(): Promise<void> {
    await this.idle();
    const records = [...this.#records.values()].flatMap((record) => [...record.tree()]);
    const busy = records.find((record) => record.activation?.isBusy === true);
    if (busy !== undefined) throw inprocessErrors.ObjectBusy(nameOf(busy));
    for (const record of records) record.evict();
  }

  /** An await that belongs to a test's fake: a place to crash, and a turn in which other events may start. */
  boundary(): Promise<void> {
    const { process } = this;
    return new Promise((resolve) => {
      if (!process.alive) return;
      this.crash.awaited();
      this.turns.push(process, resolve);
    });
  }
}

function nameOf(record: ObjectRecord): string {
  return `${record.objectClass?.name ?? "A facet of"} ${record.id.name ?? record.id.toString()}`;
}
