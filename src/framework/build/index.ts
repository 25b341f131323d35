export { fastStreams, fastStreamsForEsbuild } from "./streams/plugin.ts";
export type { BundlerPlugin, EsbuildPlugin } from "./plugins.ts";
export {
  compileSkillScript,
  isCompilableSkillScript,
  type CompiledSkillScript,
  type CompileSkillScriptOptions
} from "../skills/compile-script.ts";
export { SkillCompileError, SkillFolderError } from "../skills/errors.ts";
export { skillsImport, type SkillsImportPlugin } from "../skills/skills-import.ts";
export { zodLocales, zodLocalesForEsbuild } from "./zod-locales.ts";
