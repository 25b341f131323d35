// Agents that do every kind of durable work and keep books about it, to be killed at any moment. The books are rows in
// the same object: what was accepted, how often each piece of work began and ended, which side effects happened, and
// what recovery was called with. Progress is printed, so that the test can follow it without waking an object.
import { Agent, routeAgentRequest } from "everthink/agent";
import { type Books, ONE_SHOTS, QUEUE_ITEMS, type RecoveryReport, STEPS, type WorkBook } from "./books.ts";

interface Env {
  Laborer: DurableObjectNamespace<Laborer>;
}

/** How long each piece of work takes between its beginning and its end. */
const WORK_MS = 15;
const HELPER_NAME = "helper";

interface Checkpoint {
  done: number;
}

type FiberContext = Parameters<Parameters<Agent["startFiber"]>[1]>[0];
type RecoveryContext = Parameters<Agent["onFiberRecovered"]>[0];

/** The same work for a root agent and for a sub-agent. */
abstract class Worker extends Agent<Env> {
  // Short, so that recovery by the alarm alone takes a moment and not half a minute.
  static override options = { keepAliveIntervalMs: 200, hungScheduleTimeoutSeconds: 1 };

  override onStart(): void {
    this.sql`CREATE TABLE IF NOT EXISTS accepted (key TEXT PRIMARY KEY)`;
    this.sql`CREATE TABLE IF NOT EXISTS work (key TEXT PRIMARY KEY, began INTEGER, ended INTEGER)`;
    this.sql`CREATE TABLE IF NOT EXISTS effects (step TEXT PRIMARY KEY, times INTEGER)`;
    this.sql`CREATE TABLE IF NOT EXISTS reports (fiber_id TEXT PRIMARY KEY, done INTEGER, times INTEGER)`;
  }

  /** Accepts a batch of work. Called again after a crash, it accepts only what is missing. */
  async begin(batch: number): Promise<void> {
    for (const job of [`resume-${batch}`, `settle-${batch}`]) {
      await this.#accept(job, () => this.#startJob(job, job, 0));
    }
    for (let index = 0; index < ONE_SHOTS; index += 1) {
      const key = `one-shot-${batch}-${index}`;
      const when = index === 0 ? 0 : index === 1 ? 0.2 : new Date(Date.now() + 400);
      await this.#accept(key, () => this.schedule(when, "perform", { key }));
    }
    for (let index = 0; index < QUEUE_ITEMS; index += 1) {
      const key = `queued-${batch}-${index}`;
      await this.#accept(key, () => this.queue("perform", { key }));
    }
    await this.scheduleEvery(0.1, "tick");
  }

  async perform({ key }: { key: string }): Promise<void> {
    this.sql`INSERT INTO work VALUES (${key}, 1, 0) ON CONFLICT DO UPDATE SET began = began + 1`;
    this.progress("began", key);
    await scheduler.wait(WORK_MS);
    this.sql`UPDATE work SET ended = ended + 1 WHERE key = ${key}`;
    this.progress("ended", key);
  }

  async tick(): Promise<void> {
    await this.perform({ key: "interval" });
  }

  async stopInterval(): Promise<void> {
    for (const { id } of await this.listSchedules({ type: "interval" })) await this.cancelSchedule(id);
  }

  override onFiberRecovered(context: RecoveryContext): { status: "error"; error: string } | void {
    const { done } = lastCheckpoint(context);
    this.sql`INSERT INTO reports VALUES (${context.id}, ${done}, 1) ON CONFLICT DO UPDATE SET times = times + 1`;
    this.progress("recovered", context.id);
    if (context.name.startsWith("settle")) return { status: "error", error: `cut off after step ${done}` };
    // The record stays "interrupted"; the rest of the job is a fiber of its own, one per interrupted one.
    void this.#startJob(context.name, `${context.id}+`, done);
  }

  async books(): Promise<Books> {
    const fibers = await this.listFibers({ limit: 100 });
    const accepted = this.sql<{ key: string }>`SELECT key FROM accepted`.map(({ key }) => key);
    const queued = await Promise.all(accepted.map((key) => this.getQueues<{ key: string }>("key", key)));
    return {
      accepted,
      work: this.sql<WorkBook>`SELECT * FROM work WHERE key <> 'interval'`,
      effects: this.sql<Books["effects"][number]>`SELECT * FROM effects`,
      reports: this.sql<RecoveryReport>`SELECT fiber_id AS fiberId, done, times FROM reports`,
      fibers: fibers.map((fiber) => {
        const { fiberId, status, error } = fiber;
        return { fiberId, status, error, done: lastCheckpoint(fiber).done };
      }),
      schedules: (await this.listSchedules()).map(({ type }) => type),
      queued: queued.flat().map(({ payload }) => payload.key),
      intervalRuns: this.sql<WorkBook>`SELECT * FROM work WHERE key = 'interval'`[0]?.ended ?? 0
    };
  }

  /** Printed, not sent: reading it wakes no object. */
  progress(kind: string, key: string): void {
    console.log(`progress ${JSON.stringify({ agent: this.name, kind, key })}`);
  }

  /** The request and the note that it was made are stored in one breath, because nothing is awaited in between. */
  async #accept(key: string, store: () => Promise<unknown>): Promise<void> {
    if (this.sql`SELECT 1 FROM accepted WHERE key = ${key}`.length > 0) return;
    const stored = store();
    this.sql`INSERT INTO accepted VALUES (${key})`;
    await stored;
    this.progress("accepted", key);
  }

  #startJob(job: string, fiberId: string, done: number): Promise<unknown> {
    const metadata: Checkpoint = { done };
    return this.startFiber(job, (context) => this.#runSteps(job, done, context), {
      fiberId,
      metadata: { ...metadata }
    });
  }

  async #runSteps(job: string, done: number, { stash }: FiberContext): Promise<void> {
    for (let step = done + 1; step <= STEPS; step += 1) {
      const id = `${job}/${step}`;
      this.sql`INSERT INTO effects VALUES (${id}, 1) ON CONFLICT DO UPDATE SET times = times + 1`;
      this.progress("effect", id);
      // Killed here, the effect has happened and the checkpoint does not say so.
      await scheduler.wait(WORK_MS);
      stash({ done: step } satisfies Checkpoint);
      this.progress("checkpoint", id);
    }
    this.progress("ended", job);
  }
}

/** Before its first stash a fiber is where it was started from. */
function lastCheckpoint(fiber: { snapshot?: unknown; metadata?: Record<string, unknown> }): Checkpoint {
  return { done: 0, ...(fiber.snapshot ?? fiber.metadata) };
}

export class Helper extends Worker {}

export class Laborer extends Worker {
  override async onRequest(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const helper = await this.subAgent(Helper, HELPER_NAME);
    switch (url.pathname.split("/").at(-1)) {
      case "begin": {
        const batch = Number(url.searchParams.get("batch"));
        await Promise.all([this.begin(batch), helper.begin(batch)]);
        return new Response("begun");
      }
      case "stop":
        await Promise.all([this.stopInterval(), helper.stopInterval()]);
        return new Response("stopped");
      case "books": {
        const [own, helpers] = await Promise.all([this.books(), helper.books()]);
        return Response.json({ own, helpers, alarm: await this.ctx.storage.getAlarm() });
      }
      default:
        return new Response("Not found", { status: 404 });
    }
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
