// The catalogue: the lines of the prompt about skills that are not active. It is bounded: with many skills their descriptions
// become shorter, all by the same measure, so that the text is the same for the same skills. Pure.
import { byteLength } from "../../util/bytes.ts";
import { sliceText } from "../../util/truncate-value.ts";
import { MAX_DESCRIPTION_CHARS, type SkillDescriptor } from "./skill.ts";

/** The most bytes of all lines together. */
export const MAX_CATALOG_BYTES = 24_000;
/** Characters of one description, in the order in which they are tried; 0: names only. */
const DESCRIPTION_CHARS = [MAX_DESCRIPTION_CHARS, 512, 256, 128, 64, 0];

const LEAD =
  "Skills are instructions for particular tasks. When a task matches a skill below, call activate_skill with its name before you proceed.";
const NAMES_ONLY = "There are many skills: some of what they are for is not shown.";

/** Prints the catalogue. Null without skills. */
export function printCatalog(skills: readonly SkillDescriptor[]): string | null {
  if (skills.length === 0) return null;
  for (const maxChars of DESCRIPTION_CHARS) {
    const lines = skills.map((skill) => printLine(skill, maxChars));
    const text = lines.join("\n");
    if (byteLength(text) > MAX_CATALOG_BYTES) continue;
    return `${LEAD}${maxChars === 0 ? ` ${NAMES_ONLY}` : ""}\n\n${text}`;
  }
  return `${LEAD} ${NAMES_ONLY}\n\n${printFittingNames(skills)}`;
}

function printLine({ name, description }: SkillDescriptor, maxChars: number): string {
  const oneLine = description.replaceAll(/\s+/g, " ").trim();
  if (maxChars === 0) return `- ${name}`;
  return `- ${name}: ${oneLine.length <= maxChars ? oneLine : `${sliceText(oneLine, maxChars - 1)}…`}`;
}

/** Prints as many names as fit, when even names alone are too many. */
function printFittingNames(skills: readonly SkillDescriptor[]): string {
  const lines: string[] = [];
  let left = MAX_CATALOG_BYTES;
  for (const skill of skills) {
    const line = printLine(skill, 0);
    left -= byteLength(line) + 1;
    if (left < 0) return [...lines, `(${skills.length - lines.length} more)`].join("\n");
    lines.push(line);
  }
  return lines.join("\n");
}
