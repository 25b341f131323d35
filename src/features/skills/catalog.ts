// The catalogue: what the prompt says of skills that are not active. It is bounded: with many skills their descriptions
// become shorter, all by the same measure, so that the text is the same for the same skills. Pure.
import { byteLength } from "../../util/bytes.ts";
import { sliceText } from "../../util/truncate-value.ts";
import { MAX_DESCRIPTION_CHARS } from "./markdown-limits.ts";
import type { SkillDescriptor } from "./skill.ts";

/** Bytes of all lines together. */
export const MAX_CATALOG_BYTES = 24_000;
/** Characters of one description, the longest that fits first; 0: names only. */
const DESCRIPTION_CHARS = [MAX_DESCRIPTION_CHARS, 512, 256, 128, 64, 0];

const LEAD =
  "Skills are instructions for particular tasks. When a task matches a skill below, call activate_skill with its name before you proceed.";
const NAMES_ONLY = "There are many skills: some of what they are for is not shown.";

/** Null without skills. */
export function catalogPrompt(skills: readonly SkillDescriptor[]): string | null {
  if (skills.length === 0) return null;
  for (const maxChars of DESCRIPTION_CHARS) {
    const lines = skills.map((skill) => catalogLine(skill, maxChars));
    const text = lines.join("\n");
    if (byteLength(text) > MAX_CATALOG_BYTES) continue;
    return `${LEAD}${maxChars === 0 ? ` ${NAMES_ONLY}` : ""}\n\n${text}`;
  }
  return `${LEAD} ${NAMES_ONLY}\n\n${linesThatFit(skills)}`;
}

function catalogLine({ name, description }: SkillDescriptor, maxChars: number): string {
  const oneLine = description.replaceAll(/\s+/g, " ").trim();
  if (maxChars === 0) return `- ${name}`;
  return `- ${name}: ${oneLine.length <= maxChars ? oneLine : `${sliceText(oneLine, maxChars - 1)}…`}`;
}

/** So many names that they alone do not fit. */
function linesThatFit(skills: readonly SkillDescriptor[]): string {
  const lines: string[] = [];
  let left = MAX_CATALOG_BYTES;
  for (const skill of skills) {
    const line = catalogLine(skill, 0);
    left -= byteLength(line) + 1;
    if (left < 0) return [...lines, `(${skills.length - lines.length} more)`].join("\n");
    lines.push(line);
  }
  return lines.join("\n");
}
