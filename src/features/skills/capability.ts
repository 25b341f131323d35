// Skills as a capability: the two override points.
import { chatCapability } from "../../feature/capability.ts";
import { isOverridden } from "../../feature/members.ts";
import { skillsFeature } from "./feature.ts";
import type { SkillScriptRunner } from "./scripts/script.ts";
import type { SkillSource } from "./skill.ts";

export class SkillsMembers {
  /** Where the agent's skills come from, in order of precedence. Asked once per start, before the first turn. */
  getSkills(): readonly SkillSource[] | Promise<readonly SkillSource[]> {
    return [];
  }

  /** What runs scripts of skills; null: the model cannot run any. See `skills.runner`. */
  getSkillScriptRunner(): SkillScriptRunner | null {
    return null;
  }
}

/** Only for classes with `getSkills`: others pay nothing. */
export const skills = chatCapability({
  name: "skills",
  members: SkillsMembers,
  isUsed: (agent) => isOverridden(agent, "getSkills"),
  feature: skillsFeature
});
