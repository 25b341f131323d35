// The public names of schedules on the class.
// Its declarations name no type of `ai` and not the capability: a project with a plain `Agent` is type-checked without
// that package. At run time only `capability.ts` imports this file.
import { schedules } from "./capability.ts";
import type { Schedule, ScheduleCriteria, ScheduleOptions } from "./schedule-row.ts";

export class ScheduleMembers {
  /** Runs `this[callback](payload, schedule)` after seconds, at a date, or by a cron expression (UTC). */
  schedule<Payload = unknown>(
    when: number | Date | string,
    callback: keyof this,
    payload?: Payload,
    options?: ScheduleOptions
  ): Promise<Schedule<Payload>> {
    return schedules.of(this).schedule(when, callback as string, payload, options);
  }

  /** Runs `this[callback]` every so many seconds, at most 30 days. Declaring it again changes nothing. */
  scheduleEvery<Payload = unknown>(
    seconds: number,
    callback: keyof this,
    payload?: Payload,
    options?: Pick<ScheduleOptions, "retry">
  ): Promise<Schedule<Payload>> {
    return schedules.of(this).scheduleEvery(seconds, callback as string, payload, options);
  }

  cancelSchedule(id: string): Promise<boolean> {
    return schedules.of(this).cancel(id);
  }

  getSchedule<Payload = unknown>(id: string): Schedule<Payload> | undefined {
    return schedules.of(this).get(id);
  }

  /** Lists schedules in time order. */
  getSchedules<Payload = unknown>(criteria?: ScheduleCriteria): Schedule<Payload>[] {
    return schedules.of(this).list(criteria);
  }

  /** `getSchedule`, for callers that expect a promise. */
  async getScheduleById<Payload = unknown>(id: string): Promise<Schedule<Payload> | undefined> {
    return schedules.of(this).get(id);
  }

  /** `getSchedules`, for callers that expect a promise. */
  async listSchedules<Payload = unknown>(criteria?: ScheduleCriteria): Promise<Schedule<Payload>[]> {
    return schedules.of(this).list(criteria);
  }
}
