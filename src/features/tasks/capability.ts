// Recurring tasks as a capability: override points and public names.
import type { ThinkScheduledTaskInfo, ThinkScheduledTasks } from "./task.ts";
import { chatCapability } from "../../feature/capability.ts";
import { submissions } from "../submissions/capability.ts";
import { openScheduledTasks } from "./feature.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

export class ScheduledTaskMembers {
  static readonly changes = ["reconcileScheduledTasks", "runScheduledTask"] satisfies (keyof ScheduledTaskMembers)[];

  /**
   * Prompts and handlers that run again and again, by id. Read when the agent starts and when a task is due; call
   * `reconcileScheduledTasks()` when what it returns has changed.
   *
   * @example
   * getScheduledTasks(): ThinkScheduledTasks {
   *   return { digest: { schedule: "every day at 09:00 in Europe/London", prompt: "Write the daily digest." } };
   * }
   */
  getScheduledTasks(): MaybePromise<ThinkScheduledTasks> {
    return {};
  }

  /** For schedules by the clock that name no timezone, as an IANA name. */
  getDefaultTimezone(): MaybePromise<string | undefined> {
    return undefined;
  }

  /** Makes the schedules what `getScheduledTasks()` says now. Throws, after the others are done, if a task is not usable. */
  async reconcileScheduledTasks(): Promise<void> {
    await scheduledTasks.of(this).tasks.reconcile();
  }

  /** The same as `reconcileScheduledTasks()`. */
  internal_reconcileScheduledTasks(): Promise<void> {
    return this.reconcileScheduledTasks();
  }

  /** The tasks that are scheduled: when each runs next, and what came of its last occurrence. */
  listScheduledTasks(): Promise<ThinkScheduledTaskInfo[]> {
    return scheduledTasks.of(this).tasks.list();
  }

  /** Runs a task now, beside its schedule. Throws what the task throws; a prompt is only submitted. */
  async runScheduledTask(taskId: string): Promise<ThinkScheduledTaskInfo> {
    return scheduledTasks.of(this).tasks.runNow(taskId);
  }

  /** Called by the agent's own schedules. */
  async internal_runScheduledTask(occurrence: unknown): Promise<void> {
    await scheduledTasks.of(this).tasks.run(occurrence);
  }
}

/** A class that declares none, and never did, has no table and no call for them. */
export const scheduledTasks = chatCapability({
  name: "scheduled-tasks",
  requires: [submissions],
  members: ScheduledTaskMembers,
  feature: openScheduledTasks
});
