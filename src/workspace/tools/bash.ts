// `bash`: a script in an interpreter over the workspace. What runs it is loaded with the first script.
import { tool, type Tool } from "ai";
import { lazyModule } from "../../host/lazy-module.ts";
import type { BashInput, BashOutput, BashOptions } from "../bash/run-script.ts";
import { toolInput } from "./input.ts";
import type { BashOperations } from "./operations.ts";

const loadRunner = lazyModule(() => import("../bash/run-script.ts"));

export interface BashToolOptions extends BashOptions {
  readonly ops: BashOperations;
}

/**
 * Without the package just-bash its calls fail with BashMissingError.
 *
 * @example
 * const tools = { bash: createBashTool({ ops: workspace, timeout: 10_000 }) };
 */
export function createBashTool(options: BashToolOptions): Tool<BashInput, BashOutput> {
  return tool({
    description:
      "Runs a bash script over the files of the workspace, which is mounted at / (there is no /workspace and no /home). The common commands are there (ls, cat, grep, sed, awk, jq, find, sort, tar …), programs are not. Changes to files persist; variables and the working directory do not.",
    inputSchema: toolInput<BashInput>({
      script: { type: "string", description: "The script" },
      cwd: { type: "string", isOptional: true, description: "Directory to start in; / by default" }
    }),
    execute: async (input, { abortSignal }): Promise<BashOutput> => {
      const { runScript } = await loadRunner();
      return await runScript(options, input, abortSignal);
    }
  });
}
