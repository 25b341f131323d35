// What exists of an object while it is not in memory: its identity, its database, its facets, its hibernating sockets.
// It also holds the activation, if there is one, and is the only way to it.
import { ObjectActivation, type HostEvent, type Startup } from "./activation.ts";
import { AlarmState } from "./alarms.ts";
import { ClassReference, type HostedClass } from "./class-registry.ts";
import type { SocketConnection } from "./connection.ts";
import { Database } from "./database.ts";
import type { Engine } from "./engine.ts";
import { ProcessDied } from "./errors.ts";
import type { ObjectId } from "./object-id.ts";

/** Counting the root. */
export const FACET_DEPTH_LIMIT = 4;

export type FacetStart = () => Promise<Startup>;

export interface DeliverOptions {
  /** How to start the facet if it is not running. */
  start?: FacetStart;
  /** Refuse if the object was reset since: the caller's stub is broken then. */
  expectedResets?: number;
}

export class ObjectRecord {
  /** How a facet was first started. The platform starts an evicted one the same way and does not ask its parent again. */
  startup: Startup | undefined;
  readonly engine: Engine;
  readonly parent: ObjectRecord | undefined;
  readonly objectClass: HostedClass | undefined;
  readonly database = new Database();
  readonly facets = new Map<string, ObjectRecord>();
  /** Accepted for hibernation, in order of acceptance. */
  readonly connections = new Set<SocketConnection>();
  readonly alarm = new AlarmState();
  id: ObjectId;
  activation: ObjectActivation | undefined;
  autoResponse: { request: string; response: string } | undefined;
  /** What a facet ran as last: a message on its hibernating socket starts it again without the parent. */
  lastStartup: Startup | undefined;
  #resets = 0;
  #resetReason: unknown;

  constructor(init: { engine: Engine; id: ObjectId; objectClass?: HostedClass; parent?: ObjectRecord }) {
    this.engine = init.engine;
    this.id = init.id;
    this.objectClass = init.objectClass;
    this.parent = init.parent;
  }

  get resets(): number {
    return this.#resets;
  }

  get depth(): number {
    return this.parent === undefined ? 1 : this.parent.depth + 1;
  }

  /** Hands an event to the object in a turn of its own, waking it first. Settles with what the handler did. */
  deliver(run: HostEvent["run"], options: DeliverOptions = {}): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const { process, turns, crash } = this.engine;
    if (!process.alive) reject(new ProcessDied());
    turns.push(process, () => {
      crash.awaited();
      if (!process.alive) return;
      if (options.expectedResets !== undefined && options.expectedResets !== this.#resets) reject(this.#resetReason);
      else this.#wake(options.start, reject)?.admit({ run, resolve, reject });
    });
    return promise;
  }

  /** The object loses its memory at once; its sockets break; its facets go with it. */
  reset(reason: unknown): void {
    this.startup = undefined;
    this.#resets++;
    this.#resetReason = reason;
    const { activation } = this;
    this.activation = undefined;
    activation?.end(reason);
    this.database.rollBackAll();
    this.breakConnections();
    for (const facet of this.facets.values()) facet.reset(reason);
  }

  /** Polite: only an object that is doing nothing. Sockets stay. */
  evict(): void {
    const { activation } = this;
    this.activation = undefined;
    activation?.evict();
    this.database.rollBackAll();
  }

  /** The process is gone: no code inside is notified. */
  abandon(): void {
    this.startup = undefined;
    this.activation = undefined;
    this.database.rollBackAll();
    this.alarm.forget();
    this.breakConnections();
    for (const facet of this.facets.values()) facet.abandon();
  }

  breakConnections(): void {
    const broken = [...this.connections];
    this.connections.clear();
    for (const connection of broken) connection.breakOff();
  }

  *tree(): Generator<ObjectRecord> {
    yield this;
    for (const facet of this.facets.values()) yield* facet.tree();
  }

  #wake(start: FacetStart | undefined, refuse: (reason: unknown) => void): ObjectActivation | undefined {
    if (this.activation !== undefined) return this.activation;
    if (this.depth > FACET_DEPTH_LIMIT) {
      const limit = `The maximum depth including the root Durable Object is ${FACET_DEPTH_LIMIT}.`;
      refuse(new Error(`Facet nesting depth limit exceeded. ${limit}`));
      return undefined;
    }
    const activation = new ObjectActivation(this);
    this.activation = activation;
    if (this.objectClass !== undefined) {
      activation.construct({ reference: new ClassReference(this.objectClass, {}), id: this.id });
    } else {
      void activation.constructLater(start ?? (() => this.#restartAsBefore()));
    }
    return activation;
  }

  #restartAsBefore(): Promise<Startup> {
    return this.lastStartup === undefined
      ? Promise.reject(new Error("This facet is not running."))
      : Promise.resolve(this.lastStartup);
  }
}
