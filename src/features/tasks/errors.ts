import { errorTable, ThinkError } from "../../util/errors.ts";

export const taskErrors = errorTable(ThinkError, {
  /** A task cannot be scheduled as it is declared. */
  ScheduledTaskError: (taskId: string, problem: string) => ({
    code: "scheduled-task-invalid",
    message: `The scheduled task "${taskId}" is not usable: ${problem}.`,
    hint: "Other tasks are scheduled, and this one keeps the schedule it had. The forms are in docs/scheduled-tasks.md."
  }),
  ScheduledTaskUnknownError: (taskId: string) => ({
    code: "scheduled-task-unknown",
    message: `There is no scheduled task "${taskId}".`,
    hint: "getScheduledTasks() did not return it, or it is not usable as it is declared."
  }),
  /** What a one-shot of ours holds was changed by other code. */
  OccurrenceUnreadableError: () => ({
    code: "scheduled-task-occurrence",
    message: "An occurrence of a scheduled task cannot be read.",
    hint: "internal_runScheduledTask is called by the agent's own schedules only."
  })
});
