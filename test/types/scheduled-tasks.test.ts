// What the types of scheduled tasks refuse before anything runs, and what they must accept. Must compile as it stands.
import { expect, expectTypeOf, test } from "vitest";
import {
  defineScheduledTasks,
  Think,
  type SubmitMessagesResult,
  type ThinkScheduledTask,
  type ThinkScheduledTasks,
  type ThinkTime,
  type TurnResult
} from "../../src/index.ts";

test("literal schedules are checked", () => {
  const tasks = defineScheduledTasks({
    interval: { schedule: "every 5 minutes", prompt: "x" },
    // A default timezone may exist.
    day: { schedule: "every day at 09:00", prompt: async () => "x" },
    inline: { schedule: "every weekday at 23:59 in Europe/London", handler: ({ scheduledFor }) => void scheduledFor },
    week: { schedule: "every week on monday,wed at 00:00", timezone: "Asia/Tokyo", prompt: "x", overlap: "skip" }
  });
  expectTypeOf(tasks).toMatchTypeOf<ThinkScheduledTasks>();
  expect(Object.keys(tasks)).toEqual(["interval", "day", "inline", "week"]);

  // @ts-expect-error there is no such time
  defineScheduledTasks({ a: { schedule: "every day at 25:00", prompt: "x" } });
  // @ts-expect-error minutes have two digits below 60
  defineScheduledTasks({ a: { schedule: "every week on monday at 09:60", prompt: "x" } });
  // @ts-expect-error an interval has no timezone
  defineScheduledTasks({ a: { schedule: "every 5 minutes", timezone: "Europe/London", prompt: "x" } });
  // @ts-expect-error one of the two
  defineScheduledTasks({ a: { schedule: "every 5 minutes", prompt: "x", handler: () => undefined } });
  // @ts-expect-error one of the two
  defineScheduledTasks({ a: { schedule: "every 5 minutes" } });
  // @ts-expect-error not a form of a schedule
  const cron: ThinkScheduledTask = { schedule: "0 9 * * *", prompt: "x" };
  expect(cron.prompt).toBe("x");
  const time: ThinkTime = "00:00";
  // @ts-expect-error hours end at 23
  const late: ThinkTime = "24:00";
  expect([time, late]).toHaveLength(2);
});

test("an annotated method has the same checks, and the mode of runTurn says what it returns", () => {
  abstract class Planner extends Think {
    override getDefaultTimezone() {
      return "Europe/London";
    }
    override getScheduledTasks(): ThinkScheduledTasks {
      return {
        weekly: { schedule: "every week on monday at 09:00", prompt: "x" },
        digest: {
          schedule: "every day at 09:00",
          timezone: "America/New_York",
          metadata: { workflowName: "customer-digest" },
          retry: { maxAttempts: 3 },
          handler: async ({ idempotencyKey, scheduledFor, scheduleKind, timezone }) => {
            expectTypeOf(idempotencyKey).toBeString();
            expectTypeOf(scheduledFor).toBeNumber();
            expectTypeOf(scheduleKind).toEqualTypeOf<"interval" | "wall-clock">();
            expectTypeOf(timezone).toEqualTypeOf<string | undefined>();
          }
        }
      };
    }
    submit() {
      expectTypeOf(this.runTurn({ mode: "submit", input: "x" })).toEqualTypeOf<Promise<SubmitMessagesResult>>();
      expectTypeOf(this.runTurn({ input: "x" })).toEqualTypeOf<Promise<TurnResult>>();
    }
  }
  expect(Planner.name).toBe("Planner");
});
