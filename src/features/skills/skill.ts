// A skill as the rest of the package knows it, and what a source of skills must offer. A skill is a directory with a
// SKILL.md (front matter and instructions) and resources, which are files that it names by relative path.

/** The most characters of a description. */
export const MAX_DESCRIPTION_CHARS = 1_024;

export interface SkillDescriptor {
  readonly name: string;
  readonly description: string;
  readonly compatibility?: string;
  readonly license?: string;
  /** Tools that the skill names. The field is informational: it grants nothing. */
  readonly allowedTools?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly sourceId?: string;
  readonly version?: string;
}

/** The tools that `allowed-tools` names, without what it says about their input, such as `bash(git:*)`. */
export function namedTools({ allowedTools = "" }: SkillDescriptor): string[] {
  const names = allowedTools.replaceAll(/\([^)]*\)/g, " ").split(/[\s,]+/);
  return [...new Set(names.filter((name) => TOOL_NAME.test(name)))].slice(0, MAX_NAMED_TOOLS);
}

/** What every provider accepts as the name of a tool. */
const TOOL_NAME = /^[\w-]{1,64}$/;
const MAX_NAMED_TOOLS = 32;

export type SkillResourceKind = "reference" | "script" | "asset" | "file";

export interface SkillResourceDescriptor {
  /** The path relative to the skill's directory, with "/". */
  readonly path: string;
  readonly kind: SkillResourceKind;
  /** The size in bytes. */
  readonly size?: number;
  readonly encoding?: "text" | "base64";
  readonly mimeType?: string;
  /** Whether it is a script of one JavaScript module without imports. */
  readonly precompiled?: boolean;
}

export interface SkillResource extends SkillResourceDescriptor {
  readonly content: string;
}

export interface SkillContent extends SkillDescriptor {
  /** The text of SKILL.md behind its front matter. */
  readonly body: string;
  /** The whole text of SKILL.md. */
  readonly rawContent?: string;
  readonly resources?: readonly SkillResourceDescriptor[];
}

/** A file that could not be taken as it is. The other skills of its source are not affected. */
export interface SkillDiagnostic {
  readonly source: string;
  /** The path relative to the root of the source. */
  readonly file: string;
  readonly line?: number;
  readonly reason: string;
  /** Whether the skill was left out. Otherwise it was loaded all the same. */
  readonly isLeftOut: boolean;
}

/**
 * A source of skills. `skills.fromManifest`, `skills.r2`, `skills.workspace` and the import "everthink:skills" make one, or
 * your own code does.
 *
 * @example
 * const source: SkillSource = {
 *   id: "team",
 *   fingerprint: "1",
 *   list: async () => [{ name: "greet", description: "How we greet customers." }],
 *   load: async (name) =>
 *     name === "greet" ? { name, description: "How we greet customers.", body: "Say hello." } : null
 * };
 */
export interface SkillSource {
  readonly id: string;
  /** Changes when what is listed may have changed. */
  readonly fingerprint: string;
  /** Problems of the last listing. */
  readonly diagnostics?: readonly SkillDiagnostic[];
  list(): Promise<readonly SkillDescriptor[]>;
  load(name: string): Promise<SkillContent | null>;
  readResource?(name: string, path: string): Promise<SkillResource | null>;
  /** Called before each turn. */
  refresh?(): Promise<void>;
}

export interface SkillManifest {
  readonly id: string;
  readonly fingerprint: string;
  readonly skills: readonly SkillManifestEntry[];
}

export interface SkillManifestEntry extends Omit<SkillContent, "resources"> {
  readonly resources?: readonly SkillResource[];
}

/** The fields of a descriptor alone. */
export function descriptorOf(skill: SkillDescriptor): SkillDescriptor {
  const { name, description, compatibility, license, allowedTools, metadata, sourceId } = skill;
  const { version = readVersion(metadata) } = skill;
  return { name, description, compatibility, license, allowedTools, metadata, sourceId, version };
}

function readVersion(metadata: SkillDescriptor["metadata"]): string | undefined {
  const version = metadata?.["version"];
  return typeof version === "string" || typeof version === "number" ? String(version) : undefined;
}
