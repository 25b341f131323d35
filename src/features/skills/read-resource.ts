// `read_skill_resource`: one file of a skill as text, within limits. Every failure is a sentence for the model.
import { errorMessage } from "../../util/errors.ts";
import { sliceText } from "../../util/truncate-value.ts";
import { printAttributes } from "./activation.ts";
import type { SkillRegistry } from "./registry.ts";
import { isResourcePath, MAX_RESOURCE_BYTES, SKILL_FILE } from "./resource.ts";
import type { SkillContent, SkillResource } from "./skill.ts";

const MAX_TEXT_CHARS = 200_000;
/** The most bytes of a binary file, before it is made text. */
const MAX_BINARY_BYTES = 64_000;

export interface ReadResourceInput {
  readonly name: string | undefined;
  readonly path: string;
  /** The first line, counted from 1. */
  readonly offset: number | undefined;
  readonly limit: number | undefined;
}

export async function readResourceText(registry: SkillRegistry, input: ReadResourceInput): Promise<string> {
  const place = findPlace(registry, input);
  if (typeof place === "string") return place;
  const { name, path } = place;
  try {
    const skill = await registry.loadSkill(name);
    if (!skill) return `Skill not found: ${name}`;
    if (path === SKILL_FILE) return printResource(name, describeOwnFile(skill), input);
    const described = skill.resources?.find((resource) => resource.path === path);
    if (described?.size !== undefined && described.size > MAX_RESOURCE_BYTES)
      return `The resource ${name}/${path} has ${described.size} bytes; at most ${MAX_RESOURCE_BYTES} can be read.`;
    const resource = await registry.readResource(name, path);
    if (resource === undefined) return `Skill "${name}" has no readable resources.`;
    return resource === null ? `Resource not found: ${name}/${path}` : printResource(name, resource, input);
  } catch (error) {
    return `The resource ${name}/${path} could not be read: ${errorMessage(error)}`;
  }
}

/** Finds the skill and the path that the model means, or says what is wrong with them. */
function findPlace(registry: SkillRegistry, input: ReadResourceInput): { name: string; path: string } | string {
  const { name } = input;
  const path = input.path.trim();
  if (path.startsWith("../"))
    return "A path cannot leave its skill with ../. For a file of another skill, leave name out and give <skill>/<path>.";
  if (!isResourcePath(path)) return "The path must be a normalized relative path, such as references/guide.md.";
  if (name !== undefined) return registry.has(name) ? { name, path } : `Skill not found: ${name.slice(0, 128)}`;
  const slash = path.indexOf("/");
  const skill = path.slice(0, Math.max(0, slash));
  if (skill === "") return "Name the skill: give its name, or a path that begins with it: <skill>/<path>.";
  if (registry.has(skill)) return { name: skill, path: path.slice(slash + 1) };
  return `There is no skill "${skill.slice(0, 128)}". Give the skill's name, or a path that begins with it.`;
}

function describeOwnFile({ rawContent, body }: SkillContent): SkillResource {
  return { path: SKILL_FILE, kind: "file", encoding: "text", mimeType: "text/markdown", content: rawContent ?? body };
}

function printResource(name: string, resource: SkillResource, input: ReadResourceInput): string {
  const { path, kind, encoding = "text", mimeType, content } = resource;
  const opening = `<skill_resource ${printAttributes({ name, path, kind, encoding, mimeType })}>`;
  if (encoding === "base64") {
    const bytes = Math.floor((content.length * 3) / 4);
    const text = bytes <= MAX_BINARY_BYTES ? content : `[${bytes} bytes: too large to show. Let a script read it.]`;
    return `${opening}\n${text}\n</skill_resource>`;
  }
  return `${opening}\n${cutWindow(content, input)}\n</skill_resource>`;
}

function cutWindow(content: string, { offset = 1, limit }: ReadResourceInput): string {
  const lines = content.split("\n");
  const end = limit === undefined ? lines.length : Math.min(lines.length, offset - 1 + limit);
  const window = lines.slice(offset - 1, end).join("\n");
  const text = window.replaceAll(/<\/(?=skill_resource>)/gi, "&lt;/");
  if (text.length > MAX_TEXT_CHARS)
    return `${sliceText(text, MAX_TEXT_CHARS)}\n[Cut after ${MAX_TEXT_CHARS} characters; use offset and limit.]`;
  return end < lines.length ? `${text}\n[Lines ${offset} to ${end} of ${lines.length}]` : text;
}
