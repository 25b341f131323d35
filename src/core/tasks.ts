// `everthink/core/tasks`: recurring prompts and handlers.
export { scheduledTasks, type ScheduledTaskMembers } from "../features/tasks/capability.ts";
export type { ScheduleMembers } from "../features/schedules/members.ts";
export type { SubmissionMembers } from "../features/submissions/capability.ts";
