// The deferred tools of one attempt: what finds them, and which of them each step offers. What was found before the attempt
// comes from its history, what is found in it from its steps, by the same fold: the next attempt and the next turn, which
// read both from the transcript, come to the same set in the same order.
import { jsonSchema, tool, type Tool, type ToolSet } from "ai";
import type { RedirectedCall, StepSettings, StepStart } from "../../model/index.ts";
import type {
  DeferredTools,
  DeferredToolsExplanation,
  OfferedTurn,
  StepOffers,
  ToolGroup
} from "../../feature/tool-discovery.ts";
import { estimateStringTokens } from "../../session/tokens.ts";
import { isObject } from "../../util/json.ts";
import { truncateText } from "../../util/truncate-value.ts";
import { titleOf, type CatalogueGroup } from "./catalogue.ts";
import { describeTool, tokensOf, type DescribedTool } from "./describe.ts";
import type { ToolIndex } from "./tool-index.ts";
import { installedSdk } from "../../model/index.ts";
import { activeTools, foldUses, usesOfCall, type UsedTools } from "./used-tools.ts";

/** Tools that one search gives. */
export const FOUND_TOOLS = 5;
export const MAX_FOUND_TOOLS = 10;
/** Of each description in a result: the whole of it comes with the tool. */
const MAX_DESCRIPTION_CHARS = 300;

export interface DeferredTool {
  readonly tool: Tool;
  readonly group: ToolGroup;
}

export interface DiscoveredToolsInit {
  readonly deferred: ReadonlyMap<string, DeferredTool>;
  /** All tools of the turn; only those that are offered in the end count for the explanation. */
  readonly all: ToolSet;
  readonly groups: readonly CatalogueGroup[];
  readonly promptText: string;
  /** By the history. */
  readonly used: UsedTools;
  readonly maxActive: number;
  readonly searchName: string;
  readonly index: () => Promise<ToolIndex>;
}

export class DiscoveredTools implements DeferredTools {
  readonly #init: DiscoveredToolsInit;
  readonly tools: ToolSet;
  #offers: Offers | undefined;

  constructor(init: DiscoveredToolsInit) {
    this.#init = init;
    this.tools = { [init.searchName]: this.#searchTool() };
  }

  get prompt() {
    return { label: "tool discovery", text: this.#init.promptText };
  }

  open(turn: OfferedTurn): StepOffers {
    this.#offers = new Offers(this.#init, turn);
    return this.#offers;
  }

  async explain(): Promise<DeferredToolsExplanation> {
    const { all, deferred, groups, promptText, used, maxActive } = this.#init;
    const active = activeTools(used, { isDeferred: (name) => deferred.has(name), maxActive });
    const offered = new Set([...Object.keys(all).filter((name) => !deferred.has(name)), ...active]);
    const search = await Promise.all(Object.entries(this.tools).map(([name, one]) => tokensOfTool(name, one)));
    let [tokensOfAll, tokensOffered] = [0, estimateStringTokens(promptText) + (search[0] ?? 0)];
    for (const [name, one] of Object.entries(all)) {
      const tokens = await tokensOfTool(name, one);
      tokensOfAll += tokens;
      if (offered.has(name)) tokensOffered += tokens;
    }
    return {
      tools: deferred.size,
      groups: groups.map(({ kind, name, tools }) => ({ kind, name, tools })),
      active,
      tokensOfAll,
      tokensOffered,
      savedTokens: tokensOfAll - tokensOffered
    };
  }

  #searchTool(): Tool {
    return tool({
      description:
        "Finds tools that are not described to you yet. Give the task in a few words, with the name of the service if you know it; search again in other words if the right one is not there. What it finds you can call from your next step on.",
      inputSchema: jsonSchema<SearchInput>(SEARCH_SCHEMA),
      execute: (input) => this.search(input)
    });
  }

  /** What a call of the search tool gives. */
  async search(input: unknown): Promise<{ tools: object[]; note: string }> {
    const { query, tool: named, limit } = isObject(input) ? input : {};
    if (typeof named === "string" && this.#mayOffer(named)) return this.#described(named);
    const words = [query, named].filter((one) => typeof one === "string").join(" ");
    const wanted = typeof limit === "number" && limit >= 1 ? Math.floor(limit) : FOUND_TOOLS;
    const index = await this.#init.index();
    const names = index.search(words, Infinity).filter((name) => this.#mayOffer(name));
    const { maxActive } = this.#init;
    const found = names.slice(0, Math.min(wanted, MAX_FOUND_TOOLS, maxActive));
    if (found.length === 0) return { tools: [], note: "No tool matches. Search in other words, or go on without." };
    return { tools: await Promise.all(found.map((name) => this.#shown(name))), note: FOUND };
  }

  /** The class may have narrowed the tools of the turn further. */
  #mayOffer(name: string): boolean {
    return this.#init.deferred.has(name) && this.#offers?.mayOffer(name) !== false;
  }

  async #described(name: string): Promise<{ tools: object[]; note: string }> {
    const { inputSchema } = await this.#descriptionOf(name);
    return { tools: [{ ...(await this.#shown(name)), inputSchema }], note: NOT_RUN };
  }

  async #shown(name: string): Promise<object> {
    const { description } = await this.#descriptionOf(name);
    const group = this.#init.deferred.get(name)?.group;
    return {
      name,
      ...(group && { from: titleOf(group) }),
      description: truncateText(description, MAX_DESCRIPTION_CHARS)
    };
  }

  #descriptionOf(name: string): Promise<DescribedTool> {
    return describeTool(name, this.#init.deferred.get(name)?.tool ?? ({} as Tool), installedSdk());
  }
}

interface SearchInput {
  query?: string;
  tool?: string;
  limit?: number;
}

const SEARCH_SCHEMA = {
  type: "object",
  properties: {
    query: { type: "string", description: "What the tool should do, in a few words." },
    tool: { type: "string", description: "The exact name of a tool, to see its input." },
    limit: { type: "integer", minimum: 1, maximum: MAX_FOUND_TOOLS, description: `Default ${FOUND_TOOLS}.` }
  },
  additionalProperties: false
} as const;

const FOUND = "You can call these tools from your next step on.";
const NOT_RUN =
  "This tool was not described to you yet: nothing has run. Call it again in your next step, with input that fits this schema.";

async function tokensOfTool(name: string, one: Tool): Promise<number> {
  return tokensOf(await describeTool(name, one, installedSdk()));
}

/** What the steps of one attempt offer. */
class Offers implements StepOffers {
  readonly #init: DiscoveredToolsInit;
  readonly #turn: OfferedTurn;
  /** Always offered, in the order of the turn. */
  readonly #kept: readonly string[];
  #names: readonly string[];
  #offered: ReadonlySet<string>;
  /** What the class limits the step to. */
  #limit: ReadonlySet<string> | undefined;

  constructor(init: DiscoveredToolsInit, turn: OfferedTurn) {
    this.#init = init;
    this.#turn = turn;
    this.#kept = Object.keys(turn.tools).filter((name) => !this.#isDeferred(name));
    this.#names = this.#namesOf([], turn.settings);
    this.#offered = new Set(this.#names);
  }

  names(): readonly string[] {
    return this.#names;
  }

  mayOffer(name: string): boolean {
    return this.#isDeferred(name) && this.#limit?.has(name) !== false;
  }

  redirect(toolName: string): RedirectedCall | undefined {
    const { searchName } = this.#init;
    if (this.#offered.has(toolName) || !this.mayOffer(toolName) || !this.#offered.has(searchName)) return undefined;
    return { toolName: searchName, input: { tool: toolName } };
  }

  beforeStep({ steps }: Pick<StepStart, "steps">, settings: StepSettings): StepSettings {
    const { activeTools: turnActive, toolChoice: turnChoice } = this.#turn.settings;
    const { activeTools = turnActive, toolChoice = turnChoice } = settings;
    this.#names = this.#namesOf(steps, { activeTools, toolChoice });
    this.#offered = new Set(this.#names);
    return { ...settings, activeTools: [...this.#names] };
  }

  /** A tool that `beforeTurn` brings in place of a deferred one is the turn's own. */
  #isDeferred(name: string): boolean {
    return this.#init.deferred.has(name) && !Object.hasOwn(this.#turn.added, name);
  }

  #namesOf(steps: StepStart["steps"], { activeTools: limit, toolChoice }: OfferedTurn["settings"]): string[] {
    const { used, maxActive } = this.#init;
    this.#limit = limit && new Set(limit);
    const isDeferred = (name: string) => this.#isDeferred(name);
    const active = activeTools(foldUses(used, steps.flatMap(usesOfStep)), { isDeferred, maxActive });
    // What the class names one by one it wants described; a long list only leaves some out.
    const listed = limit?.filter(isDeferred) ?? [];
    const chosen = listed.length <= maxActive ? listed : [];
    const pinned = isObject(toolChoice) && isDeferred(toolChoice.toolName) ? [toolChoice.toolName] : [];
    const names = new Set([...this.#kept, ...active, ...chosen, ...pinned]);
    return [...names].filter((name) => this.#limit?.has(name) !== false);
  }
}

function usesOfStep({ toolCalls, toolResults }: StepStart["steps"][number]) {
  const outputs = new Map(toolResults.map(({ toolCallId, output }) => [toolCallId, output as unknown]));
  return toolCalls.flatMap(({ toolName, toolCallId }) => usesOfCall({ toolName, output: outputs.get(toolCallId) }));
}
