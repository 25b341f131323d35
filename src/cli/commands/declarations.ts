// `everthink types`: writes the declarations of a project, or says whether they are stale.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeTypesFile } from "../../framework/project/types-file.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { loadProject, rootOf } from "../load-project.ts";
import { withProgress } from "../progress.ts";
import { runProgram } from "../run-program.ts";

export async function runTypes(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = rootOf(parsed, context);
  const isDryRun = (parsed.flag("check") ?? false) || (parsed.flag("dry-run") ?? false);
  if (parsed.flag("all") && !isDryRun) {
    const file = parsed.text("wrangler-env-file") ?? "env.d.ts";
    await runWranglerTypes(root, wranglerTypesArguments(file, parsed.passedOn), context);
  }
  const typesFile = parsed.text("types-file");
  const project = await loadProject(parsed, context);
  const result = writeTypesFile(project, { isDryRun, typesFile });
  if (result.state === "foreign") {
    throw new CommandError(
      `${result.path} was not written by everthink, so it is left as it is.`,
      "Move it away, or choose another file with --types-file."
    );
  }
  const isCheck = parsed.flag("check") ?? false;
  if (parsed.flag("json")) context.print(JSON.stringify({ path: result.path, state: result.state }));
  else context.print(`${result.path} ${described(result.state, isCheck)}`);
  return result.state === "stale" && isCheck ? 1 : 0;
}

function described(state: "written" | "current" | "stale", isCheck: boolean): string {
  if (state === "written") return "written";
  if (state === "current") return "is current";
  return isCheck ? "is stale. Run: everthink types" : "would be written";
}

/** The runtime's own types come from a package, unless the user asks for them. */
export function wranglerTypesArguments(file: string, flags: readonly string[]): string[] {
  const isGiven = flags.some((flag) => /^--(?:no-)?include-runtime(?:=|$)/.test(flag));
  return ["types", file, ...(isGiven ? [] : ["--include-runtime", "false"]), ...flags];
}

async function runWranglerTypes(root: string, args: readonly string[], context: CliContext): Promise<void> {
  const local = join(root, "node_modules", ".bin", "wrangler");
  const program = existsSync(local) ? local : "wrangler";
  const ended = runProgram([program, ...args], root, context);
  const { code, errors } = await withProgress(`wrangler ${args.join(" ")}`, context, ended);
  if (code === null) throw new CommandError("wrangler cannot be run.", "Install it: npm install --save-dev wrangler");
  if (code !== 0) throw new CommandError(`wrangler types failed:\n${errors.trim()}`);
}
