import { ThinkError } from "../../util/errors.ts";

/** A task cannot be scheduled as it is declared. */
export class ScheduledTaskError extends ThinkError {
  constructor(taskId: string, problem: string) {
    super({
      code: "scheduled-task-invalid",
      message: `The scheduled task "${taskId}" is not usable: ${problem}.`,
      hint: "Other tasks are scheduled, and this one keeps the schedule it had. The forms are in docs/scheduled-tasks.md."
    });
  }
}

export class ScheduledTaskUnknownError extends ThinkError {
  constructor(taskId: string) {
    super({
      code: "scheduled-task-unknown",
      message: `There is no scheduled task "${taskId}".`,
      hint: "getScheduledTasks() did not return it, or it is not usable as it is declared."
    });
  }
}

/** What a one-shot of ours holds was changed by other code. */
export class OccurrenceUnreadableError extends ThinkError {
  constructor() {
    super({
      code: "scheduled-task-occurrence",
      message: "An occurrence of a scheduled task cannot be read.",
      hint: "internal_runScheduledTask is called by the agent's own schedules only."
    });
  }
}
