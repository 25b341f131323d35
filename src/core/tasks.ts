// `everthink/core/tasks`: recurring prompts and handlers.
export { scheduledTasks, type ScheduledTaskMembers } from "../features/tasks/capability.ts";
