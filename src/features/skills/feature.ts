// Skills as a feature: their catalogue in the prompt, their tools in every turn. Sources are first asked when a turn
// starts. A source that fails costs its own skills; a class whose `getSkills` throws has none until it no longer does.
//
// What was activated is in the transcript. A row per active skill says where, so that the instructions can be put into the
// prompt when the transcript no longer shows them: after a compaction, or behind the byte budget of the history.
import { isToolPart } from "../../model/index.ts";
import type { Session } from "../../session/session.ts";
import { activationText } from "./activation.ts";
import { Activations, ACTIVATION_TABLES, type SkillActivation } from "./activations.ts";
import { SkillRegistry } from "./registry.ts";
import type { TurnEngine } from "../../turn/engine.ts";
import type { TurnView } from "../../turn/turn.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import type { Feature, TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { SkillsMembers } from "./capability.ts";
import { WarnOnce } from "../../util/warn-once.ts";

const ACTIVATE = "activate_skill";
/** Characters of instructions that are put back into the prompt: of one skill, and of all. */
const MAX_RESTORED_CHARS = 20_000;
const MAX_ALL_RESTORED_CHARS = 60_000;

type SkillSession = Pick<Session, "store">;

export function skillsFeature(services: ChatServices): Feature {
  const skills = new AgentSkills(services);
  return {
    name: "skills",
    tables: ACTIVATION_TABLES,
    toolNames: [ACTIVATE, "read_skill_resource", "run_skill_script"],
    inTurn: (turn) => skills.inTurn(turn),
    calls: {
      keepOutput: ({ toolName, input, output }) => {
        const isKept = toolName === ACTIVATE && isObject(input) && `${output}`.startsWith("<skill_content ");
        return isKept ? `${ACTIVATE} ${input["name"]}` : undefined;
      }
    },
    cleared: () => skills.activations.clear()
  };
}

class AgentSkills {
  readonly activations: Activations;
  readonly #session: SkillSession;
  readonly #agent: SkillsMembers;
  readonly #turns: TurnEngine;
  readonly #warnings = new WarnOnce((message) => console.warn(`[skills] ${message}`));
  #registry: SkillRegistry | undefined;

  constructor({ agent, sql, session, turns }: ChatServices) {
    this.#turns = turns;
    // Only agents with these members open it.
    this.#agent = agent as SkillsMembers;
    this.#session = session;
    this.activations = new Activations(sql);
  }

  /** Never throws: a turn goes on without what could not be had. */
  async inTurn(turn: TurnView): Promise<TurnPart | undefined> {
    try {
      const registry = (this.#registry ??= await this.#open());
      if (!registry) return undefined;
      await registry.refresh();
      for (const warning of registry.warnings) this.#warnings.warn(warning);
      const { catalogPrompt } = registry.snapshot();
      if (catalogPrompt === null) return undefined;
      const tools = await registry.tools({
        onActivate: ({ name }, toolCallId) => this.activations.add({ name, toolCallId, messageId: turn.messageId })
      });
      const restored = await this.#restored(registry);
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

  /** The instructions of skills that were activated where the model no longer sees it. */
  async #restored(registry: SkillRegistry): Promise<{ label: string; text: string }[]> {
    const hidden = this.#hidden();
    if (hidden.length === 0) return [];
    const texts: string[] = [];
    let left = MAX_ALL_RESTORED_CHARS;
    for (const { name } of hidden) {
      const skill = await registry.loadSkill(name).catch((error: unknown) => {
        this.#warnings.warn(`The active skill "${name}" could not be loaded: ${errorMessage(error)}`);
        return null;
      });
      const text = skill && activationText(skill, MAX_RESTORED_CHARS);
      if (!text || text.length > left) continue;
      left -= text.length;
      texts.push(text);
    }
    const lead = "You activated these skills earlier in this conversation; they still apply:";
    return texts.length === 0 ? [] : [{ label: "active_skills", text: [lead, ...texts].join("\n\n") }];
  }

  /** Newest first. Those of other branches are left out. */
  #hidden(): SkillActivation[] {
    const known = this.activations.list();
    if (known.length === 0) return [];
    const shown = new Set(
      this.#turns
        .transcript()
        .flatMap(({ parts }) => parts.flatMap((part) => (isToolPart(part) ? part.toolCallId : [])))
    );
    return known.filter(({ toolCallId, messageId }) => !shown.has(toolCallId) && this.#isOnPath(messageId));
  }

  #isOnPath(messageId: string): boolean {
    const { store } = this.#session;
    // A store of the user's cannot be asked for branches.
    if (!store) return true;
    const header = store.rows.header(messageId);
    return header !== undefined && (store.isLinear || store.locate(header).isOnPath);
  }
}
