// The module that a bundled folder of skills becomes.
import type { SkillManifest } from "../../features/skills/skill.ts";

/** What it imports. */
export const SKILLS_MODULE = "everthink/skills";

/** Its default export is a SkillSource. JavaScript that is TypeScript too. */
export function sourceModule(manifest: SkillManifest): string {
  return [
    `import { fromManifest } from "${SKILLS_MODULE}";`,
    "",
    `export default fromManifest(${JSON.stringify(manifest, null, 2)});`,
    ""
  ].join("\n");
}
