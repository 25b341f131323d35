// A moment in time as people read it, in one time zone. Pure.

export interface ClockReading {
  /** Year, month and day: "2026-11-15". */
  date: string;
  /** "14:05:09" */
  time: string;
  weekday: string;
  timeZone: string;
}

export class UnknownTimeZoneError extends Error {
  override readonly name = "UnknownTimeZoneError";
  constructor(timeZone: string) {
    super(`There is no time zone "${timeZone}". Use a name such as "Europe/Oslo".`);
  }
}

export function readClock(at: number, timeZone = "UTC"): ClockReading {
  const read = (options: Intl.DateTimeFormatOptions, locale: string) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone }).format(at);
  try {
    return {
      // Swedes write dates as ISO 8601 does.
      date: read({ dateStyle: "short" }, "sv-SE"),
      time: read({ timeStyle: "medium" }, "sv-SE"),
      weekday: read({ weekday: "long" }, "en-GB"),
      timeZone
    };
  } catch (error) {
    if (error instanceof RangeError) throw new UnknownTimeZoneError(timeZone);
    throw error;
  }
}
