// `list`: one page of a directory.
import { tool, type Tool } from "ai";
import { normalizePath } from "../paths.ts";
import type { FileInfo } from "../store/entries.ts";
import { orFailure, type ToolFailure } from "./failure.ts";
import { toolInput } from "../../../feature/tool-input.ts";
import type { ListOperations } from "./operations.ts";
import { formatSize } from "../../../util/format-size.ts";

const DEFAULT_LIMIT = 200;
const MAX_LIMIT = 1_000;

export interface ListInput {
  path?: string;
  limit?: number;
  offset?: number;
}

export type ListOutput =
  ToolFailure | { path: string; count: number; entries: string[]; total?: number; truncated?: boolean };

/** @example const tools = { list: createListTool({ ops: workspace }) }; */
export function createListTool(options: { readonly ops: ListOperations }): Tool<ListInput, ListOutput> {
  return tool({
    description:
      "Lists a directory of the workspace: directories end with a slash, files show their size. Go on with offset where the result is truncated.",
    inputSchema: toolInput<ListInput>({
      path: { type: "string", isOptional: true, description: "Absolute path of the directory; / by default" },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: MAX_LIMIT,
        isOptional: true,
        description: "Entries to return; 200 by default"
      },
      offset: { type: "integer", minimum: 0, isOptional: true, description: "Entries to skip" }
    }),
    execute: (input) => orFailure(() => listPage(options.ops, input))
  });
}

async function listPage(ops: ListOperations, input: ListInput): Promise<ListOutput> {
  const { limit = DEFAULT_LIMIT, offset = 0 } = input;
  const path = normalizePath(input.path ?? "/");
  if (ops.stat) {
    const stat = await ops.stat(path);
    if (!stat) return { error: `Directory not found: ${path}` };
    if (stat.type !== "directory") return { error: `${path} is not a directory` };
  }
  // One more than asked for: it shows whether there are more.
  const found = await ops.readDir(path, { limit: limit + 1, offset });
  const entries = found.slice(0, limit).map(formatEntry);
  const isTruncated = found.length > limit;
  const total = ops.countDir ? await ops.countDir(path) : isTruncated ? undefined : offset + entries.length;
  return {
    path,
    count: entries.length,
    entries,
    ...(total !== undefined && { total }),
    ...(isTruncated && { truncated: true })
  };
}

function formatEntry({ name, type, size }: FileInfo): string {
  switch (type) {
    case "directory":
      return `${name}/`;
    case "file":
      return `${name} (${formatSize(size)})`;
    case "symlink":
      return name;
  }
}
