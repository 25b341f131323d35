// `bash`: a script in an interpreter over the workspace. The interpreter is loaded with the first script.
import { tool, type Tool } from "ai";
import { runScript, type BashInput, type BashOutput, type BashOptions } from "../bash/run-script.ts";
import { toolInput } from "../../../feature/tool-input.ts";
import type { BashOperations } from "./operations.ts";

export interface BashToolOptions extends BashOptions {
  readonly ops: BashOperations;
}

/**
 * Makes the tool `bash` over a file system. Without the package just-bash its calls fail with BashMissingError.
 *
 * @example
 * const tools = { bash: createBashTool({ ops: workspace, timeout: 10_000 }) };
 */
export function createBashTool(options: BashToolOptions): Tool<BashInput, BashOutput> {
  return bashTool(options, options);
}

/** Makes the same tool; each call asks `source` for its files once. */
export function bashTool(source: { readonly ops: BashOperations }, options: BashOptions): Tool<BashInput, BashOutput> {
  return tool({
    description:
      "Runs a bash script over the files of the workspace, which is mounted at / (there is no /workspace and no /home). The common commands are there (ls, cat, grep, sed, awk, jq, find, sort, tar …), programs are not. Changes to files persist; variables and the working directory do not.",
    inputSchema: toolInput<BashInput>({
      script: { type: "string", description: "The script" },
      cwd: { type: "string", isOptional: true, description: "Directory to start in; / by default" }
    }),
    execute: (input, { abortSignal }): Promise<BashOutput> =>
      runScript({ ...options, ops: source.ops }, input, abortSignal)
  });
}
