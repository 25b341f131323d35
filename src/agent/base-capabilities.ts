// What every agent has, whatever else its class says. The only list.
import { fibers, type FiberMembers } from "../features/fibers/capability.ts";
import { queue, type QueueMembers } from "../features/queue/capability.ts";
import { schedules, type ScheduleMembers } from "../features/schedules/capability.ts";

export const BASE_CAPABILITIES = [schedules, fibers, queue] as const;

/** The same, for the type of the class. */
export interface BaseMembers extends ScheduleMembers, FiberMembers, QueueMembers {}
