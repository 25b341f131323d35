// `everthink/core/schedules`: timers: after a time, at a date, by a cron expression.
export { schedules } from "../features/schedules/capability.ts";
export type { ScheduleMembers } from "../features/schedules/members.ts";
