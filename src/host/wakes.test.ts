import { expect, test } from "vitest";
import { ProcessAlarms } from "./process-alarms.ts";
import { openAlarm, Wakes } from "./wakes.ts";

const NO_ROLLBACK = { rollbacks: 0 };

/** Wakes whose only source is due at `due`, with what was armed. */
function wakes({ due, held = null }: { due: number | null; held?: number | null }) {
  const armed: (number | null)[] = [];
  let asked = 0;
  const subject = new Wakes({
    sql: NO_ROLLBACK,
    now: () => 1_000,
    arm: async (at) => void armed.push(at),
    firingConsumes: true,
    atWorkMs: 30_000
  });
  subject.add(() => {
    asked += 1;
    return due;
  });
  subject.adopt(held);
  return { subject, armed, asked: () => asked };
}

test.each([
  { held: null, by: 5_000, armed: [5_000] },
  { held: 9_000, by: 5_000, armed: [5_000] },
  { held: 4_000, by: 5_000, armed: [] },
  { held: 5_000, by: 5_000, armed: [] }
])("a wake at $held is enough for $by, or is moved there: $armed, and no source is asked", async (row) => {
  const { subject, armed, asked } = wakes({ due: null, held: row.held });
  await subject.armBy(row.by);
  expect([armed, asked()]).toEqual([row.armed, 0]);
});

test("a wake that was armed early is moved to where it belongs", async () => {
  const { subject, armed } = wakes({ due: 8_000, held: 8_000 });
  await subject.armBy(5_000);
  await subject.rearm();
  expect(armed).toEqual([5_000, 8_000]);
});

test("where it is not known what is armed, the sources are asked: theirs may be earlier", async () => {
  const armed: (number | null)[] = [];
  const subject = new Wakes({
    sql: NO_ROLLBACK,
    now: () => 1_000,
    arm: async (at) => void armed.push(at),
    firingConsumes: false
  });
  subject.add(() => 3_000);
  subject.fired();
  await subject.armBy(5_000);
  expect(armed).toEqual([3_000]);
});

test("while a wake runs, only what is soon is armed, and it is not moved away: a process that dies in it is woken again soon", async () => {
  const armed: (number | null)[] = [];
  let due: number | null = 900_000;
  const arm = async (at: number | null) => void armed.push(at);
  const subject = new Wakes({ sql: NO_ROLLBACK, now: () => 1_000, arm, firingConsumes: true, atWorkMs: 30_000 });
  const rearmFor = async (at: number | null) => {
    due = at;
    await subject.rearm();
  };
  subject.add(() => due);
  subject.fired();
  for (const at of [900_000, null, 31_000, 900_000, null, 5_000, 31_000]) await rearmFor(at);
  expect(armed).toEqual([31_000, 5_000]);
  subject.ended();
  await rearmFor(900_000);
  expect(armed).toEqual([31_000, 5_000, 900_000]);
});

test("a wake that starts the object arms what the start has found, also if it is late", async () => {
  const { subject, armed } = wakes({ due: 900_000 });
  subject.fired();
  subject.adopt(null);
  await subject.rearm();
  expect(armed).toEqual([900_000]);
});

test("a wake that armed nothing is left to the platform, which repeats it", async () => {
  const { subject, armed } = wakes({ due: null });
  subject.fired();
  await subject.rearm();
  subject.ended();
  await subject.rearm();
  expect(armed).toEqual([]);
});

test("a wake that could not be armed is asked for again", async () => {
  let fails = true;
  const armed: (number | null)[] = [];
  const arm = async (at: number | null) => {
    if (fails) throw new Error("no disk");
    armed.push(at);
  };
  const subject = new Wakes({ sql: NO_ROLLBACK, now: () => 1_000, arm, firingConsumes: true });
  subject.adopt(null);
  await expect(subject.armBy(5_000)).rejects.toThrow("no disk");
  fails = false;
  await subject.armBy(5_000);
  expect(armed).toEqual([5_000]);
});

test.each([
  { held: 9_000, due: 8_000, knownDelayMs: 1_000, armed: [] },
  { held: 9_000, due: 8_000, knownDelayMs: 999, armed: [8_000] },
  { held: 9_000, due: 8_000, knownDelayMs: 0, armed: [8_000] },
  { held: 7_000, due: 8_000, knownDelayMs: 1_000, armed: [8_000] },
  { held: null, due: 8_000, knownDelayMs: 1_000, armed: [8_000] },
  { held: 9_000, due: null, knownDelayMs: 1_000, armed: [null] }
])("an alarm at $held found at the start, with work due at $due: $armed is set", async (row) => {
  const armed: (number | null)[] = [];
  const arm = async (at: number | null) => void armed.push(at);
  const { knownDelayMs } = row;
  const subject = new Wakes({ sql: NO_ROLLBACK, now: () => 1_000, arm, firingConsumes: true, knownDelayMs });
  subject.add(() => row.due);
  subject.adopt(row.held);
  await subject.rearm();
  expect(armed).toEqual(row.armed);
});

/** The platform's alarm of one object, and the port over it in a process whose next `full` seconds are taken. */
function alarmAt(held: number | null, full: number) {
  const platform = { at: held };
  const storage = {
    getAlarm: async () => platform.at,
    setAlarm: async (at: number | Date) => void (platform.at = Number(at)),
    deleteAlarm: async () => void (platform.at = null)
  };
  const alarms = new ProcessAlarms({ perSecond: 1, atOnce: 1 });
  for (let taken = 0; taken < full; taken += 1) alarms.take(1_000, 1_000);
  const failed = (error: unknown) => expect.unreachable(String(error));
  const alarm = openAlarm(storage, { failed, shared: { alarms, now: () => 1_000 } });
  return { alarm, platform };
}

test.each([
  { held: 9_000_000, full: 0, set: 1_000, why: "there is space before it" },
  { held: 9_000_000, full: 100, set: 101_000, why: "there is space before it, later than asked for" },
  { held: 50_000, full: 100, set: 50_000, why: "the next space is behind it" },
  { held: 500, full: 100, set: 101_000, why: "it is earlier than asked for" },
  { held: null, full: 100, set: 101_000, why: "there is none" }
])("an alarm found at $held is set to $set, because $why", async ({ held, full, set }) => {
  const { alarm, platform } = alarmAt(held, full);
  await alarm.read();
  alarm.set(1_000);
  expect(platform.at).toBe(set);
});

test("an alarm that was changed after the start is no longer the one that was found", async () => {
  const { alarm, platform } = alarmAt(50_000, 100);
  await alarm.read();
  alarm.set(null);
  alarm.set(1_000);
  expect(platform.at).toBe(101_000);
});
