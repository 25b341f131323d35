// What a capability does that offers only some tools of a turn, and what is known of where a tool comes from. A turn of an
// agent without it offers all tools. Types, and one symbol.
import type { ToolSet, UIMessage } from "ai";
import type { OfferedTools, StepSettings, StepStart } from "../model/index.ts";
import { isObject } from "../util/json.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";
import type { MergedTools, ToolLayerName } from "./tool-layers.ts";

/** Under which a tool says where it comes from. Registered, so that two copies of the package agree on it. */
export const TOOL_GROUP: unique symbol = Symbol.for("everthink.tool-group") as typeof TOOL_GROUP;

/** Tools that belong together: those of an MCP server, of an extension, or of the class. */
export interface ToolGroup {
  readonly kind: "server" | "extension" | "actions" | "tools";
  /** Of the server or extension; of others that of the kind. */
  readonly name: string;
}

const KINDS: Readonly<Partial<Record<ToolLayerName, ToolGroup["kind"]>>> = {
  mcp: "server",
  extensions: "extension",
  actions: "actions",
  tools: "tools"
};

/** The group of a tool; undefined: it is of a layer whose tools are always offered. */
export function groupOfTool(tool: unknown, layer: ToolLayerName | undefined): ToolGroup | undefined {
  const kind = layer && KINDS[layer];
  if (kind === undefined) return undefined;
  const named: unknown = isObject(tool) && TOOL_GROUP in tool ? tool[TOOL_GROUP] : undefined;
  return { kind, name: typeof named === "string" ? named : kind };
}

/** A skill with the tools that its instructions are for. */
export interface SkillTools {
  readonly name: string;
  /** As the model calls them. */
  readonly tools: readonly string[];
}

export interface ToolDiscoveryRole {
  /** Which tools of an attempt are deferred. Undefined: all are offered. A throw fails the turn. */
  defer(turn: DiscoveryTurn): MaybePromise<DeferredTools | undefined>;
}

export interface DiscoveryTurn {
  /** After the channel has narrowed them. */
  readonly merged: MergedTools;
  /** As the model is shown it. */
  readonly history: readonly UIMessage[];
}

/** The deferred tools of one attempt. */
export interface DeferredTools {
  /** What finds them. Joins the tools of the turn. */
  readonly tools: ToolSet;
  /** A section of the prompt that says what can be found. It does not depend on what was found. */
  readonly prompt: { readonly label: string; readonly text: string };
  /** With the tools and settings that the turn has in the end, `beforeTurn` included. */
  open(turn: OfferedTurn): StepOffers;
  /** What a call of the search gives. */
  search(input: unknown): Promise<object>;
  /** What was deferred and what that saves, in tokens. */
  explain(): Promise<DeferredToolsExplanation>;
}

export interface OfferedTurn {
  readonly tools: ToolSet;
  /** Tools that `beforeTurn` added: they are offered. */
  readonly added: ToolSet;
  readonly settings: Pick<StepSettings, "activeTools" | "toolChoice">;
}

export interface StepOffers extends OfferedTools {
  /** Before each step: the settings that the step has otherwise, with the tools that it offers. */
  beforeStep(event: Pick<StepStart, "steps">, settings: StepSettings): StepSettings;
}

export interface DeferredToolsExplanation {
  /** Tools that a turn may find. */
  readonly tools: number;
  readonly groups: readonly { readonly kind: ToolGroup["kind"]; readonly name: string; readonly tools: number }[];
  /** Deferred tools that are offered, in the order in which they were found. */
  readonly active: readonly string[];
  /** What all tools of the turn would take in each prompt. Estimated, as the numbers below. */
  readonly tokensOfAll: number;
  /** What is offered takes, with the section that names the groups. */
  readonly tokensOffered: number;
  readonly savedTokens: number;
}
