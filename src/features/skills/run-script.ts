// `run_skill_script` checks what the model asks for, reads the skill's files, and hands both to the runner.
import { isObject } from "../../util/json.ts";
import type { SkillRegistry } from "./registry.ts";
import { extensionOf, isResourcePath, MAX_RESOURCE_BYTES } from "./resource.ts";
import {
  languageOf,
  SCRIPT_EXTENSIONS,
  type SkillOutputFile,
  type SkillScriptRequest,
  type SkillScriptRunner
} from "./scripts/script.ts";
import type { SkillContent, SkillResource } from "./skill.ts";

/** The most bytes of all files of a skill that one run is given; files beyond it are left out, and the result names them. */
const MAX_TOTAL_BYTES = MAX_RESOURCE_BYTES;
const READS_AT_ONCE = 8;

export interface ScriptCall extends Pick<SkillScriptRequest, "toolCallId" | "messages" | "signal" | "input"> {
  readonly name: string;
  readonly path: string;
}

/** Runs a script. Returns the runner's result, or a sentence on what is wrong with the call. Throws what the runner throws. */
export async function runSkillScript(
  registry: SkillRegistry,
  runner: SkillScriptRunner,
  call: ScriptCall
): Promise<unknown> {
  const { name, path, ...rest } = call;
  if (!path.startsWith("scripts/")) return "The path of a script must begin with scripts/.";
  if (!isResourcePath(path)) return "The path of a script must be a normalized relative path.";
  const extension = extensionOf(path);
  if (languageOf(extension) === undefined) return `A script must end in one of ${SCRIPT_EXTENSIONS.join(" ")}.`;
  const skill = await registry.loadSkill(name);
  if (!skill) return `Skill not found: ${name.slice(0, 128)}`;
  const described = skill.resources?.find((resource) => resource.path === path);
  if (!described) return `Script not found: ${name}/${path}`;
  if (described.kind !== "script") return `Resource is not a script: ${name}/${path}`;
  const script = await registry.readResource(name, path);
  if (script === undefined) return `Skill "${name}" has no readable resources.`;
  if (script === null) return `Script not found: ${name}/${path}`;
  if (script.encoding === "base64") return `The script ${name}/${path} is not a text.`;
  const { resources, skipped } = await readResources(registry, skill, script);
  const { content: source, precompiled } = script;
  const result = await runner.run({ ...rest, skill, path, source, resources, precompiled });
  return skipped.length === 0 ? result : { ...wrap(result), skippedFiles: skipped };
}

function wrap(result: unknown): Record<string, unknown> {
  return isObject(result) ? result : { result };
}

/** Reads the resources that fit, in the order in which they are listed. */
async function readResources(
  registry: SkillRegistry,
  { name, resources = [] }: SkillContent,
  script: SkillResource
): Promise<{ resources: SkillResource[]; skipped: string[] }> {
  const wanted: string[] = [];
  const skipped: string[] = [];
  let left = MAX_TOTAL_BYTES;
  for (const { path, size = 0 } of resources) {
    if (path === script.path || !isResourcePath(path)) continue;
    if (size > left) skipped.push(path);
    else {
      left -= size;
      wanted.push(path);
    }
  }
  const read = new Map<string, SkillResource>();
  const pending = [...wanted];
  const next = async (): Promise<void> => {
    for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
      const resource = await registry.readResource(name, path);
      if (resource) read.set(path, resource);
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, next));
  const found = wanted.flatMap((path) => read.get(path) ?? []);
  return { resources: [script, ...found], skipped };
}

/** Separates the files of a result from the rest of it: they have limits of their own. */
export function splitArtifacts(result: unknown): { rest: unknown; files: readonly SkillOutputFile[] | undefined } {
  if (!isObject(result) || !Array.isArray(result["outputFiles"])) return { rest: result, files: undefined };
  const { outputFiles, ...rest } = result;
  // Only runners make results of this shape, and theirs are checked there.
  return { rest, files: outputFiles as SkillOutputFile[] };
}
