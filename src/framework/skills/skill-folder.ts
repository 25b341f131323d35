// A folder of skills as a manifest, for programs that carry their skills with them: every file of each skill, up to the
// limits below. The same tree gives the same manifest, byte for byte. What cannot be used is left out and named in a
// warning; only a missing folder is an error.
import { createHash } from "node:crypto";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import type { Dirent } from "node:fs";
import { join, relative, sep } from "node:path";
import { errorMessage } from "../../util/errors.ts";
import { diagnosticsOf, MAX_SKILL_BYTES, readSkillMarkdown } from "../../features/skills/markdown.ts";
import {
  isResourcePath,
  MAX_RESOURCE_BYTES,
  resourceKindOf,
  resourceOf,
  SKILL_FILE
} from "../../features/skills/resource.ts";
import type { SkillManifest, SkillManifestEntry, SkillResource } from "../../features/skills/skill.ts";
import { compileSkillScript, isCompilableSkillScript, isInside } from "./compile-script.ts";
import { SkillFolderError } from "./errors.ts";

/** What tools keep beside the files of a skill. */
const IGNORED = new Set(".git .hg .svn .DS_Store .idea .vscode node_modules __pycache__".split(" "));
/** Files of variables: what is built in can be read by everyone who has the program, and by the model. */
const SECRET_FILE = /(^|\/)(\.env|\.dev\.vars)[^/]*$/;
/** Larger ones make every start of the program slower. */
const LARGE_RESOURCE_BYTES = 256 * 1024;
const LARGE_TOTAL_BYTES = 1024 * 1024;
/** Of all files together, as they are on disk. Those that do not fit are left out. */
const MAX_TOTAL_BYTES = 32 * 1024 * 1024;
/** Of one skill. Those behind them, in the order of their paths, are left out. */
const MAX_SKILL_FILES = 10_000;
const R2_HINT = "skills.r2() reads large files when they are asked for";

export interface SkillFolderOptions {
  /** Of the project: the id of the source is the folder's path from here. */
  readonly root: string;
  /** Who asks for the folder, for the error when it is missing. */
  readonly wantedBy: string;
}

export interface SkillFolder {
  readonly manifest: SkillManifest;
  readonly warnings: readonly string[];
  /** Absolute paths of what was read. */
  readonly files: readonly string[];
}

/** Throws SkillFolderError. */
export async function readSkillFolder(folder: string, { root, wantedBy }: SkillFolderOptions): Promise<SkillFolder> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (!entries) throw new SkillFolderError(folder, wantedBy);
  const id = `bundle:${relative(root, folder).split(sep).join("/") || "."}`;
  const reader = new FolderReader(id, root);
  for (const name of sortedNames(entries)) await reader.addSkill(folder, name);
  const skills = [...reader.skills.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const data = JSON.stringify(skills);
  const fingerprint = createHash("sha256").update(data).digest("hex");
  return {
    manifest: { id, fingerprint, skills },
    warnings: [...reader.warnings, ...totalWarnings(reader, Buffer.byteLength(data))],
    files: reader.files
  };
}

function totalWarnings({ unfitting }: FolderReader, bytes: number): string[] {
  const [first] = unfitting;
  if (first !== undefined) {
    const which = unfitting.length === 1 ? first : `${first} and ${unfitting.length - 1} more`;
    return [`${which}: left out, because all files together may have ${MAX_TOTAL_BYTES} bytes: ${R2_HINT}`];
  }
  if (bytes <= LARGE_TOTAL_BYTES) return [];
  return [`the skills have ${bytes} bytes together, more than ${LARGE_TOTAL_BYTES}: ${R2_HINT}`];
}

class FolderReader {
  readonly skills = new Map<string, SkillManifestEntry>();
  readonly warnings: string[] = [];
  readonly files: string[] = [];
  /** Left out because of the limit of all together. */
  readonly unfitting: string[] = [];
  #leftBytes = MAX_TOTAL_BYTES;
  readonly #sourceId: string;
  readonly #root: string;

  constructor(sourceId: string, root: string) {
    this.#sourceId = sourceId;
    this.#root = root;
  }

  async addSkill(folder: string, directory: string): Promise<void> {
    const path = join(folder, directory);
    const size = await sizeOf(join(path, SKILL_FILE));
    // Another folder, or a file beside the skills.
    if (size === undefined) return;
    const skill = await realpath(path);
    if (!isInside(skill, await realpath(join(path, SKILL_FILE)))) {
      this.warnings.push(`${directory}/${SKILL_FILE} is a link that leads out of the skill: left out`);
      return;
    }
    if (size > MAX_SKILL_BYTES) {
      this.warnings.push(`${directory}/${SKILL_FILE} is larger than ${MAX_SKILL_BYTES} bytes: left out`);
      return;
    }
    const read = readSkillMarkdown(await this.#text(join(path, SKILL_FILE)), directory);
    for (const { file, line, reason, isLeftOut } of diagnosticsOf(this.#sourceId, directory, read))
      this.warnings.push(`${file}:${line}: ${reason}${isLeftOut ? ": left out" : ""}`);
    if (!read.skill) return;
    const { rawContent: _rawContent, ...entry } = read.skill;
    if (this.skills.has(entry.name)) {
      this.warnings.push(`${directory}/${SKILL_FILE}: another skill is called "${entry.name}": left out`);
      return;
    }
    this.skills.set(entry.name, { ...entry, resources: await this.#resources(directory, skill) });
  }

  async #text(file: string): Promise<string> {
    this.files.push(file);
    return await readFile(file, "utf8");
  }

  /** `skill`: the real path of the skill's folder. */
  async #resources(directory: string, skill: string): Promise<SkillResource[]> {
    const names = sortedNames(await readdir(skill, { withFileTypes: true })).filter((name) => name !== SKILL_FILE);
    const found = await Promise.all(names.map((path) => this.#filesBelow({ directory, skill, path })));
    const paths = found.flat().toSorted();
    if (paths.length > MAX_SKILL_FILES)
      this.warnings.push(`${directory} has ${paths.length} files: only the first ${MAX_SKILL_FILES} are taken`);
    const resources: SkillResource[] = [];
    for (const path of paths.slice(0, MAX_SKILL_FILES)) {
      const resource = await this.#resource({ directory, skill, path });
      if (resource) resources.push(resource);
    }
    return resources;
  }

  /** Relative paths. Links are followed to files of the same skill only. */
  async #filesBelow({ directory, skill, path }: InSkill): Promise<string[]> {
    const absolute = join(skill, path);
    const real = await realpath(absolute).catch(() => undefined);
    const found = real === undefined ? undefined : await stat(real);
    if (real === undefined || !found || !isInside(skill, real)) {
      this.warnings.push(`${directory}/${path} is a link that leads out of the skill: left out`);
      return [];
    }
    if (found.isFile()) return [path];
    // A link to a folder could lead to itself.
    if (!found.isDirectory() || real !== absolute) return [];
    const entries = sortedNames(await readdir(absolute, { withFileTypes: true }));
    const below = await Promise.all(
      entries.map((name) => this.#filesBelow({ directory, skill, path: `${path}/${name}` }))
    );
    return below.flat();
  }

  async #resource({ directory, skill, path }: InSkill): Promise<SkillResource | undefined> {
    const file = join(skill, path);
    const size = (await sizeOf(file)) ?? 0;
    const reason = whyLeftOut(path, size);
    if (reason !== undefined) {
      this.warnings.push(`${directory}/${path} is left out: ${reason}`);
      return undefined;
    }
    if (size > this.#leftBytes) {
      this.unfitting.push(`${directory}/${path}`);
      return undefined;
    }
    this.#leftBytes -= size;
    if (size > LARGE_RESOURCE_BYTES)
      this.warnings.push(`${directory}/${path} has ${size} bytes, more than ${LARGE_RESOURCE_BYTES}: ${R2_HINT}`);
    this.files.push(file);
    const resource = resourceOf(path, await readFile(file));
    if (resourceKindOf(path) !== "script" || !isCompilableSkillScript(path)) return resource;
    try {
      const compiled = await compileSkillScript(file, { within: skill, root: this.#root });
      return { ...resource, ...compiled, size: Buffer.byteLength(compiled.content) };
    } catch (error) {
      this.warnings.push(`${directory}/${path} is bundled as it is: ${errorMessage(error)}`);
      return resource;
    }
  }
}

/** Undefined: it is taken. */
function whyLeftOut(path: string, size: number): string | undefined {
  if (SECRET_FILE.test(path)) return "such files hold secrets, and a skill can be read by the model";
  if (!isResourcePath(path)) return "its path is too long, or has a backslash or a control character";
  if (size > MAX_RESOURCE_BYTES) return `it has ${size} bytes, and a file may have ${MAX_RESOURCE_BYTES}: ${R2_HINT}`;
  return undefined;
}

interface InSkill {
  readonly directory: string;
  readonly skill: string;
  /** Relative to the skill. */
  readonly path: string;
}

function sortedNames(entries: readonly Dirent[]): string[] {
  return entries
    .map(({ name }) => name)
    .filter((name) => !IGNORED.has(name))
    .toSorted();
}

/** Undefined where there is no such file. */
async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}
