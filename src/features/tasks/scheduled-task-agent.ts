// What a class gets for recurring tasks: declarations only. What they do is in src/schedules.
import { assertCallerMayChange } from "../../agent/connections/readonly.ts";
import type { ThinkScheduledTaskInfo, ThinkScheduledTasks } from "./task.ts";
import { thinkRuntimeOf } from "../../think/runtime.ts";
import { SubmissionAgent } from "../submissions/submission-agent.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

export abstract class ScheduledTaskAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends SubmissionAgent<Env, State, Props> {
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
    assertCallerMayChange(this);
    await thinkRuntimeOf(this).parts.deferred.tasks.reconcile();
  }

  /** The same as `reconcileScheduledTasks()`. */
  internal_reconcileScheduledTasks(): Promise<void> {
    return this.reconcileScheduledTasks();
  }

  /** The tasks that are scheduled: when each runs next, and what came of its last occurrence. */
  listScheduledTasks(): Promise<ThinkScheduledTaskInfo[]> {
    return thinkRuntimeOf(this).parts.deferred.tasks.list();
  }

  /** Runs a task now, beside its schedule. Throws what the task throws; a prompt is only submitted. */
  async runScheduledTask(taskId: string): Promise<ThinkScheduledTaskInfo> {
    assertCallerMayChange(this);
    return thinkRuntimeOf(this).parts.deferred.tasks.runNow(taskId);
  }

  /** Called by the agent's own schedules. */
  async internal_runScheduledTask(occurrence: unknown): Promise<void> {
    await thinkRuntimeOf(this).parts.deferred.tasks.run(occurrence);
  }
}
