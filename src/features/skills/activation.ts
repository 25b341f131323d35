// The text of a skill for the model: the instructions, and which files there are. Pure.
import { sliceText } from "../../util/truncate-value.ts";
import { isResourcePath, SKILL_FILE } from "./resource.ts";
import { namedTools, type SkillContent } from "./skill.ts";

/** The most characters of instructions; the rest is read as the resource SKILL.md. */
export const MAX_BODY_CHARS = 40_000;
const MAX_LISTED_RESOURCES = 200;

/** Prints a skill, with at most so many characters of its instructions. */
export function printSkill(skill: SkillContent, maxBodyChars: number = MAX_BODY_CHARS): string {
  const { name, version } = skill;
  const resources = printResources(skill);
  const tools = namedTools(skill);
  return [
    `<skill_content ${printAttributes({ name, version })}>`,
    ...(tools.length === 0 ? [] : [`<skill_tools>${tools.join(" ")}</skill_tools>`]),
    printBody(skill, maxBodyChars),
    ...(resources === "" ? [] : ["", resources]),
    "</skill_content>"
  ].join("\n");
}

function printBody({ name, body }: SkillContent, maxChars: number): string {
  // The instructions are Markdown and stay as they are; only the end of the element could be mistaken.
  const text = body
    .trim()
    .replaceAll(/<\/(?=skill_content|skill_resources)/gi, "&lt;/")
    .replaceAll(/<(?=\/?skill_tools)/gi, "&lt;");
  if (text.length <= maxChars) return text;
  const shown = sliceText(text, maxChars);
  return `${shown}\n[Cut after ${maxChars} of ${text.length} characters. Read the rest with read_skill_resource: ${name}/${SKILL_FILE}]`;
}

function printResources({ resources = [] }: SkillContent): string {
  const listed = resources.filter(({ path }) => isResourcePath(path));
  if (listed.length === 0) return "";
  const lines = listed.slice(0, MAX_LISTED_RESOURCES).map(({ path, kind, encoding, size, mimeType }) => {
    return `<file ${printAttributes({ kind, encoding, mimeType, size })}>${escape(path)}</file>`;
  });
  const more = listed.length > MAX_LISTED_RESOURCES ? [`(${listed.length - MAX_LISTED_RESOURCES} more files)`] : [];
  return ["<skill_resources>", ...lines, ...more, "</skill_resources>"].join("\n");
}

/** Prints attributes of an element; those without a value are left out. */
export function printAttributes(attributes: Readonly<Record<string, string | number | undefined>>): string {
  const shown = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return shown.map(([key, value]) => `${key}="${escape(String(value))}"`).join(" ");
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
