// What the model is given of a skill: the instructions, and which files there are. Pure.
import { sliceText } from "../../util/truncate-value.ts";
import { isResourcePath, SKILL_FILE } from "./resource.ts";
import type { SkillContent } from "./skill.ts";

/** Characters of instructions; the rest is read as the resource SKILL.md. */
export const MAX_BODY_CHARS = 40_000;
const MAX_LISTED_RESOURCES = 200;

/** `maxBodyChars`: of the instructions. */
export function activationText(skill: SkillContent, maxBodyChars: number = MAX_BODY_CHARS): string {
  const { name, version } = skill;
  const attributes = [`name="${escaped(name)}"`, ...(version === undefined ? [] : [`version="${escaped(version)}"`])];
  const resources = resourceList(skill);
  return [
    `<skill_content ${attributes.join(" ")}>`,
    bodyText(skill, maxBodyChars),
    ...(resources === "" ? [] : ["", resources]),
    "</skill_content>"
  ].join("\n");
}

function bodyText({ name, body }: SkillContent, maxChars: number): string {
  // The instructions are Markdown and stay as they are; only the end of the element could be mistaken.
  const text = body.trim().replaceAll(/<\/(?=skill_content|skill_resources)/gi, "&lt;/");
  if (text.length <= maxChars) return text;
  const shown = sliceText(text, maxChars);
  return `${shown}\n[Cut after ${maxChars} of ${text.length} characters. Read the rest with read_skill_resource: ${name}/${SKILL_FILE}]`;
}

function resourceList({ resources = [] }: SkillContent): string {
  const listed = resources.filter(({ path }) => isResourcePath(path));
  if (listed.length === 0) return "";
  const lines = listed.slice(0, MAX_LISTED_RESOURCES).map(({ path, kind, encoding, size, mimeType }) => {
    const attributes = { kind, encoding, mimeType, size };
    const shown = Object.entries(attributes).filter(([, value]) => value !== undefined);
    return `<file ${shown.map(([key, value]) => `${key}="${escaped(String(value))}"`).join(" ")}>${escaped(path)}</file>`;
  });
  const more = listed.length > MAX_LISTED_RESOURCES ? [`(${listed.length - MAX_LISTED_RESOURCES} more files)`] : [];
  return ["<skill_resources>", ...lines, ...more, "</skill_resources>"].join("\n");
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
