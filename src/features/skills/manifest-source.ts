// Skills that are part of the program: the import "everthink:skills" and `everthink skills build` make them.
import { isResourcePath } from "./resource.ts";
import { descriptorOf, type SkillManifest, type SkillResource, type SkillSource } from "./skill.ts";

/**
 * Makes a source of skills that are held in memory.
 *
 * @example
 * const source = fromManifest({
 *   id: "team",
 *   fingerprint: "1",
 *   skills: [{ name: "greet", description: "How we greet customers.", body: "Say hello." }]
 * });
 */
export function fromManifest(manifest: SkillManifest): SkillSource {
  const { id, fingerprint, skills } = manifest;
  // The first of a name is the one that is listed and loaded.
  const byName = new Map(skills.toReversed().map((skill) => [skill.name, skill]));
  const listed = skills.map((skill) => ({ ...descriptorOf(skill), sourceId: id }));
  return {
    id,
    fingerprint,
    list: async () => listed,
    load: async (name) => {
      const skill = byName.get(name);
      if (!skill) return null;
      const resources = withoutBadPaths(skill.resources).map(({ content: _content, ...described }) => described);
      const { body, rawContent } = skill;
      return { ...descriptorOf(skill), sourceId: id, body, rawContent, resources };
    },
    readResource: async (name, path) =>
      withoutBadPaths(byName.get(name)?.resources).find((resource) => resource.path === path) ?? null
  };
}

function withoutBadPaths(resources: readonly SkillResource[] = []): SkillResource[] {
  return resources.filter(({ path }) => isResourcePath(path));
}
