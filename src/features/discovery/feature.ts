// Deferring tools as a feature of an agent with a conversation. A turn whose tools are few is left alone: nothing is
// described, measured or indexed for it. What is known of the tools of one turn is kept for the next with the same tools.
import type { Tool, ToolSet } from "ai";
import type { CallOutcome } from "../../journal/records.ts";
import type { CutOffCall } from "../../turn/hooks.ts";
import { jsonOf } from "../../turn/tool-calls.ts";
import type { TurnView } from "../../turn/turn.ts";
import type { CallOwner, Feature, Roles } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { groupOfTool, type DeferredTools, type DiscoveryTurn, type SkillTools } from "../../feature/tool-discovery.ts";
import { installedSdk } from "../../model/index.ts";
import type { ToolDiscoveryMembers } from "./capability.ts";
import { cataloguePrompt, groupsOf } from "./catalogue.ts";
import { describeTool, indexedTool, tokensOf, type DescribedTool } from "./describe.ts";
import { DiscoveredTools, type DeferredTool } from "./discovered-tools.ts";
import {
  DEFAULT_MAX_ACTIVE,
  DEFAULT_WINDOW_TOKENS,
  FEW_TOOLS,
  planDeferral,
  type PlannedTool,
  type ToolDiscovery
} from "./plan.ts";
import { ToolIndex } from "./tool-index.ts";
import { foldUses, isSearchName, NO_TOOLS, noteFor, SEARCH_TOOLS, usesIn } from "./used-tools.ts";

/** Tools of one turn that may be deferred, by name. */
type Deferrable = ReadonlyMap<string, DeferredTool>;

export class ToolDiscoveryFeature implements Feature {
  readonly name = "tool-discovery";
  readonly toolNames = [SEARCH_TOOLS];
  readonly roles: Partial<Roles>;
  /** A search that a death has cut off is made again: it changes nothing. */
  readonly calls: CallOwner = {
    keepsOutcome: (_turn, { toolName }) => isSearchName(toolName),
    lateOutcome: (turn, call) => this.#searchAgain(turn, call)
  };
  readonly #services: ChatServices;
  readonly #sizes = new Kept<ReadonlyMap<string, number>>();
  readonly #indexes = new Kept<ToolIndex>();

  constructor(services: ChatServices) {
    this.#services = services;
    this.roles = { toolDiscovery: { defer: (turn) => this.#defer(turn) } };
  }

  start(): void {
    this.#services.session.noteInSummaries(noteFor);
  }

  #defer(turn: DiscoveryTurn): Promise<DeferredTools | undefined> | undefined {
    const { toolDiscovery: setting } = this.#services.agent as ToolDiscoveryMembers;
    if (setting === false || (setting === "auto" && turn.merged.layerOf.size <= FEW_TOOLS)) return undefined;
    const deferrable = deferrableOf(turn.merged);
    return deferrable.size === 0 ? undefined : this.#planned(turn, deferrable, setting);
  }

  async #planned(
    { merged: { tools }, history }: DiscoveryTurn,
    deferrable: Deferrable,
    setting: Exclude<ToolDiscovery, false>
  ): Promise<DeferredTools | undefined> {
    const sizes = setting === "auto" ? await this.#sizesOf(tools) : new Map<string, number>();
    const tokensOfTool = (name: string) => sizes.get(name) ?? 0;
    const others = Object.keys(tools).filter((name) => !deferrable.has(name));
    const names = planDeferral({
      setting,
      tools: [...deferrable].map(([name, one]) => planned(name, one, tokensOfTool(name))),
      others: { count: others.length, tokens: others.reduce((sum, name) => sum + tokensOfTool(name), 0) },
      windowTokens: this.#windowTokens()
    });
    if (names.length === 0) return undefined;
    const deferred = new Map(names.flatMap((name) => [...entryOf(deferrable, name)]));
    const groups = groupsOf([...deferred].map(([name, { group }]) => ({ name, group })));
    const searchName = freeName(tools);
    return new DiscoveredTools({
      deferred,
      all: tools,
      groups,
      promptText: cataloguePrompt({ groups, skills: this.#skillsOf(deferred) }, searchName),
      used: foldUses(NO_TOOLS, usesIn(history)),
      maxActive: maxActiveOf(setting),
      searchName,
      index: () => this.#indexOf(deferred)
    });
  }

  #skillsOf(deferred: Deferrable): SkillTools[] {
    const skills = this.#services.features.role("skillTools")?.() ?? [];
    return skills.flatMap(({ name, tools }) => {
      const own = tools.filter((one) => deferred.has(one));
      return own.length === 0 ? [] : [{ name, tools: own }];
    });
  }

  async #searchAgain({ channel }: TurnView, { toolName, input }: CutOffCall): Promise<CallOutcome | undefined> {
    if (!isSearchName(toolName)) return undefined;
    const { features, previewTurn } = this.#services;
    await features.role("untilConnected")?.();
    const { deferred } = await previewTurn(channel, []);
    // The class may have a tool of that name.
    if (!deferred || !Object.hasOwn(deferred.tools, toolName)) return undefined;
    return { kind: "output", output: jsonOf(await deferred.search(input)) };
  }

  #windowTokens(): number {
    const { maxInputTokens } = this.#services.overrides.contextOverflow?.proactive ?? {};
    return typeof maxInputTokens === "number" && maxInputTokens > 0 ? maxInputTokens : DEFAULT_WINDOW_TOKENS;
  }

  #sizesOf(tools: ToolSet): Promise<ReadonlyMap<string, number>> {
    return this.#sizes.get(signatureOf(Object.entries(tools)), async () => {
      const described = await describeAll(Object.entries(tools));
      return new Map(described.map((one) => [one.name, tokensOf(one)]));
    });
  }

  #indexOf(deferred: Deferrable): Promise<ToolIndex> {
    const entries = [...deferred].map(([name, { tool }]) => [name, tool] as const);
    return this.#indexes.get(signatureOf(entries), async () => {
      const described = await describeAll(entries);
      return new ToolIndex(described.map((one) => indexedTool(one, deferred.get(one.name)?.group.name ?? "")));
    });
  }
}

/** The newest value, for as long as what it was made of is the same. */
class Kept<Value> {
  #known: { readonly signature: string; readonly value: Promise<Value> } | undefined;

  get(signature: string, make: () => Promise<Value>): Promise<Value> {
    if (this.#known?.signature !== signature) this.#known = { signature, value: make() };
    return this.#known.value;
  }
}

/** A tool that a client or a provider runs is always offered: its calls are not the server's to answer. */
function deferrableOf({ tools, layerOf }: DiscoveryTurn["merged"]): Deferrable {
  const deferrable = new Map<string, DeferredTool>();
  for (const [name, tool] of Object.entries(tools)) {
    const group = groupOfTool(tool, layerOf.get(name));
    const isRunHere = typeof tool.execute === "function" && !tool.type?.startsWith("provider");
    if (group && isRunHere) deferrable.set(name, { tool, group });
  }
  return deferrable;
}

function planned(name: string, { tool, group }: DeferredTool, tokens: number): PlannedTool {
  const description: unknown = tool.description;
  return { name, description: typeof description === "string" ? description : "", group, tokens };
}

function entryOf(deferrable: Deferrable, name: string): [string, DeferredTool][] {
  const one = deferrable.get(name);
  return one ? [[name, one]] : [];
}

/** The class's own tool of that name stays what it is. */
function freeName(tools: ToolSet): string {
  let name = SEARCH_TOOLS;
  for (let number = 1; Object.hasOwn(tools, name); number += 1) name = `${SEARCH_TOOLS}_${number}`;
  return name;
}

function maxActiveOf(setting: ToolDiscovery): number {
  const { maxActive = DEFAULT_MAX_ACTIVE } = typeof setting === "object" ? setting : {};
  return Math.max(1, Math.floor(maxActive) || DEFAULT_MAX_ACTIVE);
}

/** The same for tools that are described alike. Schemas are left out: they change with the description, or with a deploy. */
function signatureOf(tools: readonly (readonly [string, Tool])[]): string {
  return tools.map(([name, { description }]) => `${name}\n${String(description)}`).join("\n");
}

function describeAll(tools: readonly (readonly [string, Tool])[]): Promise<DescribedTool[]> {
  const sdk = installedSdk();
  return Promise.all(tools.map(([name, tool]) => describeTool(name, tool, sdk)));
}
