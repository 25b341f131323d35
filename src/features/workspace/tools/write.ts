// `write`: a whole file, with its directories. The result shows what changed.
import { tool, type Tool } from "ai";
import { byteLength } from "../../../util/bytes.ts";
import { countLines } from "../../../util/diff.ts";
import { normalizePath, parentOf, ROOT } from "../paths.ts";
import { orFailure, type ToolFailure } from "./failure.ts";
import { toolInput } from "../../../feature/tool-input.ts";
import type { WriteOperations } from "./operations.ts";
import { renderDiff, withoutDiff } from "./render-diff.ts";

export interface WriteInput {
  path: string;
  content: string;
}

export type WriteOutput = ToolFailure | { path: string; bytesWritten: number; lines: number; diff?: string };

/** @example const tools = { write: createWriteTool({ ops: workspace }) }; */
export function createWriteTool(options: { readonly ops: WriteOperations }): Tool<WriteInput, WriteOutput> {
  return tool({
    description:
      "Writes a file of the workspace: creates it, with the directories above it, or replaces all of its content. Use edit to change a part of a file.",
    inputSchema: toolInput<WriteInput>({
      path: { type: "string", description: "Absolute path of the file" },
      content: { type: "string", description: "The whole content" }
    }),
    execute: (input) => orFailure(() => writeWithDiff(options.ops, input)),
    toModelOutput: ({ output }) => withoutDiff(output)
  });
}

async function writeWithDiff(ops: WriteOperations, { path, content }: WriteInput): Promise<WriteOutput> {
  const target = normalizePath(path);
  // Of a file that cannot be read as text there is nothing to show; the write itself will say what is wrong.
  const before = ops.readFile ? await Promise.resolve(ops.readFile(target)).catch(() => undefined) : undefined;
  const parent = parentOf(target);
  if (parent !== ROOT) await ops.mkdir(parent, { recursive: true });
  await ops.writeFile(target, content);
  const diff = before === undefined || before?.includes("\0") ? undefined : renderDiff(target, before, content);
  return {
    path: target,
    bytesWritten: byteLength(content),
    lines: countLines(content),
    ...(diff !== undefined && { diff })
  };
}
