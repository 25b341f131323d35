// An agent with durable work of every kind, to any depth of sub-agents. What it did is in a table, so it survives; tests
// wait for an entry with `seen`, which ends on the entry and not on a clock.
import { Agent, type AgentPathStep } from "../../src/agent-class/index.ts";
import type { FiberRecoveryContext, FiberRecoveryResult } from "../../src/features/fibers/fibers.ts";
import type { ScheduleOptions } from "../../src/features/schedules/schedule-row.ts";

/** Fails like the platform does when a deploy takes the object away. */
const SUPERSEDED = "Durable Object reset because its code was updated.";

export class Clerk extends Agent<object, { total: number }> {
  static override options = { retry: { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 2 } };
  override initialState = { total: 0 };
  /** What an own method returned during construction. */
  readonly duringConstruction: unknown;
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();
  readonly #held: (() => void)[] = [];

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.duringConstruction = this.double(21);
  }

  override onStart() {
    this.#log("start");
  }

  override onError(...args: unknown[]) {
    const error = args.at(-1);
    this.#log(`error:${error instanceof Error ? error.message : String(error)}`);
  }

  override onFiberRecovered(fiber: FiberRecoveryContext): FiberRecoveryResult | undefined {
    this.#log(`recovered:${fiber.name}:${JSON.stringify(fiber.snapshot)}`);
    if (fiber.name.startsWith("poison")) throw new Error("cannot recover");
    return fiber.status === undefined ? undefined : { status: "completed", snapshot: "after all" };
  }

  double(value: number) {
    return value * 2;
  }

  echo(value: unknown) {
    return value;
  }

  entries(): string[] {
    return this.#entries();
  }

  /** Resolves once the entry is logged. */
  async seen(entry: string): Promise<void> {
    if (this.#entries().includes(entry)) return;
    const waiting = this.#waiting.get(entry) ?? Promise.withResolvers<void>();
    this.#waiting.set(entry, waiting);
    await waiting.promise;
  }

  // ── Callbacks ──

  record(payload: unknown, job: { id?: string; type?: string }) {
    this.#log(`record:${JSON.stringify(payload)}:${job.type ?? "item"}`);
  }

  failing(payload: unknown) {
    this.#log(`failing:${JSON.stringify(payload)}`);
    throw new Error("callback failed");
  }

  superseded() {
    this.#log("superseded");
    throw new Error(SUPERSEDED);
  }

  async endMyself() {
    await this.destroy();
  }

  /** Runs until `open` names its payload. */
  async gated(payload: string) {
    this.#log(`gated:${payload}`);
    await this.#gate(payload).promise;
    this.#log(`through:${payload}`);
  }

  open(payload: string) {
    this.#gate(payload).resolve();
  }

  // ── Schedules and queue ──

  async book(when: number | Date | string, callback: keyof Clerk, payload?: unknown, options?: ScheduleOptions) {
    return (await this.schedule(when, callback, payload, options)).id;
  }

  async bookEvery(seconds: number, callback: keyof Clerk, payload?: unknown) {
    return (await this.scheduleEvery(seconds, callback, payload)).id;
  }

  async booked() {
    return (await this.listSchedules()).map(({ id, type, time }) => ({ id, type, time }));
  }

  async enqueue(callback: keyof Clerk, payload: unknown) {
    return this.queue(callback, payload);
  }

  // ── Keep-alive and fibers ──

  async hold() {
    this.#held.push(await this.keepAlive());
  }

  letGo() {
    this.#held.pop()?.();
  }

  /** A fiber that makes two checkpoints and then waits for `open(name)`. */
  async runGated(name: string) {
    return this.runFiber(name, async (fiber) => {
      fiber.stash({ step: 1 });
      this.stash({ step: 2 });
      await this.gated(name);
      return "fiber done";
    });
  }

  async startGated(name: string, key?: string) {
    const { fiberId, status, accepted } = await this.startFiber(
      name,
      async (fiber) => {
        fiber.stash({ step: "managed" });
        await this.gated(name);
      },
      key === undefined ? {} : { idempotencyKey: key }
    );
    return { fiberId, status, accepted };
  }

  async inspected(id: string) {
    const fiber = await this.inspectFiber(id);
    return fiber && { status: fiber.status, snapshot: JSON.stringify(fiber.snapshot), error: fiber.error };
  }

  // ── Sub-agents ──

  /** Calls a method of the clerk at the end of the path; children are created on the way. */
  async below(names: string[], method: string, ...args: unknown[]): Promise<unknown> {
    const [name, ...rest] = names;
    if (name === undefined) return (Reflect.get(this, method) as (...values: unknown[]) => unknown).apply(this, args);
    const child = await this.subAgent(Clerk, name);
    // A copy: the result of an RPC call must not outlive it.
    return structuredClone(await child.below(rest, method, ...args));
  }

  stopChild(name: string) {
    this.abortSubAgent(Clerk, name, "stopped by its parent");
  }

  async dropChild(name: string) {
    await this.deleteSubAgent(Clerk, name);
  }

  children() {
    return this.listSubAgents().map(({ className, name }: AgentPathStep) => `${className}:${name}`);
  }

  #gate(name: string): PromiseWithResolvers<void> {
    const gate = this.#gates.get(name) ?? Promise.withResolvers<void>();
    this.#gates.set(name, gate);
    return gate;
  }

  #entries(): string[] {
    this.sql`CREATE TABLE IF NOT EXISTS log (entry TEXT)`;
    return this.sql<{ entry: string }>`SELECT entry FROM log ORDER BY rowid`.map(({ entry }) => entry);
  }

  #log(entry: string): void {
    this.sql`CREATE TABLE IF NOT EXISTS log (entry TEXT)`;
    this.sql`INSERT INTO log VALUES (${entry})`;
    this.#waiting.get(entry)?.resolve();
    this.#waiting.delete(entry);
  }
}
