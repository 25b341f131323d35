// The request to run a script of a skill, and the files of its result.
import type { ModelMessage } from "ai";
import type { SkillContent, SkillResource } from "../skill.ts";

export interface SkillScriptRequest {
  readonly skill: SkillContent;
  /** The path of the script, below `scripts/`. */
  readonly path: string;
  readonly source: string;
  readonly input: unknown;
  /** The resources of the skill that were read. */
  readonly resources?: readonly SkillResource[];
  /** Whether the script itself is one module without imports. */
  readonly precompiled?: boolean;
  /** The id of the call that runs it. */
  readonly toolCallId?: string;
  readonly messages?: readonly ModelMessage[];
  readonly signal?: AbortSignal;
}

/** Runs a script. A rejection is what the model reads. `skills.runner` makes one. */
export interface SkillScriptRunner {
  run(request: SkillScriptRequest): Promise<unknown>;
}

/** A file that a script left as a result. */
export interface SkillOutputFile {
  readonly path: string;
  readonly encoding: "text" | "base64";
  readonly content: string;
}

const LANGUAGES: Readonly<Record<string, "javascript" | "typescript" | "python" | "bash">> = {
  ".js": "javascript",
  ".mjs": "javascript",
  ".ts": "typescript",
  ".tsx": "typescript",
  ".py": "python",
  ".sh": "bash",
  ".bash": "bash"
};

export type ScriptLanguage = (typeof LANGUAGES)[string];

export const SCRIPT_EXTENSIONS: readonly string[] = Object.keys(LANGUAGES);

export function languageOf(extension: string): ScriptLanguage | undefined {
  return Object.hasOwn(LANGUAGES, extension) ? LANGUAGES[extension] : undefined;
}
