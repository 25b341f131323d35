// Recurring tasks of a class: each has one durable one-shot for its next occurrence, made anew after every run. Guarantees
// that an occurrence is started under one key, that a failure or a late wake never stops the ones after it, and that a task
// that cannot be used leaves the others alone. When a one-shot runs is the agent's schedules' business.
import { createHash } from "node:crypto";
import type { UIMessage } from "ai";
import { runDurably } from "../../agent/context.ts";
import { DurableWork } from "../../agent/durable-work.ts";
import { isInterruption, isWorthRetrying, runAttempts } from "../../agent/retry.ts";
import type { Services } from "../../feature/services.ts";
import { backoffMs } from "../../util/backoff.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import { readDeclarations, type Declarations, type DeclaredTask } from "./declaration.ts";
import { taskErrors } from "./errors.ts";
import { firstTaskTime, nextTaskTime } from "./occurrence.ts";
import type { ThinkScheduledTaskContext, ThinkScheduledTaskInfo } from "./task.ts";
import { TaskTable, type OccurrenceResult, type TaskRow } from "./task-table.ts";

/** Before declarations that could not be read are asked for again. */
const REREAD_BACKOFF = { baseMs: 30_000, maxMs: 60 * 60_000 };

/** What a one-shot of a task holds. */
interface Occurrence {
  readonly taskId: string;
  readonly scheduleHash: string;
  readonly scheduledFor: number;
  /** How often its declaration could not be read. */
  readonly failures: number;
}

export interface ScheduledTasksInit extends Pick<Services, "sql" | "clock" | "ids" | "emit"> {
  /** Class and name of the agent and its ancestors, from the root down. */
  readonly path: () => unknown;
  /** What the class declares. */
  readonly read: () => Promise<{ readonly tasks: unknown; readonly timezone: unknown }>;
  /** One-shots: make one (the same again for the same payload), cancel one, ask whether it is still there. */
  readonly arm: (at: Date, payload: object) => Promise<{ readonly id: string }>;
  readonly cancel: (scheduleId: string) => Promise<unknown>;
  readonly isArmed: (scheduleId: string) => Promise<boolean>;
  readonly submit: (
    messages: UIMessage[],
    options: { idempotencyKey: string; metadata: Record<string, unknown>; channel?: string }
  ) => Promise<{ readonly submissionId: string }>;
  /** Whether a submission is not over yet. */
  readonly isOpen: (submissionId: string) => boolean;
  readonly onError: (error: unknown) => Promise<unknown>;
}

export class ScheduledTasks {
  readonly #init: ScheduledTasksInit;
  readonly #table: TaskTable;
  /** One at a time: two that overlap would each make a one-shot. */
  #reconciling: Promise<unknown> = Promise.resolve();

  constructor(init: ScheduledTasksInit) {
    this.#init = init;
    this.#table = new TaskTable(init.sql);
  }

  /** Tasks of an earlier version of the class are stored. */
  get hasRows(): boolean {
    return !this.#table.isEmpty;
  }

  /**
   * Makes the schedules what the class declares. A task that cannot be used keeps what it had; all such tasks are named in
   * what is thrown, after the others are done.
   */
  reconcile(): Promise<void> {
    const next = this.#reconciling.then(() => this.#reconcile());
    this.#reconciling = next.catch(() => undefined);
    return next;
  }

  /** In the order of their ids. */
  async list(): Promise<ThinkScheduledTaskInfo[]> {
    const { tasks } = await this.#declarations();
    return this.#table.all().flatMap((row) => {
      const task = tasks.get(row.task_id);
      return task ? [infoOf(task, row)] : [];
    });
  }

  /** An occurrence of its own, now; the schedule stays as it is. Throws what the task throws. */
  async runNow(taskId: string): Promise<ThinkScheduledTaskInfo> {
    const task = (await this.#declarations()).tasks.get(taskId);
    if (!task || !this.#table.get(taskId)) throw taskErrors.ScheduledTaskUnknownError(taskId);
    const now = this.#init.clock.now();
    try {
      this.#table.ran(taskId, await this.#act(task, now));
    } catch (error) {
      this.#table.ran(taskId, resultOf(now, { last_outcome: "failed", last_error: errorMessage(error) }));
      throw error;
    }
    const row = this.#table.get(taskId);
    if (!row) throw taskErrors.ScheduledTaskUnknownError(taskId);
    return infoOf(task, row);
  }

  /** A one-shot is due. Ends normally however the task ends: what failed is reported, and the next one is scheduled. */
  async run(payload: unknown): Promise<void> {
    const occurrence = readOccurrence(payload);
    const { taskId, scheduleHash, scheduledFor } = occurrence;
    if (!isCurrent(this.#table.get(taskId), occurrence)) return;
    let declared: Declarations;
    try {
      declared = await this.#declarations();
      const problem = declared.problems.get(taskId);
      if (problem !== undefined) throw taskErrors.ScheduledTaskError(taskId, problem);
    } catch (error) {
      return this.#again(occurrence, error);
    }
    const task = declared.tasks.get(taskId);
    if (task?.scheduleHash !== scheduleHash) {
      // It is gone, or has another schedule: that is what holds from now on.
      await this.reconcile().catch((error: unknown) => this.#report(error));
      return;
    }
    await this.#runTask(task, scheduledFor);
  }

  async #runTask(task: DeclaredTask, scheduledFor: number): Promise<void> {
    const { taskId } = task;
    let result: OccurrenceResult;
    try {
      result = await this.#act(task, scheduledFor);
    } catch (error) {
      // The process is going: the one-shot stays and is run again, under the same keys.
      if (isInterruption(error)) throw error;
      await this.#report(error);
      result = resultOf(this.#init.clock.now(), { last_outcome: "failed", last_error: errorMessage(error) });
    }
    // It may have been reconciled meanwhile: then its next one-shot is made already.
    const row = this.#table.get(taskId);
    if (!row || !isCurrent(row, { scheduleHash: task.scheduleHash, scheduledFor })) return;
    this.#table.ran(taskId, result);
    await this.#armAt(task, nextTaskTime(task.rule, scheduledFor, this.#init.clock.now()));
  }

  async #act(task: DeclaredTask, scheduledFor: number): Promise<OccurrenceResult> {
    const { clock, ids } = this.#init;
    const context = this.#contextOf(task, scheduledFor);
    const { maxLatenessMs = Number.POSITIVE_INFINITY, retry } = task;
    if (context.lateByMs > maxLatenessMs) return resultOf(clock.now(), { last_outcome: "skipped" });
    const act = () => (task.action.kind === "prompt" ? this.#submit(task, context) : this.#handle(task, context));
    // What it starts is found again by the next attempt.
    const attempt = () => runDurably({ work: new DurableWork(`task:${context.occurrenceKey}`) }, act);
    return runAttempts(attempt, { ...retry, clock, ids, shouldRetry: isWorthRetrying });
  }

  async #handle({ action }: DeclaredTask, context: ThinkScheduledTaskContext): Promise<OccurrenceResult> {
    if (action.kind === "handler") await action.handler(context);
    return resultOf(this.#init.clock.now(), { last_outcome: "handled" });
  }

  async #submit(task: DeclaredTask, context: ThinkScheduledTaskContext): Promise<OccurrenceResult> {
    const { action, taskId, metadata, channel } = task;
    const { scheduledFor, schedule, idempotencyKey, occurrenceKey } = context;
    const last = this.#table.get(taskId)?.last_submission_id ?? null;
    const { clock, submit, isOpen } = this.#init;
    if (task.skipsOverlap && last !== null && isOpen(last)) return resultOf(clock.now(), { last_outcome: "skipped" });
    const prompt = action.kind === "prompt" ? action.prompt : "";
    const text = typeof prompt === "function" ? await prompt() : prompt;
    const origin = { source: "scheduled-task", ownerKey: this.#ownerKey(), taskId, scheduledFor, schedule };
    const { submissionId } = await submit(
      [{ id: `task-${occurrenceKey}`, role: "user", parts: [{ type: "text", text }] }],
      { idempotencyKey, metadata: { ...metadata, ...origin }, channel }
    );
    return resultOf(clock.now(), { last_outcome: "submitted", last_submission_id: submissionId });
  }

  #contextOf({ taskId, rule, metadata }: DeclaredTask, scheduledFor: number): ThinkScheduledTaskContext {
    const occurrenceKey = `${taskId}:${scheduledFor}`;
    return {
      taskId,
      scheduledFor,
      scheduledForDate: new Date(scheduledFor),
      lateByMs: Math.max(0, this.#init.clock.now() - scheduledFor),
      occurrenceKey,
      idempotencyKey: `think-schedule:${this.#ownerKey()}:${occurrenceKey}`,
      schedule: rule.text,
      scheduleKind: rule.kind,
      timezone: rule.kind === "wall-clock" ? rule.timezone : undefined,
      metadata
    };
  }

  /** Tells agents apart that have tasks of the same name. */
  #ownerKey(): string {
    return createHash("sha256").update(JSON.stringify(this.#init.path())).digest("base64url").slice(0, 22);
  }

  // ── Reconciling ──

  async #declarations(): Promise<Declarations> {
    const { tasks, timezone } = await this.#init.read();
    return readDeclarations(tasks, timezone);
  }

  async #reconcile(): Promise<void> {
    const { tasks, problems } = await this.#declarations();
    for (const row of this.#table.all()) {
      if (!tasks.has(row.task_id) && !problems.has(row.task_id)) await this.#drop(row);
    }
    for (const task of tasks.values()) await this.#reconcileTask(task);
    for (const [taskId, error] of problems) this.#init.emit("schedule:task_invalid", { taskId, error });
    const [first] = problems;
    if (first) throw taskErrors.ScheduledTaskError(...first);
  }

  async #reconcileTask(task: DeclaredTask): Promise<void> {
    const { taskId, scheduleHash, taskHash } = task;
    const row = this.#table.get(taskId);
    if (row?.schedule_hash !== scheduleHash) {
      if (row?.schedule_id) await this.#init.cancel(row.schedule_id);
      const at = firstTaskTime(task.rule, this.#init.clock.now());
      // The row first: an interrupted start finds it, and makes the one-shot that is missing.
      this.#table.put(task, at);
      return this.#armAt(task, at);
    }
    if (row.task_hash !== taskHash) this.#table.noteTask(taskId, taskHash);
    if (row.schedule_id !== null && (await this.#init.isArmed(row.schedule_id))) return;
    await this.#armAt(task, row.next_run_at ?? firstTaskTime(task.rule, this.#init.clock.now()));
  }

  async #drop({ task_id, schedule_id }: TaskRow): Promise<void> {
    if (schedule_id !== null) await this.#init.cancel(schedule_id);
    this.#table.remove(task_id);
  }

  async #armAt({ taskId, scheduleHash }: Pick<DeclaredTask, "taskId" | "scheduleHash">, atMs: number): Promise<void> {
    const occurrence: Occurrence = { taskId, scheduleHash, scheduledFor: atMs, failures: 0 };
    const { id } = await this.#init.arm(new Date(atMs), occurrence);
    this.#table.armed(taskId, id, atMs);
  }

  /** The declarations could not be read: the same occurrence, a while later. */
  async #again(occurrence: Occurrence, error: unknown): Promise<void> {
    const { taskId, scheduledFor, failures } = occurrence;
    console.error(`The scheduled task "${taskId}" could not be read; it is tried again.`, error);
    const at = this.#init.clock.now() + backoffMs(failures, REREAD_BACKOFF);
    const { id } = await this.#init.arm(new Date(at), { ...occurrence, failures: failures + 1 });
    this.#table.armed(taskId, id, scheduledFor);
  }

  async #report(error: unknown): Promise<void> {
    try {
      await this.#init.onError(error);
    } catch {
      // The default hook throws what it was given, after it has logged it.
    }
  }
}

/** Stale and repeated deliveries are not: the row has gone on. */
function isCurrent(
  row: TaskRow | undefined,
  { scheduleHash, scheduledFor }: Pick<Occurrence, "scheduleHash" | "scheduledFor">
): boolean {
  return row?.schedule_hash === scheduleHash && (row.next_run_at ?? 0) <= scheduledFor;
}

/** Throws OccurrenceUnreadableError. */
function readOccurrence(payload: unknown): Occurrence {
  if (!isObject(payload)) throw taskErrors.OccurrenceUnreadableError();
  const { taskId, scheduleHash, scheduledFor, failures = 0 } = payload;
  if (typeof taskId !== "string" || typeof scheduleHash !== "string") throw taskErrors.OccurrenceUnreadableError();
  if (typeof scheduledFor !== "number" || typeof failures !== "number") throw taskErrors.OccurrenceUnreadableError();
  return { taskId, scheduleHash, scheduledFor, failures };
}

function resultOf(nowMs: number, result: Partial<OccurrenceResult>): OccurrenceResult {
  return { last_run_at: nowMs, last_outcome: null, last_submission_id: null, last_error: null, ...result };
}

function infoOf({ rule }: DeclaredTask, row: TaskRow): ThinkScheduledTaskInfo {
  return {
    taskId: row.task_id,
    schedule: rule.text,
    scheduleKind: rule.kind,
    timezone: rule.kind === "wall-clock" ? rule.timezone : undefined,
    nextRunAt: row.next_run_at ?? undefined,
    lastRunAt: row.last_run_at ?? undefined,
    lastOutcome: row.last_outcome ?? undefined,
    lastSubmissionId: row.last_submission_id ?? undefined,
    lastError: row.last_error ?? undefined
  };
}
