// `everthink skills build`: the module of a folder of skills as a file, for builds without Vite.
import { writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { errorMessage } from "../../util/errors.ts";
import { UsageError } from "../serve/errors.ts";
import { readSkillFolder } from "./skill-folder.ts";
import { sourceModule } from "./source-module.ts";

export interface SkillsBuildArguments {
  readonly folder: string;
  readonly output: string;
}

export interface SkillsBuildReport {
  readonly warnings: readonly string[];
  readonly summary: string;
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

/** Throws SkillFolderError. */
export async function buildSkills(
  { folder, output }: SkillsBuildArguments,
  workingFolder: string
): Promise<SkillsBuildReport> {
  const { manifest, warnings } = await readSkillFolder(resolve(workingFolder, folder), {
    root: workingFolder,
    wantedBy: "everthink skills build"
  });
  const code = `// Made by \`everthink skills build ${folder}\`: change the skills, then run it again.\n${sourceModule(manifest)}`;
  const target = resolve(workingFolder, output);
  await writeFile(target, code);
  const names = manifest.skills.map(({ name }) => name).join(", ") || "no skills";
  return { warnings, summary: `${relative(workingFolder, target)}: ${names}` };
}

function split(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { out: { type: "string" } }, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${errorMessage(error).split(/[.\n]/)[0]}.`);
  }
}
