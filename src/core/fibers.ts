// `everthink/core/fibers`: work whose row survives a restart.
export { fibers } from "../features/fibers/capability.ts";
export type { FiberMembers } from "../features/fibers/members.ts";
