// The command line of `everthink skills`, to one plain value or a UsageError. Pure, and small: every command loads it.
import { parseArgs } from "node:util";
import { errorMessage } from "../../util/errors.ts";
import { UsageError } from "../serve/errors.ts";

export interface SkillsBuildArguments {
  readonly folder: string;
  readonly output: string;
}

/** What follows `everthink skills`. Throws UsageError. */
export function parseSkillsArguments(args: readonly string[]): SkillsBuildArguments {
  const { values, positionals } = split(args);
  const [command, folder = "skills", ...more] = positionals;
  if (command !== "build") throw new UsageError("There is one command for skills: everthink skills build [folder]");
  if (more.length > 0) throw new UsageError(`One folder at a time: "${more[0]}" is one too many.`);
  const trimmed = folder.replace(/[/\\]+$/, "");
  const output = values.out ?? `${trimmed}.generated.ts`;
  if (!/\.[cm]?[jt]s$/.test(output)) throw new UsageError(`--out must be a .ts or .js file, not "${output}".`);
  return { folder: trimmed, output };
}

function split(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { out: { type: "string" } }, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${errorMessage(error).split(/[.\n]/)[0]}.`);
  }
}
