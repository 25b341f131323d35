// `everthink/core/queue`: work for later, in order.
export { queue, type QueueMembers } from "../features/queue/capability.ts";
