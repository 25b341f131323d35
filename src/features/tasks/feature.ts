// Recurring tasks as a part of every agent. A class that declares none, and never did, has no table and no call for them.
import type { AgentRuntime } from "../../agent/runtime.ts";
import { ScheduledTasks, type ScheduledTasksInit } from "./scheduled-tasks.ts";
import { TASK_TABLES } from "./task-table.ts";
import type { Submissions } from "../submissions/submissions.ts";
import type { Feature } from "../../feature/feature.ts";
import type { OnStartDegradation, OptionalHook, ThinkOverrides } from "../../think/overrides.ts";

/** The method that one-shots call. */
const CALLBACK = "internal_runScheduledTask";

export interface ScheduledTasksSetup {
  readonly agent: AgentRuntime;
  readonly overrides: Pick<ThinkOverrides, "getScheduledTasks" | "getDefaultTimezone">;
  readonly submissions: Submissions;
  readonly submit: ScheduledTasksInit["submit"];
}

export function openScheduledTasks({ agent, overrides, submissions, submit }: ScheduledTasksSetup): ScheduledTasks {
  const { sql, clock, ids, schedules, identity } = agent;
  return new ScheduledTasks({
    sql,
    clock,
    ids,
    path: () => identity.selfPath,
    read: async () => ({ tasks: await overrides.getScheduledTasks(), timezone: await overrides.getDefaultTimezone() }),
    // A failure of the task is handled by the task; the one-shot is only run again after a crash.
    arm: (at, payload) => schedules.schedule(at, CALLBACK, payload, { idempotent: true, retry: { maxAttempts: 1 } }),
    cancel: (scheduleId) => schedules.cancel(scheduleId),
    isArmed: async (scheduleId) => (await schedules.get(scheduleId)) !== undefined,
    submit,
    isOpen: (submissionId) => {
      const status = submissions.inspect(submissionId)?.status;
      return status === "pending" || status === "running";
    },
    onError: async (error) => agent.agent.onError(error),
    emit: (type, payload) => agent.emit(type, payload)
  });
}

export interface ScheduledTasksFeatureInit {
  readonly tasks: ScheduledTasks;
  readonly isOverridden: (hook: OptionalHook) => boolean;
  readonly inAgent: <T>(work: () => Promise<T>) => Promise<T>;
  readonly background: (work: Promise<unknown>) => void;
  readonly degrade: (step: OnStartDegradation["step"], error: unknown) => void;
}

export function scheduledTasksFeature(init: ScheduledTasksFeatureInit): Feature {
  const { tasks, isOverridden, inAgent, background, degrade } = init;
  return {
    name: "scheduled-tasks",
    tables: TASK_TABLES,
    ready() {
      if (!isOverridden("getScheduledTasks") && !tasks.hasRows) return;
      const reconciled = inAgent(() => tasks.reconcile());
      background(reconciled.catch((error: unknown) => degrade("scheduled-task-reconcile", error)));
    }
  };
}
