// Work for later as a capability of every agent. What it does is in `queue.ts`.
import { runtimeOf } from "../../agent/runtime.ts";
import { capability } from "../../feature/capability.ts";
import { QueueMembers } from "./members.ts";
import { Queue } from "./queue.ts";

export const queue = capability({
  name: "queue",
  opensWithAgent: true,
  members: QueueMembers,
  feature: ({ agent }) => {
    const runtime = runtimeOf(agent);
    return new Queue(runtime, runtime.keepAlive);
  }
});
