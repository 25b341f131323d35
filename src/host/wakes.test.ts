import { expect, test } from "vitest";
import { Wakes } from "./wakes.ts";

const NO_ROLLBACK = { rollbacks: 0 };

/** Wakes whose only source is due at `due`, with what was armed. */
function wakes({ due, held = null }: { due: number | null; held?: number | null }) {
  const armed: (number | null)[] = [];
  let asked = 0;
  const subject = new Wakes({
    sql: NO_ROLLBACK,
    now: () => 1_000,
    arm: async (at) => void armed.push(at),
    firingConsumes: true
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
  { held: 9_000, due: 8_000, maxDelayMs: 1_000, armed: [] },
  { held: 9_000, due: 8_000, maxDelayMs: 999, armed: [8_000] },
  { held: 9_000, due: 8_000, maxDelayMs: 0, armed: [8_000] },
  { held: 7_000, due: 8_000, maxDelayMs: 1_000, armed: [8_000] },
  { held: null, due: 8_000, maxDelayMs: 1_000, armed: [8_000] },
  { held: 9_000, due: null, maxDelayMs: 1_000, armed: [null] }
])("an alarm at $held found at the start, with work due at $due: $armed is set", async (row) => {
  const armed: (number | null)[] = [];
  const arm = async (at: number | null) => void armed.push(at);
  const { maxDelayMs } = row;
  const subject = new Wakes({ sql: NO_ROLLBACK, now: () => 1_000, arm, firingConsumes: true, maxDelayMs });
  subject.add(() => row.due);
  subject.adopt(row.held);
  await subject.rearm();
  expect(armed).toEqual(row.armed);
});
