// `everthink skills build`: the module of a folder of skills as a file, for builds without Vite.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { readSkillFolder } from "./skill-folder.ts";
import { sourceModule } from "./source-module.ts";

export interface SkillsBuildArguments {
  /** As the user spelled it; without a slash at its end. */
  readonly folder: string;
  readonly output: string;
}

export interface SkillsBuildReport {
  readonly warnings: readonly string[];
  readonly summary: string;
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
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, code);
  const names = manifest.skills.map(({ name }) => name).join(", ") || "no skills";
  return { warnings, summary: `${relative(workingFolder, target)}: ${names}` };
}
