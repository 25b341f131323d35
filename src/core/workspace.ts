// `everthink/core/workspace`: files, their history, and bash.
export { workspace, type WorkspaceMembers } from "../features/workspace/capability.ts";
