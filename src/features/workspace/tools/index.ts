// `everthink/tools/workspace`: the file tools, over any file system.
export { createWorkspaceTools, type FileTools, type WorkspaceToolsOptions } from "./create-workspace-tools.ts";
export { createBashTool, type BashToolOptions } from "./bash.ts";
export { createDeleteTool } from "./delete.ts";
export { createEditTool } from "./edit.ts";
export { createFindTool } from "./find.ts";
export { createGrepTool } from "./grep.ts";
export { createListTool } from "./list.ts";
export { createReadTool, type ReadToolOptions } from "./read.ts";
export { createWriteTool } from "./write.ts";
export type {
  BashOperations,
  DeleteOperations,
  EditOperations,
  FindOperations,
  GrepOperations,
  ListOperations,
  ReadOperations,
  WriteOperations
} from "./operations.ts";
export type { BashNetwork } from "../bash/network.ts";
export type { BashOptions, BashOutput } from "../bash/run-script.ts";
export type { FileChange, RefusedChange } from "../store/changes.ts";
export type { FileInfo, FileStat } from "../store/entries.ts";
export type { WorkspaceLike } from "../workspace-like.ts";
