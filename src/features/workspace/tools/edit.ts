// `edit`: replaces one place of a text file, literally. The result shows what changed.
import { tool, type Tool } from "ai";
import { countLines } from "../../../util/diff.ts";
import { normalizePath } from "../paths.ts";
import { orFailure, type ToolFailure } from "./failure.ts";
import { toolInput } from "../../../feature/tool-input.ts";
import type { EditOperations } from "./operations.ts";
import { renderDiff, withoutDiff } from "./render-diff.ts";
import { applyEdit, type EditResult } from "./text-edit.ts";

export interface EditInput {
  path: string;
  old_string: string;
  new_string: string;
  replace_all?: boolean;
}

export type EditOutput =
  | ToolFailure
  | { path: string; created: true; lines: number; diff?: string }
  | { path: string; replaced: true; fuzzyMatch?: true; replacements?: number; lines: number; diff?: string };

/** @example const tools = { edit: createEditTool({ ops: workspace }) }; */
export function createEditTool(options: { readonly ops: EditOperations }): Tool<EditInput, EditOutput> {
  return tool({
    description:
      "Replaces a text in a file of the workspace. old_string must be in the file exactly once; give more lines around it if it is not, or set replace_all. An empty old_string creates the file.",
    inputSchema: toolInput<EditInput>({
      path: { type: "string", description: "Absolute path of the file" },
      old_string: { type: "string", description: "The text to replace, without line numbers" },
      new_string: { type: "string", description: "The text to put in its place" },
      replace_all: { type: "boolean", isOptional: true, description: "Replace every occurrence" }
    }),
    execute: (input) => orFailure(() => editFile(options.ops, input)),
    toModelOutput: ({ output }) => withoutDiff(output)
  });
}

async function editFile(ops: EditOperations, input: EditInput): Promise<EditOutput> {
  const path = normalizePath(input.path);
  const before = await ops.readFile(path);
  if (input.old_string === "") return await createFile(ops, { path, before, content: input.new_string });
  if (before === null) return { error: `File not found: ${path}` };
  if (isBinary(before)) return { error: `${path} is not a text file; edit changes text only` };
  const edit = { oldText: input.old_string, newText: input.new_string, replaceAll: input.replace_all ?? false };
  const result = applyEdit(before, edit);
  if (result.kind !== "replaced") return { error: explainRefusal(path, result) };
  await ops.writeFile(path, result.text);
  return {
    path,
    replaced: true,
    ...(result.isFuzzy && { fuzzyMatch: true as const }),
    ...(edit.replaceAll && { replacements: result.count }),
    lines: countLines(result.text),
    ...diffOf(path, before, result.text)
  };
}

async function createFile(
  ops: EditOperations,
  { path, before, content }: { readonly path: string; readonly before: string | null; readonly content: string }
): Promise<EditOutput> {
  if (before !== null)
    return {
      error: `${path} already exists: give the text to replace as old_string, or use write to replace all of it`
    };
  await ops.writeFile(path, content);
  return { path, created: true, lines: countLines(content), ...diffOf(path, null, content) };
}

function diffOf(path: string, before: string | null, after: string): { diff?: string } {
  const diff = renderDiff(path, before, after);
  return diff === undefined ? {} : { diff };
}

function explainRefusal(path: string, result: Exclude<EditResult, { kind: "replaced" }>): string {
  if (result.kind === "none")
    return `old_string was not found in ${path}: read the file again and copy the text as it stands`;
  if (result.isFuzzy)
    return `old_string matches multiple locations in ${path} after normalisation of spacing: give more lines around it`;
  return `old_string appears ${result.count} times in ${path}: give more lines around it, or set replace_all`;
}

/** Whether a decoded text has lost bytes: writing it back would destroy them. */
function isBinary(text: string): boolean {
  return text.includes("\0") || text.includes("\ufffd");
}
