// Durable timers as a capability of every agent. What they do is in `schedules.ts`.
import { runtimeOf } from "../../agent/runtime.ts";
import { capability } from "../../feature/capability.ts";
import { ScheduleMembers } from "./members.ts";
import { Schedules } from "./schedules.ts";

export const schedules = capability({
  name: "schedules",
  opensWithAgent: true,
  members: ScheduleMembers,
  feature: ({ agent }) => new Schedules(runtimeOf(agent))
});
