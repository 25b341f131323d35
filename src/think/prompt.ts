// The system prompt as ordered, named sections. No section replaces another silently: the one exception, context blocks
// that the user declared in place of a base prompt, is a field of the input. Pure.
import { AGENT_TOOL } from "../feature/tool-layers.ts";
import { estimateStringTokens } from "../session/tokens.ts";
import { byteLength } from "../util/bytes.ts";
import { isObject } from "../util/json.ts";
import type { ExplainedSection, PromptExplanation, PromptSectionName } from "../feature/prompt-explanation.ts";
import type { MergedTools, ToolLayerName } from "../feature/tool-layers.ts";

/**
 * First line of the capability block. A prompt that contains it gets no further block: put it into your own prompt to
 * leave the block out.
 */
export const CAPABILITY_SENTINEL = "<!-- everthink:capabilities -->";

export const DEFAULT_SYSTEM_PROMPT = [
  "You are a careful assistant.",
  "Find out what is wanted and how things stand before you change anything.",
  "Make the smallest change that does the job, and leave the rest as it is.",
  "Do not delete or overwrite things, and do not bring in new dependencies, unless you were asked to.",
  "Check your work where you can. Say plainly what you checked and what you could not.",
  "End with a short, direct summary of what you did and what is left."
].join("\n");

export interface PromptSection {
  readonly name: PromptSectionName;
  /** Of a section that a feature brought. */
  readonly label?: string;
  readonly text: string;
}

/** What the session's context blocks render to. */
export interface SessionPrompt {
  readonly text: string;
  /** The user declared the blocks and meant them as the prompt; blocks of features only add to it. */
  readonly replacesBase: boolean;
  /** The same text, block by block; for explaining it. */
  readonly blocks?: readonly { readonly label: string; readonly text: string }[];
}

export interface PromptInput {
  /** Of the channel the turn came through. */
  readonly channelInstructions?: string;
  /** `getSystemPrompt()`; called only if it is used. */
  readonly base: () => string;
  readonly session?: SessionPrompt;
  /** What features add, in their order. */
  readonly features?: readonly { readonly label: string; readonly text: string }[];
}

/** Everything but the capability block, in order, empty sections left out. */
export function promptSections(input: PromptInput): PromptSection[] {
  const { session, channelInstructions = "", features = [] } = input;
  const context = session?.text ?? "";
  const isReplaced = context !== "" && session?.replacesBase === true;
  const sections: PromptSection[] = [
    { name: "channel", text: channelInstructions },
    { name: "base", text: isReplaced ? "" : input.base() },
    { name: "context", text: context },
    ...features.map((section) => ({ name: "feature" as const, ...section }))
  ];
  return sections.filter((section) => section.text !== "");
}

/** The sections with the capability block for these tools behind them, unless they have one. */
export function withCapabilitySection(sections: readonly PromptSection[], tools: ExposedTools): PromptSection[] {
  if (sections.some((section) => section.text.includes(CAPABILITY_SENTINEL))) return [...sections];
  return [...sections, { name: "capabilities", text: capabilityBlock(tools) }];
}

export function renderPrompt(sections: readonly PromptSection[]): string {
  return sections.map((section) => section.text).join("\n\n");
}

/** The turn's tools by name, each with the layer it came from; `agents`: it is another agent. */
export type ExposedTools = ReadonlyMap<string, ToolLayerName | "agents">;

export function exposedTools({ tools, layerOf }: Pick<MergedTools, "tools" | "layerOf">): ExposedTools {
  const kindOf = (name: string, layer: ToolLayerName) => {
    const tool: unknown = tools[name];
    return isObject(tool) && AGENT_TOOL in tool ? "agents" : layer;
  };
  return new Map([...layerOf].map(([name, layer]) => [name, kindOf(name, layer)] as const));
}

const FILE_TOOLS = ["read", "write", "edit", "list", "find", "grep", "delete"];

/** What a tool of this layer may reach; several layers can say the same. */
const REACH: Readonly<Record<ToolLayerName | "agents", string>> = {
  workspace: "code on the server",
  tools: "code on the server",
  actions: "code on the server",
  context: "code on the server",
  skills: "code on the server",
  turn: "code on the server",
  client: "the user's browser",
  mcp: "MCP servers",
  extensions: "extensions",
  agents: "other agents"
};

export function capabilityBlock(tools: ExposedTools): string {
  const agents = [...tools].flatMap(([name, layer]) => (layer === "agents" ? [name] : []));
  const hasAny = (...names: string[]) => names.some((name) => tools.has(name));
  const bullets: [isTrue: boolean, text: () => string][] = [
    [hasAny(...FILE_TOOLS), () => "You can look at and change files in the workspace."],
    [tools.size > 0, () => "Use a tool when it helps. Its description and schema say what it does; trust them."],
    [tools.size > 0, () => `Your tools may reach ${reachOf(tools)}.`],
    [
      hasAny("load_context", "unload_context"),
      () => "Load the memory, skills or context that matter to a task before you start on it."
    ],
    [
      hasAny("load_extension", "list_extensions"),
      () => "Turn to extensions only when one directly helps with the task at hand."
    ],
    [
      agents.length > 0,
      () => `You can give a whole task to another agent, each by the tool of its name: ${agents.join(", ")}.`
    ],
    [hasAny("execute"), () => "Prefer sandboxed execution for bounded checks that take several steps."],
    [true, () => "Do not claim abilities that are not listed here or given to you as a tool."]
  ];
  const lines = bullets.filter(([isTrue]) => isTrue).map(([, text]) => `- ${text()}`);
  return [CAPABILITY_SENTINEL, "What you can do in this turn:", ...lines].join("\n");
}

/** Named in a fixed order, so that the text depends on which kinds there are and on nothing else. */
function reachOf(tools: ExposedTools): string {
  const present = new Set([...tools.values()].map((layer) => REACH[layer]));
  const kinds = [...new Set(Object.values(REACH))].filter((kind) => present.has(kind));
  const last = kinds.at(-1) ?? "";
  return kinds.length < 2 ? last : `${kinds.slice(0, -1).join(", ")} and ${last}`;
}

// ── What the prompt is made of, and what each piece costs ──

/**
 * A base prompt that blocks took the place of is listed too, so that it does not seem lost. `tools`: those of the turn in
 * question, for the section that names what the model can do.
 */
export function explainPrompt(input: PromptInput, tools: ExposedTools): PromptExplanation {
  const shown = withCapabilitySection(promptSections(input), tools);
  const text = renderPrompt(shown);
  const explained = shown.flatMap((section): ExplainedSection[] => {
    const { name } = section;
    const blocks = name === "context" ? input.session?.blocks : undefined;
    return blocks?.map((block) => measure({ name, ...block })) ?? [measure(section)];
  });
  return { sections: withReplacedBase(explained, input), text, ...sizes(text) };
}

/** Listed where it would have been: in front of the blocks. */
function withReplacedBase(sections: readonly ExplainedSection[], input: PromptInput): ExplainedSection[] {
  const at = sections.findIndex(({ name }) => name === "context");
  const isReplaced = at >= 0 && sections.every(({ name }) => name !== "base");
  const base = isReplaced ? input.base() : "";
  if (base === "") return [...sections];
  return sections.toSpliced(at, 0, { ...measure({ name: "base", text: base }), replacedBy: "context" });
}

function measure(section: Pick<ExplainedSection, "name" | "label" | "text">): ExplainedSection {
  return { ...section, ...sizes(section.text) };
}

function sizes(text: string): { sizeBytes: number; tokens: number } {
  return { sizeBytes: byteLength(text), tokens: estimateStringTokens(text) };
}
