// All tools over one file system.
import type { Tool } from "ai";
import type { BashOptions } from "../bash/run-script.ts";
import type { WorkspaceLike } from "../workspace-like.ts";
import { bashTool } from "./bash.ts";
import { createDeleteTool } from "./delete.ts";
import { createEditTool } from "./edit.ts";
import { createFindTool } from "./find.ts";
import { createGrepTool } from "./grep.ts";
import { createListTool } from "./list.ts";
import { createReadTool, type ReadToolOptions } from "./read.ts";
import { createWriteTool } from "./write.ts";

export interface WorkspaceToolsOptions extends Pick<ReadToolOptions, "showsMedia"> {
  /** False leaves `bash` out, which needs the package just-bash. */
  readonly bash?: boolean | BashOptions;
}

/** The seven tools that need nothing but the files, and `bash` unless it was left out. */
export type FileTools = Record<"read" | "write" | "edit" | "list" | "find" | "grep" | "delete", Tool> & { bash?: Tool };

/**
 * Makes the tools of a file system, by their names.
 *
 * @example
 * const tools = createWorkspaceTools(files, { bash: { timeout: 10_000 } });
 */
export function createWorkspaceTools(workspace: WorkspaceLike, options: WorkspaceToolsOptions = {}): FileTools {
  return workspaceTools({ ops: workspace }, options);
}

/** Makes the same tools; each call asks `source` for its files once, so one set of tools serves every turn. */
export function workspaceTools(source: { readonly ops: WorkspaceLike }, options: WorkspaceToolsOptions): FileTools {
  const { bash = true, showsMedia } = options;
  const tools: FileTools = {
    read: createReadTool({
      get ops() {
        return source.ops;
      },
      showsMedia
    }),
    write: createWriteTool(source),
    edit: createEditTool(source),
    list: createListTool(source),
    find: createFindTool(source),
    grep: createGrepTool(source),
    delete: createDeleteTool(source)
  };
  return bash === false ? tools : { ...tools, bash: bashTool(source, bash === true ? {} : bash) };
}
