// Cron expressions in UTC: five fields, or six with leading seconds, or a nickname such as "@hourly". Pure: an
// expression and a time in, the next time out. A wrong expression fails here, when it is given, not when it is due.
import { Cron } from "croner";
import { errorMessage, ThinkError } from "../util/errors.ts";

/** Longest accepted expression: lists of every minute, hour and day still fit. */
const EXPRESSION_LIMIT = 500;

export class CronError extends ThinkError {
  constructor(expression: string, reason: string, cause?: unknown) {
    super({
      code: "invalid-cron",
      message: `"${expression.slice(0, 80)}" is not a usable cron expression: ${reason}.`,
      hint: 'Use "minute hour day month weekday", optionally with seconds in front, or a nickname such as "@daily". Times are UTC.',
      cause
    });
  }
}

/** The first occurrence strictly after `afterMs`, or null when there is none left. Throws CronError. */
export function nextOccurrence(expression: string, afterMs: number): number | null {
  return parse(expression).nextRun(new Date(afterMs))?.getTime() ?? null;
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
  // The parser also takes ISO dates; here a date is a Date, and a string that looks like one is a mistake.
  const fields = text.split(/\s+/).length;
  if (!text.startsWith("@") && fields !== 5 && fields !== 6) {
    throw new CronError(text, "it must have five or six fields");
  }
  try {
    return new Cron(text, { timezone: "UTC", paused: true, mode: "5-or-6-parts" });
  } catch (error) {
    throw new CronError(text, errorMessage(error).replace(/^CronPattern: /, ""), error);
  }
}
