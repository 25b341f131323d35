// The file system of an agent.
export type { BashOptions } from "./bash/run-script.ts";
export { FileError, type FileErrorCode } from "./errors.ts";
export type { WorkspaceAccess } from "./http.ts";
export type { EntryType, FileInfo, FileStat } from "./store/entries.ts";
export type { WorkspaceChangeEvent, WorkspaceChangeType } from "./store/operation.ts";
export type { SqlBackend, SqlParam, SqlSource } from "./store/sql.ts";
export type { WorkspaceInfo } from "./store/tree.ts";
export type { FileVersion } from "./store/versions.ts";
export { Workspace, type WorkspaceOptions } from "./workspace.ts";
export type { WorkspaceFsLike, WorkspaceLike } from "./workspace-like.ts";
