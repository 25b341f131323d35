// `everthink skills build`: the module of a folder of skills as a file, for builds without Vite.
import type { SkillsBuildArguments } from "../../framework/skills/build-command.ts";
import { buildSkills } from "../../framework/skills/build-command.ts";
import type { CliContext } from "../cli-context.ts";
import { usageError, type ParsedArguments } from "../command-line.ts";
import { withProgress } from "../progress.ts";

/** Pure. Throws CommandUsageError. */
export function skillsBuildArguments(parsed: ParsedArguments): SkillsBuildArguments {
  const [folder = "skills"] = parsed.positionals;
  const trimmed = folder.replace(/[/\\]+$/, "");
  const output = parsed.text("out") ?? `${trimmed}.generated.ts`;
  if (/\.[cm]?[jt]s$/.test(output)) return { folder: trimmed, output };
  throw usageError(parsed.name, `--out must be a .ts or .js file, not "${output}".`);
}

export async function runSkillsBuild(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const built = buildSkills(skillsBuildArguments(parsed), context.cwd);
  const { warnings, summary } = await withProgress("Reading skills", context, built);
  for (const warning of warnings) context.note(warning);
  context.print(summary);
  return 0;
}
