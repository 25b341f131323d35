// What a class declares, checked task by task: one that cannot be used is a problem of its own and leaves the others alone.
import { createHash } from "node:crypto";
import { validateRetry, type ResolvedRetry } from "../../agent/retry.ts";
import { errorMessage } from "../../util/errors.ts";
import { canonicalJson, isObject, isPlainJson } from "../../util/json.ts";
import { err, ok, type Result } from "../../util/result.ts";
import type { ZonedRule } from "./occurrence.ts";
import { canonicalTimezone, readSchedule, type ScheduleRule } from "./schedule-text.ts";
import type { ThinkScheduledTask, ThinkScheduledTaskContext } from "./task.ts";

const RETRY: ResolvedRetry = { maxAttempts: 3, baseDelayMs: 100, maxDelayMs: 3_000 };

/** A task that can be scheduled. */
export interface DeclaredTask {
  readonly taskId: string;
  readonly rule: ZonedRule;
  readonly action:
    | { readonly kind: "prompt"; readonly prompt: string | (() => string | Promise<string>) }
    | { readonly kind: "handler"; readonly handler: (context: ThinkScheduledTaskContext) => void | Promise<void> };
  readonly retry: ResolvedRetry;
  readonly metadata: Record<string, unknown> | undefined;
  readonly maxLatenessMs: number | undefined;
  readonly channel: string | undefined;
  readonly skipsOverlap: boolean;
  /** Equal for the same schedule in the same timezone. */
  readonly scheduleHash: string;
  /** Equal for the same prompt and metadata, too. */
  readonly taskHash: string;
}

export interface Declarations {
  readonly tasks: ReadonlyMap<string, DeclaredTask>;
  /** Why the others cannot be used. */
  readonly problems: ReadonlyMap<string, string>;
}

export function readDeclarations(declared: unknown, defaultTimezone: unknown): Declarations {
  if (!isObject(declared)) throw new TypeError("getScheduledTasks() must return an object of tasks.");
  const tasks = new Map<string, DeclaredTask>();
  const problems = new Map<string, string>();
  for (const [taskId, task] of Object.entries(declared)) {
    const read = readTask(taskId, task, defaultTimezone);
    if (read.ok) tasks.set(taskId, read.value);
    else problems.set(taskId, read.error);
  }
  return { tasks, problems };
}

function readTask(taskId: string, given: unknown, defaultTimezone: unknown): Result<DeclaredTask> {
  if (!/^[A-Za-z0-9_-]+$/.test(taskId)) return err(`Invalid scheduled task id "${taskId.slice(0, 100)}"`);
  if (!isObject(given)) return err("it is not an object");
  // Only what its type says is looked at, and each of it is checked here: objects may be built at run time.
  const task = given as Partial<ThinkScheduledTask>;
  const rule = readSchedule(task.schedule);
  if (!rule.ok) return rule;
  const zoned = inZone(rule.value, task.timezone, defaultTimezone);
  if (!zoned.ok) return zoned;
  const action = readAction(task);
  if (!action.ok) return action;
  const settings = readSettings(task);
  if (!settings.ok) return settings;
  const scheduleHash = hashOf([zoned.value.text, zoned.value.kind === "interval" ? null : zoned.value.timezone]);
  const prompt = action.value.kind === "prompt" && typeof action.value.prompt === "string" ? action.value.prompt : null;
  const taskHash = hashOf([scheduleHash, action.value.kind, prompt, settings.value.metadata ?? null]);
  return ok({ taskId, rule: zoned.value, action: action.value, ...settings.value, scheduleHash, taskHash });
}

function inZone(rule: ScheduleRule, given: unknown, defaultTimezone: unknown): Result<ZonedRule> {
  if (rule.kind === "interval") {
    return given === undefined ? ok(rule) : err("Interval schedules cannot specify a timezone");
  }
  const inline = rule.timezone === undefined ? undefined : canonicalTimezone(rule.timezone);
  if (rule.timezone !== undefined && inline === undefined) return err(`Invalid timezone "${rule.timezone}"`);
  const own = typeof given === "string" ? canonicalTimezone(given) : undefined;
  if (given !== undefined && own === undefined) return err(`Invalid timezone ${JSON.stringify(given)}`);
  if (inline !== undefined && own !== undefined && inline !== own) {
    return err(`its timezone ${own} does not match that of its schedule, ${inline}`);
  }
  const found = inline ?? own;
  if (found !== undefined) return ok({ ...rule, timezone: found });
  if (defaultTimezone === undefined) return err(`"${rule.text}" requires a timezone`);
  const fallback = typeof defaultTimezone === "string" ? canonicalTimezone(defaultTimezone) : undefined;
  return fallback === undefined
    ? err(`Invalid timezone ${JSON.stringify(defaultTimezone)} (getDefaultTimezone)`)
    : ok({ ...rule, timezone: fallback });
}

function readAction({ prompt, handler }: Partial<ThinkScheduledTask>): Result<DeclaredTask["action"]> {
  if ((prompt === undefined) === (handler === undefined)) return err("it needs exactly one of prompt or handler");
  if (handler !== undefined) {
    return typeof handler === "function" ? ok({ kind: "handler", handler }) : err("its handler is not a function");
  }
  const isPrompt = (typeof prompt === "string" && prompt.trim() !== "") || typeof prompt === "function";
  return isPrompt && prompt !== undefined
    ? ok({ kind: "prompt", prompt })
    : err("its prompt is neither a text nor a function");
}

type Settings = Pick<DeclaredTask, "retry" | "metadata" | "maxLatenessMs" | "channel" | "skipsOverlap">;

function readSettings(task: Partial<ThinkScheduledTask>): Result<Settings> {
  const { metadata, maxLatenessMs, retry } = task;
  const { channel, overlap } = task as { channel?: unknown; overlap?: unknown };
  if (metadata !== undefined && !(isObject(metadata) && isPlainJson(metadata))) {
    return err("its metadata is not a plain object");
  }
  if (maxLatenessMs !== undefined && !(maxLatenessMs >= 0))
    return err("its maxLatenessMs is not a number of milliseconds");
  if (channel !== undefined && typeof channel !== "string") return err("its channel is not a text");
  if (overlap !== undefined && overlap !== "allow" && overlap !== "skip")
    return err('its overlap is not "allow" or "skip"');
  try {
    const resolved = validateRetry(retry, RETRY);
    return ok({ retry: resolved, metadata, maxLatenessMs, channel, skipsOverlap: overlap === "skip" });
  } catch (error) {
    return err(errorMessage(error));
  }
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("base64url").slice(0, 22);
}
