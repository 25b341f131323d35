// `find`: entries by a glob.
import { tool, type Tool } from "ai";
import { orFailure, type ToolFailure } from "./failure.ts";
import { toolInput } from "../../../feature/tool-input.ts";
import type { FindOperations } from "./operations.ts";

const MAX_FILES = 200;

export interface FindInput {
  pattern: string;
}

export type FindOutput =
  ToolFailure | { pattern: string; count: number; files: string[]; truncated?: boolean; showing?: number };

/** @example const tools = { find: createFindTool({ ops: workspace }) }; */
export function createFindTool(options: { readonly ops: FindOperations }): Tool<FindInput, FindOutput> {
  return tool({
    description:
      "Finds files and directories of the workspace by a glob, for example **/*.ts, src/{a,b}/*.md or notes/202?-*. A pattern begins at the root: *.ts finds files of the root only.",
    inputSchema: toolInput<FindInput>({ pattern: { type: "string", description: "The glob" } }),
    execute: ({ pattern }) => orFailure(() => findEntries(options.ops, pattern))
  });
}

async function findEntries(ops: FindOperations, pattern: string): Promise<FindOutput> {
  const found = await ops.glob(pattern);
  const files = found.slice(0, MAX_FILES).map(({ path, type }) => (type === "directory" ? `${path}/` : path));
  const cut = found.length > MAX_FILES ? { truncated: true, showing: MAX_FILES } : {};
  return { pattern, count: found.length, files, ...cut };
}
