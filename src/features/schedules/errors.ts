// What `schedule` and its relatives refuse, and why.
import { errorTable, ThinkError } from "../../util/errors.ts";

export const scheduleErrors = errorTable(ThinkError, {
  /** `when` is not a time that can ever come. */
  InvalidScheduleError: (message: string) => ({
    code: "invalid-schedule",
    message,
    hint: "Give a number of seconds, a valid Date, or a cron expression; for intervals a positive number of seconds."
  }),
  ScheduleLimitError: (limit: number) => ({
    code: "too-many-schedules",
    message: `This agent already has ${limit} schedules.`,
    hint: "Rows usually pile up because schedule() is called on every start: pass { idempotent: true }, use a cron expression, or cancel what is no longer needed."
  }),
  /** The row was started again and again and never came back, or was interrupted each time. */
  ScheduleGivenUpError: (callback: string, starts: number) => ({
    code: "schedule-given-up",
    message: `"${callback}" was started ${starts} times without ever finishing and was given up.`,
    hint: "Each start ended with the process or with a platform error. Look for a crash, memory use, or a dependency that is down."
  })
});
