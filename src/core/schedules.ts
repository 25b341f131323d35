// `everthink/core/schedules`: timers: after a time, at a date, by a cron expression.
export { schedules, type ScheduleMembers } from "../features/schedules/capability.ts";
