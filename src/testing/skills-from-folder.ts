// Skills in a folder on this machine, as a test's agent can have them without a build.
import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { DirectorySource } from "../features/skills/directory-source.ts";
import type { SkillSource } from "../features/skills/skill.ts";

/**
 * The skills below a folder, one folder each. Looked at before every turn, so that a test can change them. Scripts are not
 * compiled; links are left out.
 *
 * @example
 * class Subject extends Assistant {
 *   override getSkills() {
 *     return [skillsFromFolder("src/skills")];
 *   }
 * }
 */
export function skillsFromFolder(folder: string, options: { readonly id?: string } = {}): SkillSource {
  const root = resolve(folder);
  return new DirectorySource({
    id: options.id ?? `folder:${folder}`,
    refreshIntervalMs: 0,
    files: {
      list: async () => {
        const entries = await readdir(root, { recursive: true, withFileTypes: true });
        const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
        return await Promise.all(files.map((file) => describe(root, file)));
      },
      read: async (path) => await readFile(join(root, path)).catch(() => null)
    }
  });
}

async function describe(root: string, file: string) {
  const { size, mtimeMs } = await stat(file);
  return { path: relative(root, file).split(sep).join("/"), size, tag: `${size} ${mtimeMs}` };
}
