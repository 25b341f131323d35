// The recurring tasks that a person can switch on for a conversation. They are declared from what was switched on, so a
// conversation wakes up only where a person has asked for it.
import type { ThinkScheduledTaskInfo, ThinkScheduledTasks, ThinkTime } from "everthink";
import type { DemoTask } from "../shared/demo.ts";

interface TaskOffer {
  readonly taskId: string;
  readonly title: string;
  readonly when: string;
  readonly prompt: string;
  /** Undefined: every minute, so that it can be watched. */
  readonly time?: ThinkTime;
}

const OFFERS: readonly TaskOffer[] = [
  { taskId: "countdown", title: "Countdown", when: "Every minute", prompt: "How long is it until New Year?" },
  { taskId: "digest", title: "Notes", when: "Every day at 08:30", prompt: "List my notes.", time: "08:30" }
];

/** Kept with `configure`: what is on, and where the person is. */
export interface TaskSettings {
  readonly on: readonly string[];
  readonly timezone: string;
}

export const NO_TASKS: TaskSettings = { on: [], timezone: "UTC" };

export function scheduledTasks({ on, timezone }: TaskSettings): ThinkScheduledTasks {
  const chosen = OFFERS.filter(({ taskId }) => on.includes(taskId));
  return Object.fromEntries(
    chosen.map(({ taskId, prompt, time }): [string, ThinkScheduledTasks[string]] => [
      taskId,
      time === undefined
        ? { schedule: "every 1 minute", prompt, overlap: "skip" }
        : { schedule: `every day at ${time}`, timezone, prompt, overlap: "skip" }
    ])
  );
}

/** As the page shows them. */
export function shownTasks({ on }: TaskSettings, scheduled: readonly ThinkScheduledTaskInfo[]): DemoTask[] {
  return OFFERS.map(({ taskId, title, when }) => {
    const { nextRunAt, lastRunAt, lastOutcome } = scheduled.find((task) => task.taskId === taskId) ?? {};
    return {
      taskId,
      title,
      when,
      isOn: on.includes(taskId),
      ...(nextRunAt !== undefined && { nextRunAt }),
      ...(lastRunAt !== undefined && { lastRunAt }),
      ...(lastOutcome !== undefined && { lastOutcome })
    };
  });
}

export function promptOf(taskId: string): string {
  const offer = OFFERS.find((one) => one.taskId === taskId);
  if (!offer) throw new Error("There is no such task.");
  return offer.prompt;
}

/** What a page sends is untrusted. */
export function changedSettings(
  settings: TaskSettings,
  change: { taskId: string; isOn: boolean; timezone: string }
): TaskSettings {
  promptOf(change.taskId);
  const others = settings.on.filter((taskId) => taskId !== change.taskId);
  return { on: change.isOn ? [...others, change.taskId] : others, timezone: knownTimezone(change.timezone) };
}

function knownTimezone(name: unknown): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: String(name) }).resolvedOptions().timeZone;
  } catch {
    return "UTC";
  }
}
