// The skills of several sources as one list: the first source that offers a name has it. A source that fails costs its
// own skills at most, and not even those once it has listed them. The registry knows nothing of Think: any caller of the AI
// SDK can put its prompt and tools into a call.
import type { ToolSet } from "ai";
import { errorMessage } from "../../util/errors.ts";
import { printCatalog } from "./catalog.ts";
import type { SkillScriptRunner } from "./scripts/script.ts";
import type { SkillContent, SkillDescriptor, SkillDiagnostic, SkillResource, SkillSource } from "./skill.ts";
import { skillTools, type SkillToolsOptions } from "./tools.ts";

/** The most skills of one registry; those behind them are left out, with a warning. */
export const MAX_SKILLS = 500;
/** The most warnings of one load; more are counted. */
const MAX_WARNINGS = 100;

export interface SkillSnapshot {
  readonly fingerprint: string;
  readonly catalogPrompt: string | null;
}

interface Owned {
  readonly skill: SkillDescriptor;
  readonly source: SkillSource;
}

/**
 * The skills for an agent that is not a Think.
 *
 * @example
 * const registry = new SkillRegistry([fromManifest(manifest)]);
 * streamText({ model, system: `${prompt}\n\n${await registry.systemPrompt()}`, tools: await registry.tools(), messages });
 */
export class SkillRegistry {
  /** The label of the section of the prompt. */
  readonly contextLabel = "think_skills";
  readonly #sources: readonly SkillSource[];
  readonly #scriptRunner: SkillScriptRunner | null;
  readonly #lastListing = new Map<SkillSource, readonly SkillDescriptor[]>();
  #skills: ReadonlyMap<string, Owned> = new Map();
  #warnings: string[] = [];
  #diagnostics: readonly SkillDiagnostic[] = [];
  #loading: Promise<void> | undefined;

  constructor(sources: readonly SkillSource[], scriptRunner: SkillScriptRunner | null = null) {
    this.#sources = sources;
    this.#scriptRunner = scriptRunner;
  }

  /** Says what the last load left out, and why. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** The diagnostics of sources that have files. */
  get diagnostics(): readonly SkillDiagnostic[] {
    return this.#diagnostics;
  }

  get fingerprint(): string {
    return this.#sources.map(({ id, fingerprint }) => `${id}:${fingerprint}`).join("\n");
  }

  get skills(): readonly SkillDescriptor[] {
    return [...this.#skills.values()].map(({ skill }) => skill);
  }

  /** Lists the skills of all sources, once until `refresh`. Never rejects. */
  load(): Promise<void> {
    return (this.#loading ??= this.#list([]));
  }

  /** Lets every source look for changes, and lists them again. Never rejects. */
  refresh(): Promise<void> {
    return (this.#loading = this.#refresh());
  }

  snapshot(): SkillSnapshot {
    return { fingerprint: this.fingerprint, catalogPrompt: printCatalog(this.skills) };
  }

  /** Prints the section of the prompt about the skills; null without any. */
  async systemPrompt(): Promise<string | null> {
    await this.load();
    return this.snapshot().catalogPrompt;
  }

  /** Loads a skill as its source has it now; null if no source has it. Throws what the source throws. */
  async loadSkill(name: string): Promise<SkillContent | null> {
    await this.load();
    return (await this.#skills.get(name)?.source.load(name)) ?? null;
  }

  has(name: string): boolean {
    return this.#skills.has(name);
  }

  /** Reads a resource. Undefined: the source of the skill has no resources at all. Throws what the source throws. */
  async readResource(name: string, path: string): Promise<SkillResource | null | undefined> {
    const source = this.#skills.get(name)?.source;
    return source?.readResource ? await source.readResource(name, path) : undefined;
  }

  /** Makes `activate_skill`, `read_skill_resource`, and `run_skill_script` with a runner; no tools without skills. */
  async tools(options: SkillToolsOptions = {}): Promise<ToolSet> {
    await this.load();
    return this.#skills.size === 0 ? {} : skillTools(this, this.#scriptRunner, options);
  }

  async #refresh(): Promise<void> {
    const results = await Promise.allSettled(this.#sources.map(async (source) => await source.refresh?.()));
    const failures = results.flatMap((result, index) =>
      result.status === "rejected" ? [describeFailure(this.#sources[index], "refreshed", result.reason)] : []
    );
    await this.#list(failures);
  }

  async #list(failures: readonly string[]): Promise<void> {
    const warnings = [...failures];
    const found = new Map<string, Owned>();
    for (const source of this.#sources) {
      for (const skill of await this.#listSource(source, warnings)) {
        const owner = found.get(skill.name);
        if (owner)
          warnings.push(`The skill "${skill.name}" of "${source.id}" is skipped: "${owner.source.id}" has it already.`);
        else if (found.size >= MAX_SKILLS) warnings.push(`The skill "${skill.name}" is skipped: over ${MAX_SKILLS}.`);
        else found.set(skill.name, { skill, source });
      }
    }
    this.#skills = found;
    this.#diagnostics = this.#sources.flatMap((source) => source.diagnostics ?? []);
    const texts = [...new Set([...warnings, ...this.#diagnostics.map(printDiagnostic)])];
    const more = texts.length > MAX_WARNINGS ? [`… and ${texts.length - MAX_WARNINGS} more.`] : [];
    this.#warnings = [...texts.slice(0, MAX_WARNINGS), ...more];
  }

  /** Lists a source as it was listed last where it cannot be listed now: the prompt may name those skills already. */
  async #listSource(source: SkillSource, warnings: string[]): Promise<readonly SkillDescriptor[]> {
    try {
      const listed = [...(await source.list())].filter(isUsable);
      this.#lastListing.set(source, listed);
      return listed;
    } catch (error) {
      warnings.push(describeFailure(source, "listed", error));
      return this.#lastListing.get(source) ?? [];
    }
  }
}

/** Whether a skill can be listed: a source of the user's may return anything. */
function isUsable(skill: SkillDescriptor): boolean {
  return (
    typeof skill?.name === "string" &&
    typeof skill.description === "string" &&
    skill.name !== "" &&
    !/[/\\\p{Cc}]/u.test(skill.name)
  );
}

function describeFailure(source: SkillSource | undefined, verb: string, error: unknown): string {
  return `The skill source "${source?.id}" could not be ${verb}: ${errorMessage(error)}`;
}

export function printDiagnostic({ source, file, line, reason, isLeftOut }: SkillDiagnostic): string {
  const place = `${file}${line === undefined || line < 1 ? "" : `:${line}`}`;
  return `${isLeftOut ? "Skill left out" : "Skill"} of "${source}": ${place}: ${reason}.`;
}
