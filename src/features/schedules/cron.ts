// Cron expressions in UTC: five fields, or six with leading seconds, or a nickname such as "@hourly". Pure: an
// expression and a time in, the next time out. A wrong expression fails here, when it is given, not when it is due.
// croner reads the expression and finds the date; this module refuses what croner takes beyond that syntax (dates, "L",
// "#", "5*"), because what is stored today must mean the same with the next version of croner.
import { Cron } from "croner";
import { errorMessage, ThinkError } from "../../util/errors.ts";

/** Longest accepted expression: lists of every minute, hour and day still fit. */
const EXPRESSION_LIMIT = 500;

const NICKNAME = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/i;
const VALUE = String.raw`(?:\d{1,2}|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)`;
const PART = String.raw`(?:[*?]|${VALUE}(?:-${VALUE})?)(?:/\d{1,2})?`;
const FIELD = new RegExp(`^${PART}(?:,${PART})*$`, "i");

export class CronError extends ThinkError {
  constructor(expression: string, reason: string) {
    super({
      code: "invalid-cron",
      message: `"${expression.slice(0, 80)}" is not a usable cron expression: ${reason}.`,
      hint: 'Use "minute hour day month weekday", optionally with seconds in front, or a nickname such as "@daily". Times are UTC.'
    });
  }
}

/** The first occurrence strictly after `afterMs`, or null when no date ever matches. Throws CronError. */
export function nextOccurrence(expression: string, afterMs: number): number | null {
  const cron = parse(expression);
  const next = (timeMs: number) => cron.nextRun(new Date(timeMs))?.getTime() ?? null;
  const found = next(afterMs);
  // croner 11 takes "30 February" for 2 March and goes on from there, past an occurrence on 1 March. A search that
  // leaves February is made again from its end.
  const after = new Date(afterMs);
  const endOfFebruary = Date.UTC(after.getUTCFullYear(), 2) - 1;
  const leavesFebruary = found !== null && after.getUTCMonth() === 1 && found > endOfFebruary;
  return leavesFebruary ? next(endOfFebruary) : found;
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

function parse(expression: string): Cron {
  const text = expression.trim();
  if (text.length > EXPRESSION_LIMIT) throw new CronError(text, `it is longer than ${EXPRESSION_LIMIT} characters`);
  if (!NICKNAME.test(text)) checkFields(text);
  try {
    // Without a function croner only computes. `sloppyRanges` allows "5/10": from 5 to the end of the field.
    return new Cron(text, { utcOffset: 0, mode: "5-or-6-parts", sloppyRanges: true });
  } catch (error) {
    throw new CronError(text, errorMessage(error).replace(/^CronPattern: (?:Syntax error, )?/, ""));
  }
}

function checkFields(text: string): void {
  const fields = text.split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) throw new CronError(text, "it must have five or six fields");
  const wrong = fields.find((field) => !FIELD.test(field));
  if (wrong !== undefined) throw new CronError(text, `"${wrong}" is no list of values, ranges and steps`);
}
