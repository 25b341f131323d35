// Recurring tasks as a capability: override points and public names. Its feature makes one-shots of the agent's schedules, anew
// when the agent starts.
import { runtimeOf } from "../../agent/runtime.ts";
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { schedules } from "../schedules/capability.ts";
import { ScheduledTasks } from "./scheduled-tasks.ts";
import { TASK_TABLES } from "./task-table.ts";
import type { ThinkScheduledTaskInfo, ThinkScheduledTasks } from "./task.ts";
import { chatCapability } from "../../feature/capability.ts";
import { submissions } from "../submissions/capability.ts";
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

  /**
   * For schedules by the clock that name no timezone, as an IANA name.
   * @example
   * getDefaultTimezone() {
   *   return "Europe/London";
   * }
   */
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
  requires: [schedules, submissions],
  members: ScheduledTaskMembers,
  feature: openScheduledTasks
});

/** The method that one-shots call. */
const CALLBACK = "internal_runScheduledTask";

export interface ScheduledTasksFeature extends Feature {
  readonly tasks: ScheduledTasks;
}

function openScheduledTasks(services: ChatServices): ScheduledTasksFeature {
  const { sql, clock, ids, isOverridden } = services;
  const runtime = runtimeOf(services.agent);
  // Only agents with these members open it.
  const agent = services.agent as ScheduledTaskMembers;
  const { kept, accept } = submissions.of(agent);
  const timers = schedules.of(agent);
  const tasks = new ScheduledTasks({
    sql,
    clock,
    ids,
    path: () => runtime.identity.selfPath,
    read: async () => ({ tasks: await agent.getScheduledTasks(), timezone: await agent.getDefaultTimezone() }),
    // A failure of the task is handled by the task; the one-shot is only run again after a crash.
    arm: (at, payload) => timers.schedule(at, CALLBACK, payload, { idempotent: true, retry: { maxAttempts: 1 } }),
    cancel: (scheduleId) => timers.cancel(scheduleId),
    isArmed: async (scheduleId) => timers.get(scheduleId) !== undefined,
    submit: accept,
    isOpen: (submissionId) => {
      const status = kept.inspect(submissionId)?.status;
      return status === "pending" || status === "running";
    },
    onError: async (error) => runtime.agent.onError(error),
    emit: (type, payload) => services.emit(type, payload)
  });
  return {
    name: "scheduled-tasks",
    tasks,
    tables: TASK_TABLES,
    ready() {
      if (!isOverridden("getScheduledTasks") && !tasks.hasRows) return;
      // Short, and done again by the next start: it needs no wake of its own.
      const reconciled = runtime.runAs({}, () => tasks.reconcile());
      services.background(reconciled.catch((error: unknown) => services.degrade("scheduled-task-reconcile", error)));
    }
  };
}
