// SKILL.md: front matter and instructions, as https://agentskills.io describes them. A problem that makes a skill unusable is
// distinguished from one that is only against the rules; both come with the line.
import { LineCounter, parseDocument } from "yaml";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import { SkillFormatError } from "./errors.ts";
import { SKILL_FILE } from "./resource.ts";
import { MAX_DESCRIPTION_CHARS, type SkillContent, type SkillDiagnostic } from "./skill.ts";

/** The most bytes of a SKILL.md; a larger one is left out. */
export const MAX_SKILL_BYTES = 256 * 1024;
/** The most characters of front matter; a longer one is not parsed. */
const MAX_FRONT_MATTER_CHARS = 32 * 1024;
const MAX_NAME_CHARS = 64;
const MAX_COMPATIBILITY_CHARS = 500;
/** The most characters of a name: it is in every prompt. */
const MAX_USABLE_NAME_CHARS = 128;

const FENCED = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/;
const RULED_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export interface SkillFrontmatter {
  readonly data: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export interface SkillProblem {
  readonly line: number;
  readonly reason: string;
  /** Whether the skill cannot be used. */
  readonly isFatal: boolean;
}

export interface ReadSkill {
  readonly skill: SkillContent | null;
  readonly problems: readonly SkillProblem[];
}

/**
 * Reads the two parts of a SKILL.md. Without front matter all of it is the body. Throws SkillFormatError for YAML that cannot
 * be read.
 *
 * @example
 * parseSkillFrontmatter("---\nname: greet\n---\nSay hello."); // { data: { name: "greet" }, body: "Say hello." }
 */
export function parseSkillFrontmatter(raw: string): SkillFrontmatter {
  const { data, body } = split(raw);
  return { data, body };
}

/**
 * Reads the skill that a SKILL.md describes; null if it has no name or no description, or cannot be read.
 *
 * @example
 * parseSkillMarkdown("---\nname: greet\ndescription: How we greet.\n---\nSay hello.")?.body; // "Say hello."
 */
export function parseSkillMarkdown(raw: string): SkillContent | null {
  return readSkillMarkdown(raw).skill;
}

/** Reads a SKILL.md. `directory` is the name of the one that holds it, which should be the skill's. Never throws. */
export function readSkillMarkdown(raw: string, directory?: string): ReadSkill {
  let parts: Split;
  try {
    parts = split(raw);
  } catch (error) {
    const line = error instanceof SkillFormatError ? error.line : 1;
    const reason = errorMessage(error).replace(/^SKILL\.md:\d+: /, "");
    return { skill: null, problems: [{ line, reason, isFatal: true }] };
  }
  const problems: SkillProblem[] = [];
  const report = (key: string, reason: string, isFatal = false) =>
    problems.push({ line: parts.lineOf(key), reason, isFatal });
  const { data } = parts;
  const name = readText(data["name"]);
  const description = readText(data["description"]);
  if (!parts.isFenced) report("", "there is no front matter: the first line must be ---", true);
  else if (name === undefined) report("name", `"name" is missing or not a text`, true);
  else checkName(name, directory, report);
  if (parts.isFenced && description === undefined)
    report("description", `"description" is missing or not a text`, true);
  if ((description?.length ?? 0) > MAX_DESCRIPTION_CHARS)
    report("description", `"description" is longer than ${MAX_DESCRIPTION_CHARS} characters`);
  if (name === undefined || description === undefined || problems.some(({ isFatal }) => isFatal))
    return { skill: null, problems };
  const extras = readOptionalFields(data, report);
  return { skill: { name, description, ...extras, body: parts.body, rawContent: raw }, problems };
}

/** The problems of one SKILL.md as the diagnostics of its source. */
export function diagnosticsOf(source: string, directory: string, { skill, problems }: ReadSkill): SkillDiagnostic[] {
  const file = `${directory}/${SKILL_FILE}`;
  return problems.map(({ line, reason }) => ({ source, file, line, reason, isLeftOut: skill === null }));
}

type Report = (key: string, reason: string, isFatal?: boolean) => void;

function checkName(name: string, directory: string | undefined, report: Report): void {
  // These would break qualified paths, the list of names in the schema and the lines of the catalogue.
  if (/[/\\\p{Cc}\u2028\u2029]/u.test(name) || name.length > MAX_USABLE_NAME_CHARS) {
    report("name", `"name" has "/", control characters or more than ${MAX_USABLE_NAME_CHARS} characters`, true);
    return;
  }
  if (name.length > MAX_NAME_CHARS || !RULED_NAME.test(name))
    report("name", `"name" should have 1 to ${MAX_NAME_CHARS} lower-case letters, digits and single hyphens`);
  if (directory !== undefined && name !== directory)
    report("name", `"name" should be the name of its directory, "${directory}"`);
}

function readOptionalFields(data: Readonly<Record<string, unknown>>, report: Report): Partial<SkillContent> {
  const license = readText(data["license"]);
  const compatibility = readText(data["compatibility"]);
  const allowedTools = readTools(data["allowed-tools"]);
  const { metadata } = data;
  if ((compatibility?.length ?? 0) > MAX_COMPATIBILITY_CHARS)
    report("compatibility", `"compatibility" is longer than ${MAX_COMPATIBILITY_CHARS} characters`);
  if (isObject(metadata) && Object.values(metadata).some((value) => typeof value !== "string"))
    report("metadata", `the values of "metadata" should be texts`);
  return { license, compatibility, allowedTools, metadata: isObject(metadata) ? metadata : undefined };
}

interface Split extends SkillFrontmatter {
  readonly isFenced: boolean;
  /** Finds the line of a key of the front matter in the file. */
  readonly lineOf: (key: string) => number;
}

function split(raw: string): Split {
  const fenced = FENCED.exec(raw);
  if (fenced === null) return { data: {}, body: raw, isFenced: false, lineOf: () => 1 };
  const [whole, text = ""] = fenced;
  if (text.length > MAX_FRONT_MATTER_CHARS)
    throw new SkillFormatError(1, `the front matter is longer than ${MAX_FRONT_MATTER_CHARS} characters`);
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  // The first line of the file is the fence.
  const lineAt = (offset: number) => counter.linePos(offset).line + 1;
  const [problem] = document.errors;
  if (problem) throw new SkillFormatError(lineAt(problem.pos[0]), problem.message);
  const value = toPlainValue(document);
  const lineOf = (key: string) => {
    const line = text.split(/\r?\n/).findIndex((one) => one.startsWith(`${key}:`));
    return line < 0 || key === "" ? 1 : line + 2;
  };
  return { data: isObject(value) ? value : {}, body: raw.slice(whole.length), isFenced: true, lineOf };
}

/** Reads the document. The parser refuses aliases that would multiply without end. */
function toPlainValue(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 20 });
  } catch (error) {
    throw new SkillFormatError(1, errorMessage(error));
  }
}

function readText(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

function readTools(value: unknown): string | undefined {
  const isList = Array.isArray(value) && value.every((one) => typeof one === "string");
  return readText(isList ? value.join(" ") : value);
}
