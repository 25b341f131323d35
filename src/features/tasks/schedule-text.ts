// The text of a schedule, read. Pure: text in, a rule or a problem out. Case and spaces do not matter.
import { err, ok, type Result } from "../../util/result.ts";

export type ScheduleRule =
  | { readonly kind: "interval"; readonly everyMs: number; readonly text: string }
  | {
      readonly kind: "wall-clock";
      readonly hour: number;
      readonly minute: number;
      /** Days of the week it may run on, 0 for Sunday; undefined: every day. */
      readonly days: readonly number[] | undefined;
      /** As it stands in the text. */
      readonly timezone: string | undefined;
      /** Without the timezone. */
      readonly text: string;
    };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Longest interval: a year. */
const MAX_INTERVAL_MS = 366 * 24 * HOUR_MS;

const INTERVAL = /^every ([1-9]\d*) (minute|minutes|hour|hours)(?: in (.+))?$/;
const WALL_CLOCK = /^every (day|weekday|week on (.+?)) at (\S+)(?: in (\S+))?$/;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/;
const WEEKDAYS: readonly number[] = [1, 2, 3, 4, 5];
const DAYS: readonly string[] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

export function readSchedule(schedule: unknown): Result<ScheduleRule> {
  if (typeof schedule !== "string") return err(`Unsupported schedule DSL: ${JSON.stringify(schedule) ?? "undefined"}`);
  const text = schedule.trim().replace(/\s+/g, " ").toLowerCase();
  const interval = INTERVAL.exec(text);
  if (interval) return readInterval(text, interval);
  const wallClock = WALL_CLOCK.exec(text);
  return wallClock ? readWallClock(wallClock) : err(`Unsupported schedule DSL: "${schedule.slice(0, 100)}"`);
}

function readInterval(text: string, [, count = "", unit = "", timezone]: RegExpExecArray): Result<ScheduleRule> {
  if (timezone !== undefined) return err("Interval schedules cannot specify a timezone");
  const number = Number(count);
  const isPlural = unit.endsWith("s");
  if (number === 1 && isPlural) return err(`"${text}" needs the singular: "every 1 ${unit.slice(0, -1)}"`);
  if (number !== 1 && !isPlural) return err(`"${text}" needs the plural: "every ${count} ${unit}s"`);
  const everyMs = number * (unit.startsWith("hour") ? HOUR_MS : MINUTE_MS);
  if (everyMs > MAX_INTERVAL_MS) return err(`Unsupported schedule DSL: "${text}" is longer than a year`);
  return ok({ kind: "interval", everyMs, text });
}

function readWallClock([, which = "", list, time = "", timezone]: RegExpExecArray): Result<ScheduleRule> {
  const clock = TIME.exec(time);
  if (!clock) return err(`Invalid schedule time "${time}"`);
  const days = list === undefined ? ok(which === "weekday" ? WEEKDAYS : undefined) : readDays(list);
  if (!days.ok) return days;
  const named = list === undefined ? which : `week on ${(days.value ?? []).map((day) => DAYS[day]).join(",")}`;
  const text = `every ${named} at ${time}`;
  return ok({ kind: "wall-clock", hour: Number(clock[1]), minute: Number(clock[2]), days: days.value, timezone, text });
}

function readDays(list: string): Result<readonly number[]> {
  const days: number[] = [];
  for (const name of list.split(",").map((part) => part.trim())) {
    const day = DAYS.findIndex((full) => full === name || full.slice(0, 3) === name);
    if (day < 0) return err(`Invalid schedule day "${name}"`);
    if (days.includes(day)) return err(`Duplicate schedule day "${name}"`);
    days.push(day);
  }
  return ok(days);
}

/** The name as the platform writes it; undefined for one that it does not have. */
export function canonicalTimezone(timezone: string): string | undefined {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: timezone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
