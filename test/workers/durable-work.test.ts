import {
  abortAllDurableObjects,
  evictAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm
} from "cloudflare:test";
import { beforeEach, expect, test } from "vitest";
import { getAgentByName } from "../../src/agent-class/index.ts";
import type { Clerk } from "./clerk.ts";
import { alarmOf, connect, env, errorOf, plain, rawStub, setAlarmOf, sqlOf, uniqueName } from "./world.ts";

const HEARTBEAT_MS = 30_000;

// What an earlier test left running must not hold up this one's evictions.
beforeEach(() => abortAllDurableObjects());

const openClerk = () => getAgentByName(env.Clerk, uniqueName("clerk"));
type ClerkStub = DurableObjectStub<Clerk>;

/** Makes every schedule due, as if its time had come. */
const makeDue = (clerk: ClerkStub) =>
  sqlOf<Clerk>(
    clerk,
    "UPDATE cf_work SET due_at = 1, payload = json_set(payload, '$.time', 1) WHERE kind = 'schedule'"
  );
const tables = ["cf_fibers", "cf_work"];
const rowCounts = (clerk: ClerkStub) =>
  Promise.all(tables.map(async (table) => (await sqlOf<Clerk>(clerk, `SELECT COUNT(*) AS n FROM ${table}`))[0]?.["n"]));

test("an agent that has nothing to do has no alarm, from its first start on", async () => {
  const clerk = await openClerk();
  expect(await clerk.entries()).toEqual(["start"]);
  expect(await alarmOf(clerk)).toBeNull();
  expect(await runDurableObjectAlarm(clerk)).toBe(false);
});

test("a schedule fires on the platform's own alarm and leaves neither row nor alarm", async () => {
  const clerk = await openClerk();
  await clerk.book(0.05, "record", { n: 1 });
  await clerk.seen('record:{"n":1}:delayed');
  await expect.poll(() => rowCounts(clerk)).toEqual([0, 0]);
  await expect.poll(() => alarmOf(clerk)).toBeNull();
});

test("a schedule fires after its agent was evicted, by the alarm alone", async () => {
  const clerk = await openClerk();
  await clerk.book(0.3, "record", "later");
  await evictDurableObject(clerk);
  // Reading the table starts nothing: only the alarm can run the row.
  await expect.poll(() => rowCounts(clerk), { timeout: 4_000 }).toEqual([0, 0]);
  expect(await clerk.entries()).toEqual(["start", "start", 'record:"later":delayed']);
});

test("the alarm is the earliest schedule, moves when it is cancelled, and goes with the last one", async () => {
  const clerk = await openClerk();
  const [early, late] = [new Date(Date.now() + 3_600_000), new Date(Date.now() + 7_200_000)];
  const earlyId = await clerk.book(early, "record", "early");
  const lateId = await clerk.book(late, "record", "late");
  expect(await alarmOf(clerk)).toBe(early.getTime());
  expect(await clerk.cancelSchedule(earlyId)).toBe(true);
  expect(await alarmOf(clerk)).toBe(late.getTime());
  expect(await clerk.cancelSchedule(lateId)).toBe(true);
  expect(await clerk.cancelSchedule(lateId)).toBe(false);
  expect(await alarmOf(clerk)).toBeNull();
});

test("an alarm that was lost is armed again by the next start", async () => {
  const clerk = await openClerk();
  const when = new Date(Date.now() + 3_600_000);
  await clerk.book(when, "record");
  await setAlarmOf(clerk, null);
  await evictDurableObject(clerk);
  await clerk.entries();
  expect(await alarmOf(clerk)).toBe(when.getTime());
});

test("ten idempotent requests and cron expressions leave one row each", async () => {
  const clerk = await openClerk();
  for (let n = 0; n < 10; n++) await clerk.book(3_600, "record", "same", { idempotent: true });
  for (let n = 0; n < 10; n++) await clerk.book("0 0 1 1 *", "record", "same");
  for (let n = 0; n < 10; n++) await clerk.bookEvery(3_600, "record", "same");
  await clerk.bookEvery(7_200, "record", "same");
  expect(await rowCounts(clerk)).toEqual([0, 4]);
});

test("a late cron runs once and its next time is in the future", async () => {
  const clerk = await openClerk();
  await clerk.book("*/5 * * * *", "record", "tick");
  await makeDue(clerk);
  expect(await runDurableObjectAlarm(clerk)).toBe(true);
  expect((await clerk.entries()).filter((entry) => entry === 'record:"tick":cron')).toHaveLength(1);
  const next = (await alarmOf(clerk)) ?? 0;
  expect(next).toBeGreaterThan(Date.now());
  expect(next % 300_000).toBe(0);
});

test("an interval comes back one interval after its run", async () => {
  const clerk = await openClerk();
  await clerk.bookEvery(600, "record", "tick");
  await makeDue(clerk);
  const before = Date.now();
  expect(await runDurableObjectAlarm(clerk)).toBe(true);
  expect(await alarmOf(clerk)).toBeGreaterThanOrEqual(before + 600_000);
});

test("an interval that a crash left running is held back until it counts as hung", async () => {
  const clerk = await openClerk();
  const { name } = clerk;
  await clerk.bookEvery(600, "gated", "slow");
  await makeDue(clerk);
  const cut = runDurableObjectAlarm(clerk).catch(() => undefined);
  await clerk.seen("gated:slow");
  await abortAllDurableObjects();
  await cut;
  const again = rawStub(env.Clerk, String(name));
  expect(await again.entries()).toEqual(["start", "gated:slow", "start"]);
  const at = (await alarmOf(again)) ?? 0;
  expect(at).toBeGreaterThan(Date.now());
  expect(at).toBeLessThanOrEqual(Date.now() + HEARTBEAT_MS);
});

test("a one-shot that a crash cut off runs again", async () => {
  const clerk = await openClerk();
  const { name } = clerk;
  await clerk.book(3_600, "gated", "once");
  await makeDue(clerk);
  const cut = runDurableObjectAlarm(clerk).catch(() => undefined);
  await clerk.seen("gated:once");
  await abortAllDurableObjects();
  await cut;
  const again = rawStub(env.Clerk, String(name));
  // The restart arms what the crash left; that alarm may fire by itself.
  await again.open("once");
  await again.seen("through:once");
  await expect.poll(() => rowCounts(again)).toEqual([0, 0]);
});

test("a one-shot that fails because of a deploy keeps its row and rejects the alarm after one attempt", async () => {
  const clerk = await openClerk();
  await clerk.book(3_600, "superseded");
  await clerk.book(3_600, "record", "neighbour");
  await makeDue(clerk);
  const error = await errorOf(() => runDurableObjectAlarm(clerk));
  expect(error).toContain("its code was updated");
  const entries = await clerk.entries();
  expect(entries.filter((entry) => entry === "superseded")).toHaveLength(1);
  expect(entries).toContain('record:"neighbour":delayed');
  expect(await rowCounts(clerk)).toEqual([0, 1]);
  expect(await alarmOf(clerk)).toBeGreaterThan(Date.now());
});

test("a one-shot that fails by itself uses its attempts, reaches onError and is gone", async () => {
  const clerk = await openClerk();
  await clerk.book(3_600, "failing", "x");
  await makeDue(clerk);
  expect(await runDurableObjectAlarm(clerk)).toBe(true);
  expect(await clerk.entries()).toEqual(["start", 'failing:"x"', 'failing:"x"', "error:callback failed"]);
  expect(await rowCounts(clerk)).toEqual([0, 0]);
  expect(await alarmOf(clerk)).toBeNull();
});

test("queued items run in order, one after the other, and leave neither row nor alarm", async () => {
  const clerk = await openClerk();
  for (const item of ["a", "b", "c"]) await clerk.enqueue("record", item);
  await clerk.seen('record:"c":item');
  expect(await clerk.entries()).toEqual(["start", 'record:"a":item', 'record:"b":item', 'record:"c":item']);
  await expect.poll(() => rowCounts(clerk)).toEqual([0, 0]);
  await expect.poll(() => alarmOf(clerk)).toBeNull();
});

test("a queued item that keeps failing holds up no other item and is kept as a dead letter", async () => {
  const clerk = await openClerk();
  await clerk.enqueue("failing", "bad");
  await clerk.enqueue("record", "good");
  await clerk.seen('record:"good":item');
  await clerk.seen("error:callback failed");
  const dead = await sqlOf(clerk, "SELECT payload, error FROM cf_work WHERE settled_at IS NOT NULL");
  expect(dead).toEqual([{ payload: '{"payload":"bad"}', error: "callback failed" }]);
  await expect.poll(() => alarmOf(clerk)).toBeNull();
});

test("items in the queue at a crash are worked off by the alarm without a new call", async () => {
  const clerk = await openClerk();
  const { name } = clerk;
  await clerk.enqueue("gated", "first");
  await clerk.enqueue("gated", "second");
  await clerk.enqueue("record", "other lane");
  await clerk.seen("gated:first");
  const at = (await alarmOf(clerk)) ?? 0;
  expect(at).toBeLessThanOrEqual(Date.now() + HEARTBEAT_MS);
  await abortAllDurableObjects();
  const again = rawStub(env.Clerk, String(name));
  expect(await runDurableObjectAlarm(again)).toBe(true);
  await again.open("first");
  await again.open("second");
  await again.seen("through:second");
  await expect.poll(() => rowCounts(again)).toEqual([0, 0]);
});

test("while a keep-alive is held the alarm is at most 30 s away; the last release restores the schedule's time or none", async () => {
  const clerk = await openClerk();
  await Promise.all([clerk.hold(), clerk.hold()]);
  expect(await alarmOf(clerk)).toBeLessThanOrEqual(Date.now() + HEARTBEAT_MS);
  await clerk.letGo();
  expect(await alarmOf(clerk)).not.toBeNull();
  const when = new Date(Date.now() + 3_600_000);
  const id = await clerk.book(when, "record");
  expect(await alarmOf(clerk)).toBeLessThanOrEqual(Date.now() + HEARTBEAT_MS);
  await clerk.letGo();
  expect(await alarmOf(clerk)).toBe(when.getTime());
  await clerk.cancelSchedule(id);
  expect(await alarmOf(clerk)).toBeNull();
});

test("a heartbeat that finds its agent gone arms no other", async () => {
  const clerk = await openClerk();
  const { name } = clerk;
  await clerk.hold();
  await abortAllDurableObjects();
  const again = rawStub(env.Clerk, String(name));
  expect(await runDurableObjectAlarm(again)).toBe(true);
  expect(await alarmOf(again)).toBeNull();
});

test("a child's keep-alive is the root's alarm, and is gone with its release", async () => {
  const clerk = await openClerk();
  await clerk.below(["a"], "hold");
  expect(await alarmOf(clerk)).toBeLessThanOrEqual(Date.now() + HEARTBEAT_MS);
  await clerk.below(["a"], "letGo");
  await expect.poll(() => alarmOf(clerk)).toBeNull();
  expect(await rowCounts(clerk)).toEqual([0, 0]);
});

test("a fiber that ends leaves neither row nor alarm, and its value reaches the caller", async () => {
  const clerk = await openClerk();
  const running = clerk.runGated("calm");
  await clerk.seen("gated:calm");
  expect(await sqlOf(clerk, "SELECT name, snapshot FROM cf_fibers")).toEqual([
    { name: "calm", snapshot: '{"step":2}' }
  ]);
  expect(await alarmOf(clerk)).toBeLessThanOrEqual(Date.now() + HEARTBEAT_MS);
  await clerk.open("calm");
  expect(await running).toBe("fiber done");
  expect(await rowCounts(clerk)).toEqual([0, 0]);
  await expect.poll(() => alarmOf(clerk)).toBeNull();
});

test("a fiber that was cut off is recovered by the alarm alone, with its last stash", async () => {
  const name = uniqueName("clerk");
  const cut = errorOf(() => rawStub(env.Clerk, name).runGated("torn"));
  await rawStub(env.Clerk, name).seen("gated:torn");
  await abortAllDurableObjects();
  await cut;
  const again = rawStub(env.Clerk, name);
  const armed = (await alarmOf(again)) ?? 0;
  expect(armed).toBeGreaterThan(0);
  expect(armed).toBeLessThanOrEqual(Date.now() + HEARTBEAT_MS);
  expect(await runDurableObjectAlarm(again)).toBe(true);
  expect(await sqlOf(again, "SELECT entry FROM log")).toContainEqual({ entry: 'recovered:torn:{"step":2}' });
  await expect.poll(() => rowCounts(again)).toEqual([0, 0]);
  await expect.poll(() => alarmOf(again)).toBeNull();
});

test("an eviction waits for a fiber or leaves it to recovery; it is never lost", async () => {
  const name = uniqueName("clerk");
  const clerk = rawStub(env.Clerk, name);
  const { fiberId } = await plain(clerk.startGated("background"));
  await clerk.seen("gated:background");
  await clerk.open("background");
  await evictAllDurableObjects();
  const again = rawStub(env.Clerk, name);
  expect(await plain(again.inspected(fiberId))).toMatchObject({ status: "completed" });
});

test("a managed fiber that was cut off is interrupted, and the hook's answer is stored", async () => {
  const name = uniqueName("clerk");
  const { fiberId, accepted } = await plain(rawStub(env.Clerk, name).startGated("managed", "key"));
  expect(accepted).toBe(true);
  await rawStub(env.Clerk, name).seen("gated:managed");
  await abortAllDurableObjects();
  const again = rawStub(env.Clerk, name);
  expect(await runDurableObjectAlarm(again)).toBe(true);
  await again.seen('recovered:managed:{"step":"managed"}');
  await expect
    .poll(() => plain(again.inspected(fiberId)))
    .toEqual({ status: "completed", snapshot: '"after all"', error: undefined });
  expect(await plain(again.startGated("managed", "key"))).toMatchObject({ fiberId, accepted: false });
  await expect.poll(() => alarmOf(again)).toBeNull();
});

test("a managed fiber whose hook throws ends in error and is not asked again; an unmanaged one is, later", async () => {
  const name = uniqueName("clerk");
  const { fiberId } = await plain(rawStub(env.Clerk, name).startGated("poison-managed"));
  const cut = errorOf(() => rawStub(env.Clerk, name).runGated("poison-plain"));
  await rawStub(env.Clerk, name).seen("gated:poison-plain");
  await rawStub(env.Clerk, name).seen("gated:poison-managed");
  await abortAllDurableObjects();
  await cut;
  const again = rawStub(env.Clerk, name);
  expect(await runDurableObjectAlarm(again)).toBe(true);
  expect(await plain(again.inspected(fiberId))).toMatchObject({ status: "error", error: "cannot recover" });
  expect(await sqlOf(again, "SELECT name FROM cf_fibers WHERE id IN (SELECT key FROM cf_work)")).toEqual([
    { name: "poison-plain" }
  ]);
  const retry = (await alarmOf(again)) ?? 0;
  expect(retry).toBeGreaterThan(Date.now());
  expect(retry).toBeLessThanOrEqual(Date.now() + HEARTBEAT_MS);
});

test("a restart by a client's message recovers fibers too", async () => {
  const name = uniqueName("clerk");
  const cut = errorOf(() => rawStub(env.Clerk, name).runGated("torn"));
  await rawStub(env.Clerk, name).seen("gated:torn");
  await abortAllDurableObjects();
  await cut;
  const socket = await connect(`/agents/clerk/${name}`);
  await socket.next("cf_agent_identity");
  await rawStub(env.Clerk, name).seen('recovered:torn:{"step":2}');
});
