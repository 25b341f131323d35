// Many agents whose tasks are due at one time, in a process that says how many it can wake: `everthink serve` does.
import { beforeEach, expect, test } from "vitest";
import { Agent } from "../../src/agent-class/index.ts";
import { createTestHost, type TestHost } from "../../src/testing/index.ts";

const LIMITS = { perSecond: 5, atOnce: 8 };
const AGENTS = 40;

/** When each task ran. */
let ran: { name: string; at: number }[];
let host: TestHost<object>;
/** Tasks end when it does. */
let gate: Promise<void>;

class Reminder extends Agent {
  async plan(at: number): Promise<void> {
    await this.schedule(new Date(at), "remind");
  }

  async remind(): Promise<void> {
    ran.push({ name: this.name, at: host.now });
    await gate;
  }
}

/** Keeps its object alive for ever, as a connection to a provider does. */
class Holder extends Agent {
  async hold(): Promise<void> {
    await this.keepAlive();
  }
}

function open(limits: object | undefined): TestHost<object> {
  const env = limits && { EVERTHINK_ALARM_LIMITS: JSON.stringify(limits) };
  return createTestHost({ agents: { Reminder, Holder }, ...(env && { env }) });
}

async function planAll(at: number): Promise<void> {
  for (let index = 0; index < AGENTS; index += 1) await (await host.get(Reminder, `a${index}`)).plan(at);
}

const names = () => new Set(ran.map(({ name }) => name)).size;
const mostInASecond = () =>
  Math.max(...[...Map.groupBy(ran, ({ at }) => Math.floor(at / 1_000)).values()].map(({ length }) => length));

beforeEach(() => {
  ran = [];
  gate = Promise.resolve();
});

test("all run, so many a second, the first of them on time", async () => {
  host = open(LIMITS);
  const at = host.now + 60_000;
  await planAll(at);
  await host.evictAll();
  await host.advance(60_000);
  expect(ran[0]?.at).toBe(at);
  await host.advance(60_000);
  expect([names(), ran.length]).toEqual([AGENTS, AGENTS]);
  expect(mostInASecond()).toBeLessThanOrEqual(LIMITS.perSecond);
  expect(Math.max(...ran.map((one) => one.at)) - at).toBeLessThan((AGENTS / LIMITS.perSecond) * 1_000);
});

test("without limits they run at their time, as on a platform that can do that", async () => {
  host = open(undefined);
  const at = host.now + 60_000;
  await planAll(at);
  await host.advance(60_000);
  expect(ran.map((one) => one.at)).toEqual(Array.from({ length: AGENTS }, () => at));
});

test("an agent that is visited meanwhile keeps its place, and writes nothing for it", async () => {
  host = open(LIMITS);
  await planAll(host.now + 60_000);
  await host.evictAll();
  const last = `a${AGENTS - 1}`;
  const place = host.alarm(Reminder, last);
  const { writes } = host.counts;
  expect(await (await host.get(Reminder, last)).name).toBe(last);
  await host.idle();
  expect([host.alarm(Reminder, last), host.counts.writes - writes]).toEqual([place, 0]);
});

test("while too many work, no other is started; when they end, all run", async () => {
  const held = Promise.withResolvers<void>();
  gate = held.promise;
  host = open({ ...LIMITS, perSecond: 100 });
  await planAll(host.now + 60_000);
  await host.evictAll();
  await host.advance(90_000);
  expect(ran).toHaveLength(LIMITS.atOnce);
  held.resolve();
  await host.advance(60_000);
  expect([names(), ran.length]).toEqual([AGENTS, AGENTS]);
});

test("work that never ends delays the others, and does not stop them", async () => {
  gate = new Promise(() => undefined);
  host = open({ ...LIMITS, perSecond: 100 });
  await planAll(host.now + 60_000);
  await host.evictAll();
  await host.advance(40 * 60_000);
  expect(names()).toBe(AGENTS);
});

test("agents that are kept alive for hours do not delay the others, however often they are woken", async () => {
  host = open(LIMITS);
  for (const name of ["h0", "h1"]) await (await host.get(Holder, name)).hold();
  const at = host.now + 20 * 60_000;
  await planAll(at);
  for (let index = 0; index < AGENTS; index += 1) await host.evict(Reminder, `a${index}`);
  await host.advance(at - host.now + 30_000);
  expect(names()).toBe(AGENTS);
});

test("after a restart in the middle the rest runs, and what had run does not", async () => {
  host = open(LIMITS);
  await planAll(host.now + 60_000);
  await host.evictAll();
  await host.advance(63_500);
  const before = ran.length;
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(AGENTS);
  await host.restart();
  await host.advance(60_000);
  expect([names(), ran.length]).toEqual([AGENTS, AGENTS]);
});

test("a machine that slept over the time of all of them wakes them so many a second at most", async () => {
  host = open(LIMITS);
  await planAll(host.now + 60_000);
  await host.evictAll();
  host.kill();
  await host.advance(10 * 60_000);
  await host.restart();
  await host.advance(60_000);
  expect([names(), ran.length]).toEqual([AGENTS, AGENTS]);
  expect(mostInASecond()).toBeLessThanOrEqual(LIMITS.perSecond);
});
