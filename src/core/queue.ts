// `everthink/core/queue`: work for later, in order.
export { queue } from "../features/queue/capability.ts";
export type { QueueMembers } from "../features/queue/members.ts";
