// `everthink/core/skills`: Agent Skills.
export { skills, type SkillsMembers } from "../features/skills/capability.ts";
