// The skills of an agent class: the two override points. What they do is in skills.ts and in the folder of the skills.
import type { SkillScriptRunner } from "./scripts/script.ts";
import type { SkillSource } from "./skill.ts";
import { ActionAgent } from "../actions/action-agent.ts";

export abstract class SkillsAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends ActionAgent<Env, State, Props> {
  /** Where the agent's skills come from, in order of precedence. Asked once per start, before the first turn. */
  getSkills(): readonly SkillSource[] | Promise<readonly SkillSource[]> {
    return [];
  }

  /** What runs scripts of skills; null: the model cannot run any. See `skills.runner`. */
  getSkillScriptRunner(): SkillScriptRunner | null {
    return null;
  }
}
