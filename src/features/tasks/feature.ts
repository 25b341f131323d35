// Recurring tasks as a feature of an agent: one-shots of the agent's schedules, made anew when it starts.
import { runtimeOf } from "../../agent/runtime.ts";
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { schedules } from "../schedules/capability.ts";
import { submissions } from "../submissions/capability.ts";
import type { ScheduledTaskMembers } from "./capability.ts";
import { ScheduledTasks } from "./scheduled-tasks.ts";
import { TASK_TABLES } from "./task-table.ts";

/** The method that one-shots call. */
const CALLBACK = "internal_runScheduledTask";

export interface ScheduledTasksFeature extends Feature {
  readonly tasks: ScheduledTasks;
}

export function openScheduledTasks(services: ChatServices): ScheduledTasksFeature {
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
