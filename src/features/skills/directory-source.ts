// Skills in a tree of files that can change while the agent lives: a bucket, a folder of the workspace, a folder on disk. A
// listing reads only the SKILL.md files that are new or changed; resources are read when they are asked for. A file that
// cannot be used costs its own skill and is named in the diagnostics.
import { encodeText } from "../../util/bytes.ts";
import { errorMessage } from "../../util/errors.ts";
import { sha256Hex } from "../../util/hex.ts";
import { diagnosticsOf, MAX_SKILL_BYTES, readSkillMarkdown, type ReadSkill } from "./markdown.ts";
import { describeResource, isResourcePath, MAX_RESOURCE_BYTES, resourceOf, SKILL_FILE } from "./resource.ts";
import {
  descriptorOf,
  type SkillContent,
  type SkillDescriptor,
  type SkillDiagnostic,
  type SkillResource,
  type SkillResourceDescriptor,
  type SkillSource
} from "./skill.ts";

/** The most files of a source that are looked at; those behind them do not exist for it. */
export const MAX_SOURCE_FILES = 10_000;
/** SKILL.md files that are read at once. */
const READS_AT_ONCE = 8;
const DEFAULT_REFRESH_MS = 60_000;

export interface SkillFile {
  /** The path relative to the root of the source: "<directory>/SKILL.md", "<directory>/references/a.md". */
  readonly path: string;
  readonly size: number;
  /** A text that differs when the content may differ. */
  readonly tag: string;
}

/** The tree of a source. */
export interface SkillFiles {
  /** Lists the files; the caller cuts those beyond MAX_SOURCE_FILES. */
  list(): Promise<readonly SkillFile[]>;
  read(path: string): Promise<Uint8Array | null>;
}

export interface DirectoryOptions {
  readonly id: string;
  readonly files: SkillFiles;
  /** Names of the skills that are taken; all by default. */
  readonly skills?: readonly string[];
  readonly fingerprint?: "metadata" | "content";
  /** How old the listing is, at least, before it is made again; 0: before every turn. */
  readonly refreshIntervalMs?: number;
  readonly now?: () => number;
}

interface Indexed {
  readonly directory: string;
  readonly skill: SkillContent;
  readonly resources: readonly SkillResourceDescriptor[];
}

interface Index {
  readonly byName: ReadonlyMap<string, Indexed>;
  /** The skills in the order of their directories. */
  readonly listed: readonly SkillDescriptor[];
  readonly fingerprint: string;
  readonly diagnostics: readonly SkillDiagnostic[];
}

export class DirectorySource implements SkillSource {
  readonly id: string;
  readonly #options: DirectoryOptions;
  /** The SKILL.md files that were read, by path and tag: an unchanged one is read once. */
  #parsed = new Map<string, ReadSkill>();
  #known: Index | undefined;
  #indexing: Promise<Index> | undefined;
  #indexedAt = 0;

  constructor(options: DirectoryOptions) {
    this.id = options.id;
    this.#options = options;
  }

  get fingerprint(): string {
    return this.#known?.fingerprint ?? this.id;
  }

  get diagnostics(): readonly SkillDiagnostic[] {
    return this.#known?.diagnostics ?? [];
  }

  async list(): Promise<readonly SkillDescriptor[]> {
    return (await this.#readIndex()).listed;
  }

  async load(name: string): Promise<SkillContent | null> {
    const found = (await this.#readIndex()).byName.get(name);
    return found ? { ...found.skill, resources: found.resources } : null;
  }

  async readResource(name: string, path: string): Promise<SkillResource | null> {
    const found = (await this.#readIndex()).byName.get(name);
    const described = found?.resources.find((resource) => resource.path === path);
    // The path is one of the listing, so it cannot leave the directory.
    if (!found || !described || (described.size ?? 0) > MAX_RESOURCE_BYTES) return null;
    const bytes = await this.#options.files.read(`${found.directory}/${path}`);
    return bytes === null ? null : resourceOf(path, bytes);
  }

  /** Makes the listing again when it is old enough. */
  async refresh(): Promise<void> {
    const { refreshIntervalMs = DEFAULT_REFRESH_MS } = this.#options;
    if (this.#known && this.#now() - this.#indexedAt < refreshIntervalMs) return;
    await this.#reindex();
  }

  /** Gives the listing, and makes one if there is none or it is too old. */
  async #readIndex(): Promise<Index> {
    const { refreshIntervalMs = DEFAULT_REFRESH_MS } = this.#options;
    // Where every turn makes a listing, what the turn asks for is answered from it.
    const isOld = refreshIntervalMs > 0 && this.#now() - this.#indexedAt >= refreshIntervalMs;
    return this.#known && !isOld ? this.#known : await this.#reindex();
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  /** Makes the listing. Callers that come while one is made share it. */
  #reindex(): Promise<Index> {
    this.#indexing ??= this.#makeIndex()
      .then((index) => {
        this.#known = index;
        this.#indexedAt = this.#now();
        return index;
      })
      .finally(() => {
        this.#indexing = undefined;
      });
    return this.#indexing;
  }

  async #makeIndex(): Promise<Index> {
    const { files, fingerprint } = this.#options;
    const all = (await files.list()).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    const diagnostics: SkillDiagnostic[] = [];
    if (all.length > MAX_SOURCE_FILES)
      diagnostics.push(this.#problem("", `only the first ${MAX_SOURCE_FILES} files are looked at`, false));
    const directories = groupByDirectory(all.slice(0, MAX_SOURCE_FILES));
    const read = await this.#readAll(directories);
    const byName = new Map<string, Indexed>();
    const used: SkillFile[] = [];
    for (const [directory, members] of directories) {
      const result = read.get(directory);
      if (!result) continue;
      diagnostics.push(...diagnosticsOf(this.id, directory, result));
      const { skill } = result;
      if (!skill || !(this.#options.skills?.includes(skill.name) ?? true)) continue;
      const winner = byName.get(skill.name);
      if (winner) {
        const reason = `another skill is called "${skill.name}": ${winner.directory}`;
        diagnostics.push(this.#problem(`${directory}/${SKILL_FILE}`, reason, true));
        continue;
      }
      used.push(...members);
      const described = { ...skill, ...descriptorOf(skill), sourceId: this.id };
      byName.set(skill.name, { directory, skill: described, resources: describeResources(directory, members) });
    }
    const hash = await (fingerprint === "content" ? this.#hashContents(used) : hashLines(used.map(printMetadata)));
    const listed = [...byName.values()].map(({ skill }) => descriptorOf(skill));
    return { byName, listed, fingerprint: `${this.id}:${hash}`, diagnostics };
  }

  #problem(file: string, reason: string, isLeftOut: boolean): SkillDiagnostic {
    return { source: this.id, file, reason, isLeftOut };
  }

  async #readAll(directories: ReadonlyMap<string, readonly SkillFile[]>): Promise<Map<string, ReadSkill>> {
    const results = new Map<string, ReadSkill>();
    const kept = new Map<string, ReadSkill>();
    const pending = [...directories].flatMap(([directory, members]) => {
      const file = members.find(({ path }) => path === `${directory}/${SKILL_FILE}`);
      return file ? [{ directory, file }] : [];
    });
    const next = async (): Promise<void> => {
      for (let job = pending.shift(); job; job = pending.shift()) {
        const key = `${job.file.path}\n${job.file.tag}`;
        const result = this.#parsed.get(key) ?? (await this.#readOne(job.directory, job.file));
        results.set(job.directory, result);
        // A file that could not be read is tried again with the next listing.
        if (result.skill || result.problems.some(({ line }) => line > 0)) kept.set(key, result);
      }
    };
    await Promise.all(Array.from({ length: READS_AT_ONCE }, next));
    this.#parsed = kept;
    return results;
  }

  async #readOne(directory: string, { path, size }: SkillFile): Promise<ReadSkill> {
    const fatal = (line: number, reason: string): ReadSkill => ({
      skill: null,
      problems: [{ line, reason, isFatal: true }]
    });
    if (size > MAX_SKILL_BYTES) return fatal(1, `the file is larger than ${MAX_SKILL_BYTES} bytes`);
    try {
      const bytes = await this.#options.files.read(path);
      if (bytes === null) return fatal(0, "the file is gone");
      if (bytes.byteLength > MAX_SKILL_BYTES) return fatal(1, `the file is larger than ${MAX_SKILL_BYTES} bytes`);
      return readSkillMarkdown(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), directory);
    } catch (error) {
      return fatal(0, `the file could not be read: ${errorMessage(error)}`);
    }
  }

  async #hashContents(used: readonly SkillFile[]): Promise<string> {
    const lines: string[] = [];
    for (const file of used) {
      const bytes = file.size > MAX_RESOURCE_BYTES ? null : await this.#options.files.read(file.path);
      lines.push(bytes === null ? printMetadata(file) : `${file.path} ${await sha256Hex(bytes)}`);
    }
    return await hashLines(lines);
  }
}

/** Groups files by the directories exactly one level below the root. */
function groupByDirectory(files: readonly SkillFile[]): Map<string, SkillFile[]> {
  const found = new Map<string, SkillFile[]>();
  for (const file of files) {
    const [directory = "", ...rest] = file.path.split("/");
    if (rest.length === 0 || !isResourcePath(file.path)) continue;
    const members = found.get(directory);
    if (members) members.push(file);
    else found.set(directory, [file]);
  }
  return found;
}

function describeResources(directory: string, members: readonly SkillFile[]): SkillResourceDescriptor[] {
  return members
    .map(({ path, size }) => ({ path: path.slice(directory.length + 1), size }))
    .filter(({ path }) => path !== SKILL_FILE)
    .map(({ path, size }) => describeResource(path, size));
}

function printMetadata({ path, size, tag }: SkillFile): string {
  return `${path} ${size} ${tag}`;
}

function hashLines(lines: readonly string[]): Promise<string> {
  return sha256Hex(encodeText(lines.join("\n")));
}
