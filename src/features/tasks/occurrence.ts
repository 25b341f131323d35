// When a task runs next. Pure. An interval keeps its phase, and what was missed is left out. A wall-clock time that a
// daylight-saving change leaves out is the first minute after the gap; one that occurs twice is the earlier, once.
import { Cron } from "croner";
import type { ScheduleRule } from "./schedule-text.ts";

type Interval = Extract<ScheduleRule, { kind: "interval" }>;
type WallClock = Extract<ScheduleRule, { kind: "wall-clock" }>;

/** A rule with the timezone it is read in. */
export type ZonedRule = Interval | (Omit<WallClock, "timezone"> & { readonly timezone: string });

/** The first occurrence after `nowMs` of a task that has not run yet, or whose schedule is new. */
export function firstTaskTime(rule: ZonedRule, nowMs: number): number {
  return rule.kind === "interval" ? nowMs + rule.everyMs : nextWallClock(rule, nowMs);
}

/** The first occurrence after `nowMs` of one that was meant to run at `previousMs`. */
export function nextTaskTime(rule: ZonedRule, previousMs: number, nowMs: number): number {
  if (rule.kind === "wall-clock") return nextWallClock(rule, nowMs);
  const steps = Math.floor(Math.max(0, nowMs - previousMs) / rule.everyMs) + 1;
  return previousMs + steps * rule.everyMs;
}

function nextWallClock(
  { hour, minute, days, timezone }: Extract<ZonedRule, { kind: "wall-clock" }>,
  nowMs: number
): number {
  // Without a function croner only computes.
  const cron = new Cron(`${minute} ${hour} * * ${days?.join(",") ?? "*"}`, { timezone, mode: "5-part" });
  const next = cron.nextRun(new Date(nowMs));
  // Every day of the week comes again.
  if (next === null) throw new RangeError(`No date has ${hour}:${minute} in ${timezone}.`);
  return next.getTime();
}
