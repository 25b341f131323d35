// `everthink/skills`, and `skills` of the root: Agent Skills for any agent.
export { SkillFormatError, SkillScriptError } from "./errors.ts";
export { fromManifest } from "./manifest-source.ts";
export { parseSkillFrontmatter, parseSkillMarkdown, type SkillFrontmatter } from "./markdown.ts";
export { r2, type R2SkillsOptions, type SkillsBucket, type SkillsBucketPage } from "./r2-source.ts";
export { SkillRegistry, type SkillSnapshot } from "./registry.ts";
export type { SkillRunContext } from "./scripts/context.ts";
export { runner, type SkillRunnerOptions } from "./scripts/runner.ts";
export type { SkillOutputFile, SkillScriptRequest, SkillScriptRunner } from "./scripts/script.ts";
export type {
  SkillContent,
  SkillDescriptor,
  SkillDiagnostic,
  SkillManifest,
  SkillManifestEntry,
  SkillResource,
  SkillResourceDescriptor,
  SkillResourceKind,
  SkillSource
} from "./skill.ts";
export type { SkillToolsOptions } from "./tools.ts";
export { workspaceSkills as workspace, type WorkspaceSkillsOptions } from "./workspace-source.ts";
