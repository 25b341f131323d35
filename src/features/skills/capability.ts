// Skills as a capability: the two override points.
import { chatCapability } from "../../feature/capability.ts";
import { isOverridden } from "../../feature/members.ts";
import { SkillsFeature } from "./feature.ts";
import type { SkillScriptRunner } from "./scripts/script.ts";
import type { SkillSource } from "./skill.ts";

export class SkillsMembers {
  /**
   * Lists the sources of the agent's skills, in order of precedence. Called once per start, before the first turn.
   * @example
   * getSkills() {
   *   return [skills.r2(this.env.SKILLS_BUCKET, { prefix: "skills/" })];
   * }
   */
  getSkills(): readonly SkillSource[] | Promise<readonly SkillSource[]> {
    return [];
  }

  /**
   * Gives what runs scripts of skills; null: the model cannot run any. See `skills.runner`.
   * @example
   * getSkillScriptRunner() {
   *   return skills.runner({ workspaceInstance: this.workspace });
   * }
   */
  getSkillScriptRunner(): SkillScriptRunner | null {
    return null;
  }
}

/** The capability is used only by classes with `getSkills`: others pay nothing. */
export const skills = chatCapability({
  name: "skills",
  members: SkillsMembers,
  isUsed: (agent) => isOverridden(agent, "getSkills"),
  feature: (services) => new SkillsFeature(services)
});
