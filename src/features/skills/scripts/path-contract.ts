// The paths of scripts in Bash and Python: the input, the skill, and a folder whose files are part of the result.
import { encodeBase64 } from "../../../util/bytes.ts";
import { bytesOf, isResourcePath, SKILL_FILE } from "../resource.ts";
import { descriptorOf } from "../skill.ts";
import type { SkillOutputFile, SkillScriptRequest } from "./script.ts";

export const SKILL_FOLDER = "/skill";
export const OUTPUT_FOLDER = "/output";

/** Lists the files that a script finds. */
export function initialFiles(
  { skill, resources = [] }: SkillScriptRequest,
  input: string
): Record<string, string | Uint8Array> {
  const files: Record<string, string | Uint8Array> = {
    "/input.json": input,
    "/context.json": JSON.stringify({ skill: descriptorOf(skill) }),
    [`${SKILL_FOLDER}/${SKILL_FILE}`]: skill.rawContent ?? skill.body
  };
  for (const resource of resources)
    if (isResourcePath(resource.path)) files[`${SKILL_FOLDER}/${resource.path}`] = bytesOf(resource);
  return files;
}

/** Makes a file of the result: text where its bytes are UTF-8; otherwise base64. */
export function toOutputFile(path: string, bytes: Uint8Array): SkillOutputFile {
  try {
    const content = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { path, encoding: "text", content };
  } catch {
    // Not text.
    return { path, encoding: "base64", content: encodeBase64(bytes) };
  }
}
