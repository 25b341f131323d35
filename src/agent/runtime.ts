// The inside of an agent: its modules, its start, its wakes and its end. The `Agent` class holds the public names and
// hands everything here; modules see this object only through `AgentCore`.
import { platformOf } from "#platform";
import { happensWithin } from "../host/deadline.ts";
import { openFacets, type FacetProps } from "../host/facets.ts";
import { Activation, openLifecycle, type Lifecycle } from "../host/activation.ts";
import { isDatabaseError } from "../host/platform-errors.ts";
import type { Alarm, Clock, Ids, Sockets, Sql } from "../host/ports.ts";
import { openQuarantine, type Quarantine } from "../host/quarantine.ts";
import { openSchema, type MetaRow } from "../host/schema.ts";
import type { TakeoverReport } from "../host/takeover.ts";
import { openSockets } from "../host/sockets.ts";
import { openSql } from "../host/sql.ts";
import { KNOWN_DELAY_MS, processAlarms, type ProcessAlarms } from "../host/process-alarms.ts";
import { openAlarm, Wakes } from "../host/wakes.ts";
import type { AgentEvent, EventPayloads, EventType } from "../observe/events.ts";
import { errorMessage } from "../util/errors.ts";
import type { AgentBase } from "./agent-base.ts";
import { ChildWakes } from "./tree/child-wakes.ts";
import type { ConnectionAttachment } from "../host/connection.ts";
import { Connections } from "./connections/connections.ts";
import { currentDurable, currentContext, runAs, runDurably, type CurrentContext } from "./context.ts";
import type { AgentCore } from "./core.ts";
import { Features } from "../feature/features.ts";
import { FeatureLife } from "../feature/life.ts";
import { capabilitiesOf } from "../feature/members.ts";
import { pathBelowAgent } from "./own-path.ts";
import { AgentEntry } from "./entry.ts";
import { AgentDestroyedError } from "./errors.ts";
import { assertCallerMayChange } from "./connections/readonly.ts";
import { provideServices, servicesOf, type Services } from "../feature/services.ts";
import { frames } from "./connections/frames.ts";
import { originalName, resolveIdentity, storeIdentity, type Identity } from "./identity.ts";
import type { FacetIdentity } from "./tree/internal.ts";
import { KeepAlive } from "./keep-alive.ts";
import type { AgentStaticOptions, ResolvedOptions } from "./options.ts";
import { resolveOptions } from "./options.ts";
import { ClientCalls } from "./connections/rpc.ts";
import { StateStore } from "./state.ts";
import { Tree } from "./tree/tree.ts";

/** How long a start waits for recovery hooks before it goes on without them. */
const RECOVERY_HEAD_START_MS = 1_000;

export interface RuntimeInit {
  agent: AgentBase;
  ctx: DurableObjectState;
  env: unknown;
  className: string;
  options: AgentStaticOptions | undefined;
}

/** What an agent with a conversation does beside its features. */
export interface ConversationOfAgent {
  /** An event of any kind has reached the agent, which is up. Must be cheap, and must not throw. */
  entered(): void;
  /** Saves a checkpoint of the running turn. */
  stash(data: unknown): void;
}

export class AgentRuntime implements AgentCore, Services {
  readonly agent: AgentBase;
  readonly ctx: DurableObjectState;
  readonly env: unknown;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly alarm: Alarm;
  readonly sockets: Sockets<ConnectionAttachment>;
  readonly lifecycle: Lifecycle;
  readonly options: ResolvedOptions;
  readonly identity: Identity;
  readonly wakes: Wakes;
  readonly quarantine: Quarantine;
  readonly activation: Activation;
  readonly state: StateStore;
  readonly connections: Connections;
  readonly calls: ClientCalls;
  readonly keepAlive: KeepAlive;
  readonly tree: Tree;
  readonly childWakes: ChildWakes;
  readonly features: Features;
  readonly life: FeatureLife;
  /** Where the platform's events come in. */
  readonly entry: AgentEntry;
  /** Whether the constructors of the user's classes have returned. */
  isConstructed = false;
  /** Of a class with a conversation: what it is made of, for the package's own modules. */
  conversation: ConversationOfAgent | undefined;
  /** Where many objects share one process that wakes them all at once. */
  readonly #alarms: ProcessAlarms | undefined;
  readonly #className: string;
  readonly #file: string;
  readonly #storedIdentity: string | null;
  /** Set in the process that took the object over. */
  readonly #takenOver: TakeoverReport | undefined;
  #isInUserStart = false;
  readonly #degradations: { readonly step: string; readonly error: string }[] = [];
  #isCondemned: boolean;
  #isGone = false;
  readonly #started = Promise.withResolvers<void>();
  /** While a start waits for recovery hooks. */
  #headStart: PromiseWithResolvers<void> | undefined;

  constructor(init: RuntimeInit) {
    const { agent, ctx } = init;
    this.agent = agent;
    this.#className = init.className;
    this.ctx = ctx;
    this.env = init.env;
    const { clock, ids, process } = platformOf(ctx);
    this.clock = clock;
    this.ids = ids;
    this.#alarms = processAlarms(process, init.env);
    this.alarm = openAlarm(ctx.storage, {
      failed: (error) => console.error(`${this.storageLabel}: the alarm could not be changed:`, error),
      shared: this.#alarms && { alarms: this.#alarms, now: () => clock.now() }
    });
    this.sockets = openSockets(ctx);
    this.lifecycle = openLifecycle(ctx, clock);
    this.options = resolveOptions(init.options);
    this.sql = openSql(ctx.storage);
    const facet = (ctx.props as Partial<FacetProps> | undefined)?.everthink as FacetIdentity | undefined;
    // Sub-agents have the id of their root, and files that are numbered: `<id>.1.sqlite`.
    this.#file = `${ctx.id.toString()}${facet === undefined ? "" : ".*"}.sqlite`;
    const meta = this.#openSchema(facet !== undefined);
    this.#isCondemned = meta.condemned === 1;
    this.#storedIdentity = meta.identity;
    this.#takenOver = meta.takenOver;
    this.identity = resolveIdentity({
      className: init.className,
      platformName: ctx.id.name ?? (meta.takenOver && originalName(ctx.storage)),
      facet,
      stored: meta.identity
    });
    this.wakes = new Wakes({
      sql: this.sql,
      now: () => clock.now(),
      arm: (at) => this.#arm(at),
      firingConsumes: !this.identity.isFacet,
      atWorkMs: this.options.keepAliveIntervalMs,
      knownDelayMs: this.#alarms && KNOWN_DELAY_MS
    });
    this.quarantine = openQuarantine(
      this.sql,
      () => clock.now(),
      ({ table, key, error }) => {
        console.error(
          `${this.storageLabel}: row ${key} of ${table} cannot be read and is kept in cf_quarantine: ${error}`
        );
        this.emit("storage:row:quarantined", { table, key, error });
      }
    );
    this.activation = new Activation({
      lifecycle: this.lifecycle,
      admit: () => this.assertAlive(),
      start: (props) => this.runAs({}, () => this.#start(props)),
      entered: () => this.conversation?.entered()
    });
    this.features = new Features(this, capabilitiesOf(agent));
    this.life = new FeatureLife({ features: this.features, pathOf: (url) => pathBelowAgent(url, this) });
    this.wakes.add((nowMs) => this.life.nextWake(nowMs));
    this.tree = new Tree(this, openFacets(ctx));
    this.connections = new Connections(this, agent, () => this.tree.ownSockets());
    this.state = this.#openState();
    this.calls = new ClientCalls(this, agent);
    this.keepAlive = new KeepAlive(this);
    this.childWakes = new ChildWakes(this, (path) => this.tree.wake(path));
    this.entry = new AgentEntry(this);
  }

  /** A facet has no alarm: its root wakes it. */
  #openSchema(isFacet: boolean): MetaRow {
    const { agent, clock, ids, options } = this;
    return openSchema(this.sql, {
      // Read by a take-over only: no other start collects them.
      get parts() {
        return capabilitiesOf(agent).flatMap(({ takeover }) => takeover);
      },
      lossyKinds: options.allowLossyTakeover,
      now: () => clock.now(),
      newId: () => ids.next(),
      arm: () => (isFacet ? undefined : this.alarm.set(clock.now()))
    });
  }

  /** True once destroy() has begun: nothing may start or be written any more. */
  get isGone(): boolean {
    return this.#isCondemned || this.#isGone;
  }

  assertAlive(): void {
    if (this.isGone) throw new AgentDestroyedError();
  }

  /** How log lines name this agent: its class, and its name as far as it is known. */
  get label(): string {
    try {
      return `${this.#className} "${this.identity.name}"`;
    } catch {
      // Addressed by a raw id, or not open yet: a take-over sets the alarm before it reads the name.
      return this.#className;
    }
  }

  /** How log lines about the agent's database name it: with the file that `workerd` keeps the object in. */
  get storageLabel(): string {
    return `${this.label} (${this.#file})`;
  }

  /** The label for a line about this error. */
  labelFor(error: unknown): string {
    return isDatabaseError(error) ? this.storageLabel : this.label;
  }

  emit<Type extends EventType>(type: Type, payload: EventPayloads[Type]): void {
    try {
      const { className: agent, name } = this.identity;
      // One member of the union, spelled by its parts.
      this.agent.observability?.emit({ type, agent, name, payload, timestamp: this.clock.now() } as AgentEvent);
    } catch (error) {
      console.error(`The observer of "${type}" failed:`, error);
    }
  }

  assertCallerMayChange(): void {
    assertCallerMayChange(this.agent);
  }

  runAs<T>(context: Partial<Pick<CurrentContext, "connection" | "request">>, work: () => T): T {
    return runAs({ agent: this.agent, ...context }, work);
  }

  /** Keeps the caller's context if it is this agent's already. */
  enterContext<T>(work: () => T): T {
    return currentContext().agent === this.agent ? work() : this.runAs({}, work);
  }

  hasMethod(name: string): boolean {
    return typeof Reflect.get(this.agent, name) === "function";
  }

  async invoke(method: string, ...args: unknown[]): Promise<unknown> {
    const target: unknown = Reflect.get(this.agent, method);
    if (typeof target !== "function") throw new TypeError(`this.${method} is not a function`);
    const durable = currentDurable();
    const call = () => target.apply(this.agent, args);
    // Entering the context leaves the caller's durable work, and it is this call that belongs to it.
    return this.enterContext(() => (durable ? runDurably(durable, call) : call()));
  }

  async report(error: unknown): Promise<void> {
    try {
      await this.enterContext(() => this.agent.onError(error));
    } catch (rethrown) {
      if (rethrown !== error) console.error("onError failed:", rethrown);
    }
  }

  inAgent<T>(work: () => Promise<T>): Promise<T> {
    return this.keepAlive.while(() => this.runAs({}, work));
  }

  rearm(): void {
    this.background(this.wakes.rearm());
  }

  broadcast(frame: object): void {
    this.connections.broadcastProtocol(JSON.stringify(frame));
  }

  background(work: Promise<unknown>): void {
    this.lifecycle.waitUntil(
      work.catch((error: unknown) => {
        if (!this.isGone) console.error(`${this.labelFor(error)}: background work failed:`, error);
      })
    );
  }

  /** The platform alarm, or for a facet the root's call on its behalf. */
  async wake(alarm?: AlarmInvocationInfo): Promise<void> {
    if (this.#isCondemned) return this.#finishDestroy();
    if (alarm && this.#comesTooEarly(alarm)) return;
    // Only a wake that starts the object is counted: one that is kept alive is woken every half minute, for as long as it is.
    const ended = this.activation.isStarted ? undefined : this.#alarms?.begin(this.clock.now());
    this.wakes.fired();
    try {
      await this.activation.enter(() => this.runAs({}, () => this.#runDue()));
      if (ended) this.keepAlive.whenReleased(ended);
    } catch (error) {
      ended?.();
      if (this.isGone) return;
      this.wakes.ended();
      // Should the platform stop retrying, the rows still have a wake of their own.
      await this.wakes.rearm(this.clock.now() + this.options.keepAliveIntervalMs);
      throw error;
    }
  }

  /** Too many objects of this process work already: this one is woken again, before it has cost anything. */
  #comesTooEarly({ scheduledTime, isRetry }: AlarmInvocationInfo): boolean {
    if (this.activation.isStarted) return false;
    const now = this.clock.now();
    // One that failed is tried again on purpose.
    const until = this.#alarms?.postponedUntil(this.ctx.id.toString(), now, isRetry ? now : Number(scheduledTime));
    if (until !== undefined) this.alarm.set(until);
    return until !== undefined;
  }

  async destroy(): Promise<void> {
    await this.features.role("deleteOutside")?.();
    if (this.identity.isFacet) {
      this.emit("destroy", {});
      return this.tree.removeSelf();
    }
    this.#isCondemned = true;
    // Should we die below, the alarm comes and finishes. Set first: an object that is condemned has one.
    this.alarm.set(this.clock.now());
    this.sql.run("UPDATE cf_meta SET condemned = 1 WHERE id = 1");
    await this.#finishDestroy();
  }

  async #finishDestroy(): Promise<void> {
    if (this.#isGone) return;
    this.#isGone = true;
    this.life.stop();
    this.childWakes.stop();
    this.tree.removeAll();
    await this.lifecycle.wipe();
    this.emit("destroy", {});
    this.lifecycle.abortSoon("The agent was destroyed.");
  }

  async #start(props: unknown): Promise<void> {
    storeIdentity(this.sql, this.identity, this.#storedIdentity);
    if (this.#takenOver) this.emit("storage:taken-over", this.#takenOver);
    await this.#userStart(() => this.features.start());
    await this.#recover();
    await this.#step("wake", () => this.#adoptWake());
    await this.#userStart(async () => this.agent.onStart(props as never));
    this.features.ready();
    this.#started.resolve();
  }

  /** A throw of the user's code fails the start. */
  async #userStart(work: () => Promise<void>): Promise<void> {
    this.#isInUserStart = true;
    try {
      await work();
    } catch (error) {
      await this.report(error);
      throw error;
    } finally {
      this.#isInUserStart = false;
    }
  }

  get isInUserStart(): boolean {
    return this.#isInUserStart;
  }

  /** For a recovery hook that needs a started agent: the start goes on without it. */
  untilStarted(): Promise<void> {
    this.#headStart?.resolve();
    return this.#started.promise;
  }

  /** An internal step that fails is reported; it must not make the object unreachable. */
  async #step(step: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.degrade(step, error);
    }
  }

  /** The agent is up without this step. Logged and remembered once, however often it comes up. */
  degrade(step: string, error: unknown): void {
    if (this.#degradations.some((known) => known.step === step)) return;
    this.#degradations.push({ step, error: errorMessage(error) });
    console.error(`${this.labelFor(error)}: the start step "${step}" failed; the agent is up without it.`, error);
    this.emit("chat:onstart:degraded", { step, error: errorMessage(error) });
  }

  get degradations(): readonly { readonly step: string; readonly error: string }[] {
    return this.#degradations;
  }

  async #recover(): Promise<void> {
    const recovery = this.features.role("recovery")?.();
    if (!recovery) return;
    // User hooks may be slow, and the gate is short: they get a head start and go on in the background.
    this.background(recovery);
    const ended = (this.#headStart = Promise.withResolvers());
    await happensWithin(RECOVERY_HEAD_START_MS, Promise.race([recovery, ended.promise]), this.clock);
  }

  /** Durable work without a wake would be stranded until the next visitor. */
  async #adoptWake(): Promise<void> {
    if (!this.identity.isFacet) {
      this.childWakes.start();
      this.wakes.adopt(await this.alarm.read());
      await this.wakes.rearm();
    } else if (this.wakes.next() === null) this.wakes.adopt(null);
    // A facet's wake is a row at the root, and a start may not wait for another object.
    else this.background(this.wakes.rearm());
  }

  async #runDue(): Promise<void> {
    const results = await Promise.allSettled([this.life.runDue(), this.childWakes.runDue()]);
    if (this.isGone) return;
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
    this.wakes.ended();
    await this.wakes.rearm();
  }

  async #arm(at: number | null): Promise<void> {
    if (this.isGone) return;
    if (this.identity.isFacet) await this.tree.armAtRoot(at);
    else this.alarm.set(at);
  }

  #openState(): StateStore {
    const agent = this.agent;
    return new StateStore({
      sql: this.sql,
      quarantine: this.quarantine,
      initial: () => (agent.initialState === undefined ? undefined : { value: agent.initialState }),
      validate: (next, source) => agent.validateStateChange(next as never, source),
      broadcast: (json, except) => this.connections.broadcastProtocol(frames.state(json), except),
      changed: (next, source) => {
        this.emit("state:update", {});
        // In the caller's context, but never in its way.
        this.background(
          Promise.resolve().then(async () => {
            try {
              await agent.onStateChanged(next as never, source);
            } catch (error) {
              await this.report(error);
            }
          })
        );
      }
    });
  }
}

/** The runtime of an agent, for the package's own modules; user code has no name for it. */
export function runtimeOf(agent: object): AgentRuntime {
  // `openRuntime` is the only one that provides services.
  return servicesOf(agent) as AgentRuntime;
}

export function openRuntime(init: RuntimeInit): AgentRuntime {
  const runtime = new AgentRuntime(init);
  provideServices(runtime);
  return runtime;
}
