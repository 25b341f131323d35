// The public handle on an in-process server: agents to call, a clock to move, a process to kill. Nothing happens in real
// time, and two runs with the same seed and script do the same things in the same order.
import { Agent, getAgentByName, routeAgentRequest } from "../agent-class/index.ts";
import { readAlarm, writeAlarm } from "./inprocess/alarms.ts";
import type { HostedClass } from "./inprocess/class-registry.ts";
import type { Database } from "./inprocess/database.ts";
import type { Counts } from "./inprocess/crash.ts";
import { Engine } from "./inprocess/engine.ts";
import { inprocessErrors, ProcessDied } from "./inprocess/errors.ts";
import { trackForeignWork } from "./inprocess/foreign-work.ts";
import { createEnv, createNamespace } from "./inprocess/namespace.ts";
import { ObjectId } from "./inprocess/object-id.ts";
import { ObjectRecord } from "./inprocess/object-record.ts";
import { OutsideParty } from "./inprocess/party.ts";
import { standIn } from "./inprocess/stand-in.ts";
import { upgradeOf } from "./inprocess/upgrade-response.ts";
import type { SqlRow, SqlValue } from "../host/ports.ts";
import { UpgradeRefused } from "./errors.ts";
import { TestSocket } from "./test-socket.ts";
import { runOnStored } from "./stored-tables.ts";

/** A Durable Object class; its instances' public methods are what stubs offer. */
export type AgentClass<T extends Rpc.DurableObjectBranded = Rpc.DurableObjectBranded> = new (
  ctx: never,
  env: never
) => T;

export type Bindings<Agents extends Record<string, AgentClass>> = {
  [Name in keyof Agents]: DurableObjectNamespace<InstanceType<Agents[Name]>>;
};

export interface TestWorker<Env> {
  fetch(request: Request, env: Env): Response | Promise<Response>;
}

export interface TestHostOptions<Agents extends Record<string, AgentClass>, Variables extends object> {
  /** Bound classes: the key is the binding's name in `env`; the class is exported under its own name. */
  agents: Agents;
  /** Classes without a binding, used as facets. */
  exports?: readonly AgentClass[];
  /** Everything else in `env`. */
  env?: Variables;
  /** Takes requests instead of the default routing. */
  worker?: TestWorker<Bindings<Agents> & Variables>;
  /** Where virtual time starts, in ms since the epoch. */
  now?: number;
  /** Of ids and random numbers. */
  seed?: number;
}

const DEFAULT_NOW = Date.UTC(2030, 0, 1);
const ORIGIN = "http://localhost";

/**
 * Starts a server in this process.
 *
 * ```ts
 * const host = createTestHost({ agents: { Counter } });
 * const counter = await host.get(Counter, "a");
 * await counter.increment();
 * await host.restart();
 * ```
 */
export function createTestHost<
  Agents extends Record<string, AgentClass>,
  Variables extends object = Record<never, never>
>(options: TestHostOptions<Agents, Variables>): TestHost<Bindings<Agents> & Variables> {
  const engine = new Engine({
    agents: options.agents,
    exports: options.exports ?? [],
    variables: { ...options.env },
    now: options.now ?? DEFAULT_NOW,
    seed: options.seed ?? 1
  });
  const worker = options.worker ?? defaultWorker;
  return new TestHost<Bindings<Agents> & Variables>(engine, standIn<TestWorker<unknown>>(worker));
}

/** Routing for tests that bring no worker of their own. */
const defaultWorker: TestWorker<unknown> = {
  async fetch(request, env) {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};

/** Everything that objects and facets have stored, by a name that is the same in every run. For tools of this repository. */
export let storedDatabases: (host: TestHost<unknown>) => ReadonlyMap<string, Database>;

export class TestHost<Env = Record<string, unknown>> {
  static {
    storedDatabases = (host) => host.#engine.databases();
  }

  readonly env: Env;
  readonly #engine: Engine;
  readonly #outside: OutsideParty;
  readonly #worker: TestWorker<unknown>;

  /** Use createTestHost. */
  constructor(engine: Engine, worker: TestWorker<unknown>) {
    this.#engine = engine;
    this.#outside = new OutsideParty(engine);
    this.#worker = worker;
    // Exactly the bindings and variables the host was created with.
    this.env = standIn<Env>(createEnv(engine, this.#outside));
  }

  /** Virtual time. */
  get now(): number {
    return this.#engine.clock.now;
  }

  get counts(): Counts {
    return this.#engine.crash.counts;
  }

  /** The process has died and was not started again. */
  get crashed(): boolean {
    return !this.#engine.process.alive;
  }

  /** The stub of a started agent. */
  async get<T extends Rpc.DurableObjectBranded>(agent: AgentClass<T>, name: string): Promise<DurableObjectStub<T>> {
    const namespace = this.#namespace(agent);
    // Plain Durable Objects can be tested too; they have nothing to start.
    return agent.prototype instanceof Agent ? getAgentByName(namespace, name) : namespace.getByName(name);
  }

  async fetch(path: string | Request, init?: RequestInit): Promise<Response> {
    if (this.crashed) throw new ProcessDied();
    const request = path instanceof Request ? path : new Request(new URL(path, ORIGIN), init);
    return this.#worker.fetch(request, this.env);
  }

  async connect(path: string, init: { headers?: HeadersInit } = {}): Promise<TestSocket> {
    const headers = new Headers(init.headers);
    headers.set("Upgrade", "websocket");
    const response = await this.fetch(path, { headers });
    const upgrade = upgradeOf(response);
    if (upgrade === undefined) throw new UpgradeRefused(path, response.status, await response.text());
    return new TestSocket(this.#engine, upgrade.client.connection);
  }

  /** Runs until nothing is left to do without time passing or a frame arriving. */
  idle(): Promise<void> {
    return this.#engine.idle();
  }

  /** Moves time: sleeps and alarms fire in order, and the host becomes idle between them. */
  advance(ms: number): Promise<void> {
    return this.#engine.advance(ms);
  }

  /** SIGKILL and boot: memory is gone, sockets are broken, storage and alarms are kept. */
  async restart(): Promise<void> {
    this.#engine.boot();
    await this.idle();
  }

  /** SIGKILL without booting again. */
  kill(): void {
    this.#engine.kill();
  }

  /** Hibernation: memory is gone, sockets stay. Throws if the object is working. Facets stay in memory. */
  evict(agent: AgentClass, name: string): Promise<void> {
    return this.#engine.evict(this.#record(agent, name));
  }

  evictAll(): Promise<void> {
    return this.#engine.evictAll();
  }

  /** Dies right after the n-th write from now. */
  crashAfterWrite(count: number): void {
    this.#engine.crash.armWrite(count);
  }

  /** Dies at the n-th await from now; what was awaited never comes. */
  crashInsideAwait(count: number): void {
    this.#engine.crash.armAwait(count);
  }

  /** Says whether the process died. */
  async untilCrashOrIdle(): Promise<boolean> {
    await this.idle();
    return this.crashed;
  }

  /** Resolves when the process dies. */
  untilCrash(): Promise<void> {
    return this.#engine.untilKilled();
  }

  /** Runs one statement on what an object has stored, without waking it. */
  sql<Row extends object = SqlRow>(agent: AgentClass, name: string, query: string, ...values: SqlValue[]): Row[];
  sql<Row extends object = SqlRow>(
    agent: AgentClass,
    name: string,
    facet: { path: readonly string[]; isNew?: boolean },
    query: string,
    ...values: SqlValue[]
  ): Row[];
  sql<Row extends object>(agent: AgentClass, name: string, ...rest: unknown[]): Row[] {
    const [first] = rest;
    const facet =
      typeof first === "string" ? { path: [] } : standIn<{ path: readonly string[]; isNew?: boolean }>(first);
    // The overloads above say what the rest holds.
    const [query, ...values] = (typeof first === "string" ? rest : rest.slice(1)) as [string, ...SqlValue[]];
    const { columns, rows } = runOnStored(this.#facet(this.#record(agent, name), facet).database, query, values);
    return rows.map((row) =>
      standIn<Row>(Object.fromEntries(columns.map((column, index) => [column, readable(row[index])])))
    );
  }

  /** When the object's alarm is due, or null. */
  alarm(agent: AgentClass, name: string): number | null {
    return readAlarm(this.#record(agent, name));
  }

  /** The platform has this alarm for the object, as one that an earlier program set. */
  setAlarm(agent: AgentClass, name: string, at: number): void {
    writeAlarm(this.#record(agent, name), at);
  }

  /** The platform forgets the object's alarm, as it does after six failed runs. */
  loseAlarm(agent: AgentClass, name: string): void {
    writeAlarm(this.#record(agent, name), null);
  }

  /** From now on frames from clients that are on their way together arrive in a seeded random order. */
  reorderFrames(seed: number | undefined): void {
    this.#engine.inbound.reorder(seed);
  }

  /** An await owned by a test's fake, such as a scripted model: a crash point, and a turn for other events. */
  boundary(): Promise<void> {
    return this.#engine.boundary();
  }

  /** Makes `idle()` wait for a promise the host cannot see, such as a lazy import. */
  external<T>(work: Promise<T>): Promise<T> {
    return trackForeignWork(work);
  }

  #namespace<T extends Rpc.DurableObjectBranded>(agent: AgentClass<T>): DurableObjectNamespace<T> {
    return standIn(createNamespace(this.#engine, this.#outside, this.#bound(agent)));
  }

  #record(agent: AgentClass, name: string): ObjectRecord {
    const objectClass = this.#bound(agent);
    return this.#engine.record(objectClass, ObjectId.fromName(objectClass.name, name));
  }

  #bound(agent: AgentClass): HostedClass {
    return this.#engine.classes.requireBound(agent);
  }

  #facet(root: ObjectRecord, { path, isNew }: { path: readonly string[]; isNew?: boolean }): ObjectRecord {
    let record = root;
    for (const name of path) {
      const facet: ObjectRecord | undefined =
        record.facets.get(name) ?? (isNew ? this.#newFacet(record, name) : undefined);
      if (facet === undefined) throw inprocessErrors.FacetNotFound(path);
      record = facet;
    }
    return record;
  }

  /** Storage that an earlier program left. */
  #newFacet(parent: ObjectRecord, name: string): ObjectRecord {
    const facet = new ObjectRecord({ engine: this.#engine, id: parent.id, parent });
    parent.facets.set(name, facet);
    return facet;
  }
}

function readable(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : (value ?? null);
}
