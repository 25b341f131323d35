// Every schedule that can be written, every one that cannot, and what is said about it.
import { describe, expect, test } from "vitest";
import { readDeclarations } from "./declaration.ts";

function problemOf(task: object, { id = "task", zone }: { id?: string; zone?: unknown } = {}): string | undefined {
  return readDeclarations({ [id]: { prompt: "Do it.", ...task } }, zone).problems.get(id);
}

function ruleOf(schedule: string, zone?: string) {
  return readDeclarations({ task: { schedule, prompt: "Do it." } }, zone).tasks.get("task")?.rule;
}

describe("schedules that cannot be used", () => {
  const London = "Europe/London";
  test.each<[object, string, { id?: string; zone?: unknown }?]>([
    [{ schedule: "every 0 minutes" }, "Unsupported schedule DSL"],
    [{ schedule: "every 05 minutes" }, "Unsupported schedule DSL"],
    [{ schedule: "every month on 1 at 09:00" }, "Unsupported schedule DSL", { zone: London }],
    [{ schedule: "0 9 * * *" }, "Unsupported schedule DSL"],
    [{ schedule: 5 }, "Unsupported schedule DSL"],
    [{}, "Unsupported schedule DSL"],
    [{ schedule: "every day at 25:00" }, "Invalid schedule time", { zone: London }],
    [{ schedule: "every day at 9:00" }, "Invalid schedule time", { zone: London }],
    [{ schedule: "every day at 09:60" }, "Invalid schedule time", { zone: London }],
    [{ schedule: "every 1 minutes" }, "singular"],
    [{ schedule: "every 1 hours" }, "singular"],
    [{ schedule: "every 5 minute" }, "plural"],
    [{ schedule: "every 5 minutes in Europe/London" }, "Interval schedules cannot specify a timezone"],
    [{ schedule: "every 5 minutes", timezone: London }, "Interval schedules cannot specify a timezone"],
    [{ schedule: "every day at 09:00" }, "requires a timezone"],
    [{ schedule: "every day at 09:00 in Mars/Base" }, "Invalid timezone"],
    [{ schedule: "every day at 09:00", timezone: "Mars/Base" }, "Invalid timezone"],
    [{ schedule: "every day at 09:00" }, "Invalid timezone", { zone: "Mars/Base" }],
    [{ schedule: "every day at 09:00 in Europe/London", timezone: "Europe/Paris" }, "does not match"],
    [{ schedule: "every week on moonday at 09:00" }, "Invalid schedule day", { zone: London }],
    [{ schedule: "every week on mon,monday at 09:00" }, "Duplicate schedule day", { zone: London }],
    [{ schedule: "every 5 minutes", handler: () => undefined }, "exactly one of prompt or handler"],
    [{ schedule: "every 5 minutes", prompt: undefined }, "exactly one of prompt or handler"],
    [{ schedule: "every 5 minutes" }, "Invalid scheduled task id", { id: "a b" }],
    [{ schedule: "every 5 minutes", retry: { maxAttempts: 0 } }, "maxAttempts"],
    [{ schedule: "every 5 minutes", retry: { baseDelayMs: 500, maxDelayMs: 100 } }, "baseDelayMs"],
    [{ schedule: "every 5 minutes", metadata: [1] }, "metadata"],
    [{ schedule: "every 5 minutes", overlap: "maybe" }, "overlap"],
    [{ schedule: "every 9000 hours" }, "longer than a year"]
  ])("%j: %s", (task, problem, options) => {
    expect(problemOf(task, options)).toContain(problem);
  });

  test("one of three leaves the others alone", () => {
    const { tasks, problems } = readDeclarations(
      {
        a: { schedule: "every 5 minutes", prompt: "A" },
        b: { schedule: "now and then", prompt: "B" },
        c: { schedule: "every 1 hour", handler: () => undefined }
      },
      undefined
    );
    expect([[...tasks.keys()], [...problems.keys()]]).toEqual([["a", "c"], ["b"]]);
  });
});

test.each([
  ["  Every  5\tMINUTES ", { kind: "interval", everyMs: 300_000, text: "every 5 minutes" }],
  ["every 1 hour", { kind: "interval", everyMs: 3_600_000, text: "every 1 hour" }],
  [
    "every day at 08:00 in europe/london",
    { timezone: "Europe/London", text: "every day at 08:00", hour: 8, minute: 0 }
  ],
  ["every weekday at 23:59", { timezone: "America/New_York", days: [1, 2, 3, 4, 5] }],
  [
    "every week on Mon, wednesday ,sun at 00:00",
    { days: [1, 3, 0], text: "every week on monday,wednesday,sunday at 00:00" }
  ]
])("%s is read", (schedule, rule) => {
  expect(ruleOf(schedule, "America/New_York")).toMatchObject(rule);
});

test("the schedule's own timezone comes before the task's, and that before the class's", () => {
  const zoneOf = (task: object) => {
    const rule = readDeclarations({ task: { prompt: "x", ...task } }, "Asia/Tokyo").tasks.get("task")?.rule;
    return rule?.kind === "wall-clock" ? rule.timezone : undefined;
  };
  expect(zoneOf({ schedule: "every day at 09:00 in Europe/Paris", timezone: "europe/paris" })).toBe("Europe/Paris");
  expect(zoneOf({ schedule: "every day at 09:00", timezone: "Europe/Paris" })).toBe("Europe/Paris");
  expect(zoneOf({ schedule: "every day at 09:00" })).toBe("Asia/Tokyo");
});

test("retry and metadata do not change which schedule it is; the timezone does", () => {
  const hashesOf = (task: object, zone?: string) => {
    const read = readDeclarations({ task: { schedule: "every day at 09:00", prompt: "x", ...task } }, zone).tasks.get(
      "task"
    );
    return [read?.scheduleHash, read?.taskHash];
  };
  const [schedule, task] = hashesOf({}, "Europe/London");
  expect(hashesOf({ retry: { maxAttempts: 7 } }, "Europe/London")).toEqual([schedule, task]);
  expect(hashesOf({ metadata: { a: 1 } }, "Europe/London")[0]).toBe(schedule);
  expect(hashesOf({ metadata: { a: 1 } }, "Europe/London")[1]).not.toBe(task);
  expect(hashesOf({}, "Europe/Paris")[0]).not.toBe(schedule);
});
