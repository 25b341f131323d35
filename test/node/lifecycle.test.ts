import { expect, test } from "vitest";
import { Agent, getSubAgentByName } from "../../src/agent-class/index.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import { createTestHost, everyCrash } from "../../src/testing/index.ts";

const events: AgentEvent[] = [];
let failing = false;
let effects: string[] = [];
/** What is armed while a callback that ends its process runs. */
let armed: (number | null)[] = [];

class Parent extends Agent<object, { done: string[] }> {
  override initialState = { done: [] as string[] };
  override observability = { emit: (event: AgentEvent) => void events.push(event) };

  override onStart() {
    effects.push(`start:${this.name}`);
  }

  async plan() {
    this.setState({ done: ["planned"] });
    await this.schedule(10, "tick", "one");
    await this.queue("tick", "queued");
    const child = await this.subAgent(Child, "kid");
    await child.plan();
    return "planned";
  }

  tick(what: string) {
    this.sql`CREATE TABLE IF NOT EXISTS ticks (what TEXT PRIMARY KEY)`;
    this.sql`INSERT OR IGNORE INTO ticks VALUES (${what})`;
  }

  ticks(): string[] {
    this.sql`CREATE TABLE IF NOT EXISTS ticks (what TEXT PRIMARY KEY)`;
    return this.sql<{ what: string }>`SELECT what FROM ticks ORDER BY what`.map(({ what }) => what);
  }

  later() {
    return this.schedule(1, "deadly");
  }

  /** Its process ends in here, twice. */
  async deadly() {
    armed.push(await this.ctx.storage.getAlarm());
    if (armed.length < 3) await new Promise(() => undefined);
  }

  async destroyLater() {
    await this.schedule(5, "destroy");
    await this.schedule(5, "tick", "after-destroy");
  }

  async childTicks() {
    return (await this.subAgent(Child, "kid")).ticks();
  }

  override onError() {}
}

class Child extends Agent<object> {
  override observability = { emit: (event: AgentEvent) => void events.push(event) };

  override onStart() {
    if (failing) throw new Error("child cannot start");
  }

  async plan() {
    await this.schedule(10, "tick", "child-one", { idempotent: true });
  }

  tick(what: string) {
    this.sql`CREATE TABLE IF NOT EXISTS ticks (what TEXT PRIMARY KEY)`;
    this.sql`INSERT OR IGNORE INTO ticks VALUES (${what})`;
  }

  ticks(): string[] {
    this.sql`CREATE TABLE IF NOT EXISTS ticks (what TEXT PRIMARY KEY)`;
    return this.sql<{ what: string }>`SELECT what FROM ticks`.map(({ what }) => what);
  }

  async guarded(): Promise<string> {
    const release = await this.keepAlive();
    release();
    return "released";
  }

  override onError() {}
}

function open() {
  events.length = 0;
  effects = [];
  failing = false;
  return createTestHost({ agents: { Parent }, exports: [Child] });
}

test("destroy() leaves nothing, and the next visitor finds a new agent", async () => {
  const host = open();
  const parent = await host.get(Parent, "p");
  await parent.plan();
  await parent.destroy().catch(() => undefined);
  await host.idle();
  expect(host.alarm(Parent, "p")).toBeNull();
  expect(events.map(({ type }) => type)).toContain("destroy");
  expect(await (await host.get(Parent, "p")).ticks()).toEqual([]);
  expect(await (await host.get(Parent, "p")).childTicks()).toEqual([]);
});

test("destroy() inside a scheduled callback stops the other due rows and arms nothing", async () => {
  const host = open();
  await (await host.get(Parent, "p")).destroyLater();
  await host.advance(10_000);
  expect(host.alarm(Parent, "p")).toBeNull();
  expect(host.sql(Parent, "p", "SELECT name FROM sqlite_master WHERE name = 'cf_meta'")).toEqual([]);
});

test("destroy() interrupted after its first step is completed by the next alarm without running onStart", async () => {
  const host = open();
  const parent = await host.get(Parent, "p");
  await parent.plan();
  // The mark and the alarm are the first two writes.
  host.crashAfterWrite(2);
  void parent.destroy().catch(() => undefined);
  await host.untilCrashOrIdle();
  expect(host.crashed).toBe(true);
  effects = [];
  await host.restart();
  expect(effects).toEqual([]);
  expect(host.sql(Parent, "p", "SELECT name FROM sqlite_master WHERE name = 'cf_meta'")).toEqual([]);
});

test("killed anywhere, a destruction that was begun is finished without a visitor", async () => {
  await everyCrash({
    create: async () => {
      const host = open();
      await (await host.get(Parent, "p")).plan();
      return host;
    },
    script: async (host) => (await host.get(Parent, "p")).destroy().catch(() => undefined),
    finish: (host) => host.advance(600_000),
    inspect: async (host) => {
      const isStored = host.sql(Parent, "p", "SELECT 1 FROM sqlite_master WHERE name = 'cf_meta'").length > 0;
      return isStored && host.sql(Parent, "p", "SELECT 1 FROM cf_meta WHERE condemned = 1").length > 0;
    }
  });
});

test("an agent that is being destroyed refuses requests, sockets and calls", async () => {
  const host = open();
  const parent = await host.get(Parent, "p");
  host.sql(Parent, "p", "UPDATE cf_meta SET condemned = 1");
  await host.evict(Parent, "p");
  expect((await host.fetch("/agents/parent/p")).status).toBe(410);
  const socket = await host.connect("/agents/parent/p");
  await host.idle();
  expect(socket.closed).toEqual({ code: 1008, reason: "Agent destroyed" });
  await expect(parent.ticks()).rejects.toThrow("destroyed");
});

test("an idle agent has no alarm, and neither has its tree", async () => {
  const host = open();
  const parent = await host.get(Parent, "p");
  await parent.plan();
  expect(host.alarm(Parent, "p")).not.toBeNull();
  await host.advance(11_000);
  expect(await parent.ticks()).toEqual(["one", "queued"]);
  expect(await parent.childTicks()).toEqual(["child-one"]);
  await host.idle();
  expect(host.alarm(Parent, "p")).toBeNull();
  expect(host.sql(Parent, "p", "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toEqual([]);
});

test("a lost alarm is armed again by the next start", async () => {
  const host = open();
  const parent = await host.get(Parent, "p");
  await parent.plan();
  host.loseAlarm(Parent, "p");
  await host.restart();
  await host.get(Parent, "p");
  expect(host.alarm(Parent, "p")).not.toBeNull();
});

test("a schedule that kills its process needs one repetition of its alarm: each later process holds a wake of its own", async () => {
  armed = [];
  const host = open();
  await (await host.get(Parent, "a")).later();
  for (let process = 1; process <= 2; process++) {
    await host.advance(60_000);
    expect(armed).toHaveLength(process);
    await host.restart();
  }
  await host.advance(60_000);
  expect(armed.map((at) => at !== null)).toEqual([false, true, true]);
  expect(host.sql(Parent, "a", "SELECT key FROM cf_work")).toEqual([]);
});

test("a child that cannot start is woken ever less often, and dropped after a day", async () => {
  const host = open();
  await (await host.get(Parent, "p")).plan();
  failing = true;
  await host.evictAll();
  await host.advance(60 * 60_000);
  const failures = () => events.filter(({ type }) => type === "schedule:error").length;
  const inTheFirstHour = failures();
  expect(inTheFirstHour).toBeGreaterThan(5);
  // Every 5 minutes at the most often, after the first few.
  expect(inTheFirstHour).toBeLessThan(20);
  await host.advance(25 * 60 * 60_000);
  expect(host.sql(Parent, "p", "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toEqual([]);
  expect(host.alarm(Parent, "p")).toBeNull();
});

test("a child held awake keeps the root's alarm near, and lets go of it", async () => {
  const host = open();
  const child = await getSubAgentByName(await host.get(Parent, "p"), Child, "kid");
  expect(await child.guarded()).toBe("released");
  await host.idle();
  expect(host.alarm(Parent, "p")).toBeNull();
});

test("boot reads one row of our tables and their names, and calls no other object", async () => {
  const host = open();
  await (await host.get(Parent, "p")).plan();
  await host.advance(11_000);
  await host.evictAll();
  const before = host.counts;
  await host.fetch("/agents/parent/p");
  expect(host.counts.rowsWritten - before.rowsWritten).toBe(0);
  expect(host.counts.rowsRead - before.rowsRead).toBeLessThanOrEqual(BOOT_ROWS_READ);
});
/** The boot row, the list of tables, and the empty look of each wake source at its own index. */
const BOOT_ROWS_READ = 7;

test("killed after any write or inside any await, the plan is carried out once it is made again", async () => {
  let answer: string | undefined;
  const result = await everyCrash({
    create: () => {
      answer = undefined;
      return open();
    },
    script: async (host) => {
      answer = await (await host.get(Parent, "p")).plan();
    },
    // The client that got no answer asks again; what was acknowledged must not be lost.
    finish: async (host) => {
      if (answer === undefined) await (await host.get(Parent, "p")).plan();
      await host.advance(60_000);
    },
    inspect: async (host) => ({
      ticks: await (await host.get(Parent, "p")).ticks(),
      child: await (await host.get(Parent, "p")).childTicks(),
      alarm: host.alarm(Parent, "p")
    })
  });
  expect(result.differences).toEqual([]);
  expect(result.points).toBeGreaterThan(20);
});
