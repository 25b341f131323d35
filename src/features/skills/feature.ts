// Skills as a feature: their catalogue in the prompt, their tools in every turn. Sources are first asked when a turn
// starts. A source that fails costs its own skills; a class whose `getSkills` throws has none until it no longer does.
//
// What was activated is in the transcript. A row per active skill says where, so that the instructions can be put into the
// prompt when the transcript no longer shows them: after a compaction, or behind the byte budget of the history.
import { isToolPart } from "../../model/index.ts";
import { printSkill } from "./activation.ts";
import { Activations, ACTIVATION_TABLES, type SkillActivation } from "./activations.ts";
import { SkillRegistry } from "./registry.ts";
import { ACTIVATE_SKILL, READ_SKILL_RESOURCE, RUN_SKILL_SCRIPT } from "./tools.ts";
import type { TurnView } from "../../turn/turn.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import type { CallOwner, Feature, Roles, TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { SkillTools } from "../../feature/tool-discovery.ts";
import { namedTools, type SkillDescriptor } from "./skill.ts";
import type { SkillsMembers } from "./capability.ts";
import { WarnOnce } from "../../util/warn-once.ts";

/** The most characters of one skill that are put back into the prompt. */
const MAX_RESTORED_CHARS = 20_000;
/** The most characters of all skills that are put back. */
const MAX_ALL_RESTORED_CHARS = 60_000;

export class SkillsFeature implements Feature {
  readonly name = "skills";
  readonly tables = ACTIVATION_TABLES;
  readonly toolNames = [ACTIVATE_SKILL, READ_SKILL_RESOURCE, RUN_SKILL_SCRIPT];
  /** Instructions stay whole in the history, however old the call is. */
  readonly calls: CallOwner = {
    keepOutput: ({ toolName, input, output }) => {
      const isKept = toolName === ACTIVATE_SKILL && isObject(input) && `${output}`.startsWith("<skill_content ");
      return isKept ? `${ACTIVATE_SKILL} ${input["name"]}` : undefined;
    }
  };
  readonly roles: Partial<Roles> = { skillTools: () => this.#registry?.skills.flatMap(toolsOf) ?? [] };
  readonly #activations: Activations;
  readonly #services: ChatServices;
  readonly #agent: SkillsMembers;
  readonly #warnings = new WarnOnce((message) => console.warn(`[skills] ${message}`));
  #registry: SkillRegistry | undefined;

  constructor(services: ChatServices) {
    this.#services = services;
    // Only agents with these members open it.
    this.#agent = services.agent as SkillsMembers;
    this.#activations = new Activations(services.sql);
  }

  cleared(): void {
    this.#activations.clear();
  }

  /** Gives a turn the catalogue and the tools. Never throws: a turn goes on without what could not be had. */
  async inTurn(turn: TurnView): Promise<TurnPart | undefined> {
    try {
      const registry = (this.#registry ??= await this.#open());
      if (!registry) return undefined;
      await registry.refresh();
      for (const warning of registry.warnings) this.#warnings.warn(warning);
      const { catalogPrompt } = registry.snapshot();
      if (catalogPrompt === null) return undefined;
      const tools = await registry.tools({
        onActivate: ({ name }, toolCallId) => this.#activations.add({ name, toolCallId, messageId: turn.messageId })
      });
      const restored = await this.#restore(registry);
      const catalog = { label: registry.contextLabel, text: catalogPrompt };
      return { tools: { skills: tools }, prompt: [catalog, ...restored] };
    } catch (error) {
      this.#warnings.warn(`The agent goes on without skills: ${errorMessage(error)}`);
      return undefined;
    }
  }

  async #open(): Promise<SkillRegistry | undefined> {
    const sources = await this.#agent.getSkills();
    if (sources.length === 0) return undefined;
    return new SkillRegistry(sources, this.#agent.getSkillScriptRunner());
  }

  /** Prints the instructions of skills that were activated where the model no longer sees it. */
  async #restore(registry: SkillRegistry): Promise<{ label: string; text: string }[]> {
    const hidden = this.#findHidden();
    if (hidden.length === 0) return [];
    const texts: string[] = [];
    let left = MAX_ALL_RESTORED_CHARS;
    for (const { name } of hidden) {
      const skill = await registry.loadSkill(name).catch((error: unknown) => {
        this.#warnings.warn(`The active skill "${name}" could not be loaded: ${errorMessage(error)}`);
        return null;
      });
      const text = skill && printSkill(skill, MAX_RESTORED_CHARS);
      if (!text || text.length > left) continue;
      left -= text.length;
      texts.push(text);
    }
    const lead = "You activated these skills earlier in this conversation; they still apply:";
    return texts.length === 0 ? [] : [{ label: "active_skills", text: [lead, ...texts].join("\n\n") }];
  }

  /** Finds the activations that the model no longer sees, the newest first. Those of other branches are left out. */
  #findHidden(): SkillActivation[] {
    const known = this.#activations.list();
    if (known.length === 0) return [];
    const shown = new Set(
      this.#services.turns
        .transcript()
        .flatMap(({ parts }) => parts.flatMap((part) => (isToolPart(part) ? part.toolCallId : [])))
    );
    return known.filter(({ toolCallId, messageId }) => !shown.has(toolCallId) && this.#isOnPath(messageId));
  }

  #isOnPath(messageId: string): boolean {
    const { store } = this.#services.session;
    // A store of the user's cannot be asked for branches.
    if (!store) return true;
    const header = store.rows.header(messageId);
    return header !== undefined && (store.isLinear || store.locate(header).isOnPath);
  }
}

function toolsOf(skill: SkillDescriptor): SkillTools[] {
  const tools = namedTools(skill);
  return tools.length === 0 ? [] : [{ name: skill.name, tools }];
}
