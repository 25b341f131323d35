// `delete`: a file, a link, or a directory.
import { tool, type Tool } from "ai";
import { orFailure, type ToolFailure } from "./failure.ts";
import { toolInput } from "../../../feature/tool-input.ts";
import type { DeleteOperations } from "./operations.ts";

export interface DeleteInput {
  path: string;
  recursive?: boolean;
}

export type DeleteOutput = ToolFailure | { deleted: string; existed?: false };

/** @example const tools = { delete: createDeleteTool({ ops: workspace }) }; */
export function createDeleteTool(options: { readonly ops: DeleteOperations }): Tool<DeleteInput, DeleteOutput> {
  return tool({
    description: "Deletes a file or directory of the workspace. A directory that is not empty needs recursive.",
    inputSchema: toolInput<DeleteInput>({
      path: { type: "string", description: "Absolute path" },
      recursive: { type: "boolean", isOptional: true, description: "Delete a directory with everything in it" }
    }),
    execute: (input) => orFailure(() => deleteEntry(options.ops, input))
  });
}

async function deleteEntry(ops: DeleteOperations, { path, recursive = false }: DeleteInput): Promise<DeleteOutput> {
  const look = ops.lstat?.bind(ops) ?? ops.stat?.bind(ops);
  const isMissing = look !== undefined && (await look(path)) === null;
  await ops.rm(path, { recursive, force: true });
  return isMissing ? { deleted: path, existed: false } : { deleted: path };
}
