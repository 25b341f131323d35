// Skills in a folder of a workspace, so that an agent can write a skill for itself. Code that can write there decides what
// the model is instructed to do: it is on only where a class names the folder.
import type { WorkspaceLike } from "../workspace/workspace-like.ts";
import { DirectorySource } from "./directory-source.ts";
import type { SkillSource } from "./skill.ts";

export interface WorkspaceSkillsOptions {
  /** Names of the skills that are taken; all by default. */
  readonly skills?: readonly string[];
  readonly id?: string;
}

/**
 * Makes a source of the skills below a folder of a workspace, one directory each. What one turn writes is there in the next.
 *
 * @example
 * override getSkills() {
 *   return [skills.workspace(this.workspace, "/skills")];
 * }
 */
export function workspaceSkills(
  files: Pick<WorkspaceLike, "glob" | "readFileBytes">,
  folder: string,
  options: WorkspaceSkillsOptions = {}
): SkillSource {
  const root = `/${folder.split("/").filter(Boolean).join("/")}`;
  const base = root === "/" ? "/" : `${root}/`;
  return new DirectorySource({
    ...options,
    id: options.id ?? `workspace:${root}`,
    refreshIntervalMs: 0,
    files: {
      list: async () =>
        (await files.glob(`${base}**/*`))
          // A link could lead out of the folder.
          .filter(({ type, path }) => type === "file" && path.startsWith(base))
          .map(({ path, size, updatedAt, etag }) => ({
            path: path.slice(base.length),
            size,
            tag: etag ?? `${updatedAt}`
          })),
      read: async (path) => await files.readFileBytes(base + path)
    }
  });
}
