// `everthink/core/fibers`: work whose row survives a restart.
export { fibers, type FiberMembers } from "../features/fibers/capability.ts";
