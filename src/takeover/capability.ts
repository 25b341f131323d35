// Objects that the packages everthink replaces have written, as capabilities: a class that has them takes such an object over
// at its first event; any other class refuses it in words.
import { runtimeOf } from "../agent/runtime.ts";
import { capability } from "../feature/capability.ts";
import { adoptSchedules, EVERY_AGENT_TAKEOVER, type CarriedSchedule } from "./agent.ts";
import { THINK_TAKEOVER } from "./parts.ts";

export const agentTakeover = capability({
  name: "agent-takeover",
  takeover: EVERY_AGENT_TAKEOVER,
  feature: ({ agent, sql }) => ({
    name: "agent-takeover",
    roles: {
      carriedSchedules: (schedules) => {
        // Written by the root of the same tree.
        adoptSchedules(sql, schedules as readonly CarriedSchedule[]);
        return runtimeOf(agent).wakes.rearm();
      }
    }
  })
});

export const thinkTakeover = capability({ name: "think-takeover", takeover: THINK_TAKEOVER });
