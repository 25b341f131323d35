// All tools over one file system.
import type { ToolSet } from "ai";
import type { WorkspaceLike } from "../workspace-like.ts";
import { type BashOptions, createBashTool } from "./bash.ts";
import { createDeleteTool } from "./delete.ts";
import { createEditTool } from "./edit.ts";
import { createFindTool } from "./find.ts";
import { createGrepTool } from "./grep.ts";
import { createListTool } from "./list.ts";
import { createReadTool, type ReadToolOptions } from "./read.ts";
import { createWriteTool } from "./write.ts";

export interface WorkspaceToolsOptions extends Pick<ReadToolOptions, "showsMedia"> {
  /** `{ load: () => import("just-bash") }` adds `bash`. */
  readonly bash?: false | BashOptions;
}

/**
 * The tools of a file system, by their names.
 *
 * @example
 * const tools = createWorkspaceTools(files, { bash: { load: () => import("just-bash") } });
 */
export function createWorkspaceTools(workspace: WorkspaceLike, options: WorkspaceToolsOptions = {}): ToolSet {
  const tools = createFileTools(workspace, options);
  const { bash = false } = options;
  return bash === false ? tools : { ...tools, bash: createBashTool({ ...bash, ops: workspace }) };
}

/** The seven tools that need nothing but the files. */
export function createFileTools(workspace: WorkspaceLike, options: Pick<ReadToolOptions, "showsMedia"> = {}) {
  return {
    read: createReadTool({ ops: workspace, ...options }),
    write: createWriteTool({ ops: workspace }),
    edit: createEditTool({ ops: workspace }),
    list: createListTool({ ops: workspace }),
    find: createFindTool({ ops: workspace }),
    grep: createGrepTool({ ops: workspace }),
    delete: createDeleteTool({ ops: workspace })
  } satisfies ToolSet;
}
