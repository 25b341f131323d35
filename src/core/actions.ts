// `everthink/core/actions`: tools that run once.
export { action, isAction } from "../features/actions/index.ts";
export { actions, type ActionMembers } from "../features/actions/capability.ts";
