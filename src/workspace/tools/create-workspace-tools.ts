// All tools over one file system.
import type { Tool } from "ai";
import { BashMissingError } from "../errors.ts";
import type { WorkspaceLike } from "../workspace-like.ts";
import { createDeleteTool } from "./delete.ts";
import { createEditTool } from "./edit.ts";
import { createFindTool } from "./find.ts";
import { createGrepTool } from "./grep.ts";
import { createListTool } from "./list.ts";
import type { BashOperations } from "./operations.ts";
import { createReadTool, type ReadToolOptions } from "./read.ts";
import { createWriteTool } from "./write.ts";

/** Makes `bash` over files; see `bash()`. */
export type BashFactory = (files: BashOperations) => Tool;

export interface WorkspaceToolsOptions extends Pick<ReadToolOptions, "showsMedia"> {
  /** `bash({ load: () => import("just-bash") })` adds the tool. */
  readonly bash?: false | BashFactory;
}

/** The seven tools, and `bash` if it was asked for. */
export type FileTools = Record<FileToolName, Tool> & { bash?: Tool };

/**
 * The tools of a file system, by their names.
 *
 * @example
 * const tools = createWorkspaceTools(files, { bash: bash({ load: () => import("just-bash") }) });
 */
export function createWorkspaceTools(workspace: WorkspaceLike, options: WorkspaceToolsOptions = {}): FileTools {
  const tools = createFileTools(workspace, options);
  const { bash = false } = options;
  if (bash === false) return tools;
  // Not a function: settings of bash without the interpreter, which only a class can bring.
  if (typeof bash !== "function") throw new BashMissingError();
  return { ...tools, bash: bash(workspace) };
}

/** The seven tools that need nothing but the files. */
type FileToolName = "read" | "write" | "edit" | "list" | "find" | "grep" | "delete";

function createFileTools(workspace: WorkspaceLike, options: WorkspaceToolsOptions): Record<FileToolName, Tool> {
  const { showsMedia } = options;
  return {
    read: createReadTool({ ops: workspace, ...(showsMedia && { showsMedia }) }),
    write: createWriteTool({ ops: workspace }),
    edit: createEditTool({ ops: workspace }),
    list: createListTool({ ops: workspace }),
    find: createFindTool({ ops: workspace }),
    grep: createGrepTool({ ops: workspace }),
    delete: createDeleteTool({ ops: workspace })
  };
}
