// Cron expressions in UTC: five fields, or six with leading seconds, or a nickname such as "@hourly". Pure: an
// expression and a time in, the next time out. A wrong expression fails here, when it is given, not when it is due.
// As in every cron, a day matches by date or by weekday when both are restricted.
import { ThinkError } from "../../util/errors.ts";

/** Longest accepted expression: lists of every minute, hour and day still fit. */
const EXPRESSION_LIMIT = 500;
/** 29 February returns within eight years, across a century that is no leap year. */
const SEARCH_YEARS = 8;

const NICKNAMES = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"]
]);
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

interface FieldRange {
  name: string;
  min: number;
  max: number;
  /** Names stand for `min`, `min + 1`, … */
  names?: readonly string[];
}

const SECOND: FieldRange = { name: "second", min: 0, max: 59 };
const MINUTE: FieldRange = { name: "minute", min: 0, max: 59 };
const HOUR: FieldRange = { name: "hour", min: 0, max: 23 };
const DAY: FieldRange = { name: "day", min: 1, max: 31 };
const MONTH: FieldRange = { name: "month", min: 1, max: 12, names: MONTHS };
/** 7 is Sunday too. */
const WEEKDAY: FieldRange = { name: "weekday", min: 0, max: 7, names: WEEKDAYS };

interface Pattern {
  seconds: Set<number>;
  minutes: Set<number>;
  hours: Set<number>;
  months: Set<number>;
  matchesDay: (day: number, weekday: number) => boolean;
}

export class CronError extends ThinkError {
  constructor(expression: string, reason: string) {
    super({
      code: "invalid-cron",
      message: `"${expression.slice(0, 80)}" is not a usable cron expression: ${reason}.`,
      hint: 'Use "minute hour day month weekday", optionally with seconds in front, or a nickname such as "@daily". Times are UTC.'
    });
  }
}

/** The first occurrence strictly after `afterMs`, or null when there is none within eight years. Throws CronError. */
export function nextOccurrence(expression: string, afterMs: number): number | null {
  const pattern = parse(expression);
  const start = new Date(Math.floor(afterMs / 1000) * 1000 + 1000);
  const lastYear = start.getUTCFullYear() + SEARCH_YEARS;
  for (const day = startOfDay(start); day.getUTCFullYear() <= lastYear; day.setUTCDate(day.getUTCDate() + 1)) {
    if (!pattern.months.has(day.getUTCMonth() + 1)) {
      // To the last day of this month: the loop steps into the next.
      day.setUTCMonth(day.getUTCMonth() + 1, 0);
      continue;
    }
    if (!pattern.matchesDay(day.getUTCDate(), day.getUTCDay())) continue;
    const earliest = Math.max(0, (start.getTime() - day.getTime()) / 1000);
    const second = nextSecondOfDay(pattern, earliest);
    if (second !== null) return day.getTime() + second * 1000;
  }
  return null;
}

/** Like `nextOccurrence`, but an expression that never occurs (30 February) is refused. */
export function firstOccurrence(expression: string, afterMs: number): number {
  const first = nextOccurrence(expression, afterMs);
  if (first === null) throw new CronError(expression, "no date ever matches it");
  return first;
}

/** For expressions read back from storage, where throwing is not an answer. */
export function isCron(expression: string): boolean {
  try {
    parse(expression);
    return true;
  } catch (error) {
    if (error instanceof CronError) return false;
    throw error;
  }
}

function startOfDay(time: Date): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()));
}

/** The first matching second of a day from `earliest` on. */
function nextSecondOfDay({ hours, minutes, seconds }: Pattern, earliest: number): number | null {
  for (let hour = Math.floor(earliest / 3600); hour <= HOUR.max; hour++) {
    if (!hours.has(hour)) continue;
    for (const minute of minutes) {
      if (hour * 3600 + minute * 60 + 59 < earliest) continue;
      for (const second of seconds) {
        const at = hour * 3600 + minute * 60 + second;
        if (at >= earliest) return at;
      }
    }
  }
  return null;
}

function parse(expression: string): Pattern {
  const text = expression.trim();
  if (text.length > EXPRESSION_LIMIT) throw new CronError(text, `it is longer than ${EXPRESSION_LIMIT} characters`);
  const fields = (NICKNAMES.get(text.toLowerCase()) ?? text).split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) throw new CronError(text, "it must have five or six fields");
  const [second = "", minute = "", hour = "", day = "", month = "", weekday = ""] =
    fields.length === 6 ? fields : ["0", ...fields];
  const read = (field: string, range: FieldRange) => readField(field, range, text);
  const days = read(day, DAY);
  const weekdays = new Set([...read(weekday, WEEKDAY)].map((value) => value % 7));
  const anyDay = isAny(day);
  const anyWeekday = isAny(weekday);
  return {
    seconds: read(second, SECOND),
    minutes: read(minute, MINUTE),
    hours: read(hour, HOUR),
    months: read(month, MONTH),
    matchesDay(date, dayOfWeek) {
      if (anyDay || anyWeekday) return days.has(date) && weekdays.has(dayOfWeek);
      return days.has(date) || weekdays.has(dayOfWeek);
    }
  };
}

function isAny(field: string): boolean {
  return field === "*" || field === "?";
}

/** The values of one field, ascending. */
function readField(field: string, range: FieldRange, expression: string): Set<number> {
  const values = field.split(",").flatMap((part) => readPart(part, range, expression));
  return new Set(values.sort((a, b) => a - b));
}

function readPart(part: string, range: FieldRange, expression: string): number[] {
  const refuse = (reason: string): never => {
    throw new CronError(expression, `${range.name} ${reason}`);
  };
  const [span = "", stepText, ...rest] = part.split("/");
  if (rest.length > 0) refuse(`"${part}" has more than one step`);
  const step = stepText === undefined ? 1 : Number(stepText);
  if (stepText !== undefined && (!/^\d+$/.test(stepText) || step < 1)) refuse(`"${part}" has no usable step`);
  const [fromText = "", toText, ...more] = isAny(span) ? [String(range.min), String(range.max)] : span.split("-");
  if (more.length > 0) refuse(`"${part}" is not a range`);
  const from = readValue(fromText, range) ?? refuse(`"${part}" is not from ${range.min} to ${range.max}`);
  // A lone start with a step runs to the end of the field, as in "5/10".
  const lone = stepText === undefined ? from : range.max;
  const to = toText === undefined ? lone : (readValue(toText, range) ?? refuse(`"${part}" is not a range`));
  if (to < from) refuse(`"${part}" runs backwards`);
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}

function readValue(text: string, range: FieldRange): number | undefined {
  const named = range.names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return range.min + named;
  const value = Number(text);
  return /^\d{1,2}$/.test(text) && value >= range.min && value <= range.max ? value : undefined;
}
