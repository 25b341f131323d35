// Everything a turn's model call needs, gathered in one fixed order: wait for tools that are still connecting, collect
// tools, apply the channel, build the prompt, convert the history, get the model, ask `beforeTurn`, and merge what it
// said. Each step runs once per attempt. Wrapping tools, authorising them and making the call are left to the engine.
import type { ModelMessage, ToolSet, UIMessage } from "ai";
import {
  endInQuestion,
  NoMessagesError,
  toModelMessages,
  truncateOldMessages,
  type ModelCallHooks,
  type Sdk,
  type TruncateOptions
} from "../model/index.ts";
import type { AssembledTurn } from "../turn/hooks.ts";
import type { TurnContext as EngineTurn } from "../turn/turn.ts";
import { canonicalJson } from "../util/json.ts";
import { ChatCaller } from "./chat-caller.ts";
import type { ChannelPolicy } from "./channel-policy.ts";
import { clientToolSet } from "./client-tools.ts";
import type { TurnConfig } from "./hooks.ts";
import type { HistoryTruncation, ThinkOverrides } from "./overrides.ts";
import { promptSections, renderPrompt, withCapabilities, type PromptSection, type SessionPrompt } from "./prompt.ts";
import { mergeToolLayers, type MergedTools, type ToolCollision, type ToolLayer } from "./tool-layers.ts";
import type { ToolSource } from "./tool-source.ts";
import { factsOf } from "./turn-facts.ts";
import { WarnOnce } from "./warn-once.ts";

/** How long a turn waits for MCP servers when the class does not say. */
export const MCP_WAIT_MS = 10_000;

/** What features add to every turn. */
export interface TurnFeatures {
  readonly toolSources?: readonly ToolSource[];
  /** The rendered context blocks, if there are any. */
  readonly sessionPrompt?: () => Promise<SessionPrompt | undefined>;
  /** Absent: there are no channels, and a turn's channel is only a name. */
  readonly channelPolicy?: (channel: string) => ChannelPolicy | undefined;
  /** How many messages of the path come before the history given: the window did not reach them. */
  readonly hiddenMessages?: (history: readonly UIMessage[]) => number;
}

export interface AssemblyInit {
  readonly overrides: ThinkOverrides;
  readonly sdk: Sdk;
  /** Looked up for each turn. */
  readonly features: () => TurnFeatures;
  readonly warn?: (message: string) => void;
}

/** The tools and texts that `beforeTurn` is shown. */
interface Draft {
  readonly merged: MergedTools;
  readonly sections: readonly PromptSection[];
  readonly messages: ModelMessage[];
  readonly policy: ChannelPolicy | undefined;
}

export class Assembly {
  readonly #init: AssemblyInit;
  readonly #warnings: WarnOnce;

  constructor(init: AssemblyInit) {
    this.#init = init;
    this.#warnings = new WarnOnce(init.warn);
  }

  /** `modelHooks` are the user's own; they are passed on. */
  async assemble(turn: EngineTurn, history: UIMessage[], modelHooks: ModelCallHooks): Promise<AssembledTurn> {
    const { overrides } = this.#init;
    const draft = await this.#draft(turn, history);
    const model = overrides.getModel();
    const system = renderPrompt(withCapabilities(draft.sections, draft.merged.layerOf));
    const config: TurnConfig =
      (await overrides.beforeTurn({
        ...factsOf(turn),
        system,
        messages: [...draft.messages],
        tools: { ...draft.merged.tools },
        model,
        continuation: turn.continuation,
        ...(turn.body !== undefined && { body: turn.body })
      })) ?? {};
    return { ...this.#settled(draft, config), model: config.model ?? model, modelHooks };
  }

  async #draft(turn: EngineTurn, history: UIMessage[]): Promise<Draft> {
    await this.#untilConnected(turn);
    const policy = this.#policyOf(turn);
    const merged = await this.#narrowed(await this.#collect(turn), policy);
    const sections = await this.#sections(policy);
    const messages = await this.#modelMessages(history, merged.tools);
    if (messages.length === 0) throw new NoMessagesError();
    return { merged, sections, messages, policy };
  }

  /** A server that cannot be reached costs its tools, not the turn. */
  async #untilConnected(turn: EngineTurn): Promise<void> {
    const { waitForMcpConnections: wait } = this.#init.overrides;
    if (!wait) return;
    const timeoutMs = (wait === true ? undefined : wait.timeout) ?? MCP_WAIT_MS;
    const sources = (this.#init.features().toolSources ?? []).filter((source) => source.layer === "mcp");
    for (const result of await Promise.allSettled(sources.map(async (source) => source.ready?.(timeoutMs)))) {
      if (result.status === "rejected") console.warn("Waiting for MCP servers failed:", result.reason);
    }
    turn.signal.throwIfAborted();
  }

  async #collect(turn: EngineTurn): Promise<MergedTools> {
    const { overrides } = this.#init;
    const { toolSources = [] } = this.#init.features();
    const layers: ToolLayer[] = [{ name: "tools", tools: overrides.getTools() }];
    for (const source of toolSources) layers.push({ name: source.layer, tools: await source.tools(turn) });
    const executor = turn.origin instanceof ChatCaller ? turn.origin.onClientToolCall : undefined;
    const client = clientToolSet(turn.clientTools, executor);
    for (const name of client.duplicates) {
      this.#warnings.warn(`The client describes the tool "${name}" more than once; the last description counts.`);
    }
    layers.push({ name: "client", tools: client.tools });
    const merged = mergeToolLayers(layers, { clientOverrides: overrides.allowClientToolOverrides });
    for (const collision of merged.collisions) this.#warnOfClientTool(collision);
    return merged;
  }

  #warnOfClientTool({ toolName, winner, loser }: ToolCollision): void {
    if (winner === "client") {
      this.#warnings.warn(
        `A client tool replaces "${toolName}" (${loser}). Set allowClientToolOverrides = false to keep the server's.`
      );
    } else if (loser === "client") {
      this.#warnings.warn(`The client's tool "${toolName}" is ignored: the server has one of that name (${winner}).`);
    }
  }

  #policyOf({ channel }: EngineTurn): ChannelPolicy | undefined {
    const { channelPolicy } = this.#init.features();
    if (channel === undefined || channelPolicy === undefined) return undefined;
    const policy = channelPolicy(channel);
    if (policy === undefined) this.#warnings.warn(`The channel "${channel}" is not registered; it changes nothing.`);
    return policy;
  }

  async #narrowed(merged: MergedTools, policy: ChannelPolicy | undefined): Promise<MergedTools> {
    if (policy?.tools === undefined) return merged;
    const kept = await policy.tools({ ...merged.tools });
    // A channel narrows: what it brings itself counts as the class's own.
    const layerOf = new Map(Object.keys(kept).map((name) => [name, merged.layerOf.get(name) ?? "tools"] as const));
    return { ...merged, tools: kept, layerOf };
  }

  async #sections(policy: ChannelPolicy | undefined): Promise<PromptSection[]> {
    const { overrides } = this.#init;
    const { sessionPrompt } = this.#init.features();
    const { instructions } = policy ?? {};
    const channelInstructions = typeof instructions === "function" ? await instructions() : instructions;
    const session = await sessionPrompt?.();
    return promptSections({
      base: () => overrides.getSystemPrompt(),
      ...(channelInstructions !== undefined && { channelInstructions }),
      ...(session !== undefined && { session })
    });
  }

  #modelMessages(history: UIMessage[], tools: ToolSet): Promise<ModelMessage[]> {
    const { sdk, overrides } = this.#init;
    const { hiddenMessages, toolSources = [] } = this.#init.features();
    const { wholeOutputs, ...limits } = overrides.historyTruncation;
    const shown = truncateOldMessages(history, {
      ...limits,
      offset: hiddenMessages?.(history) ?? 0,
      keepOutput: keptOutputs(wholeOutputs ?? [], toolSources)
    });
    return toModelMessages(sdk, shown, {
      tools,
      onDropped: (calls) => {
        const names = calls.map(({ toolName }) => toolName).join(", ");
        console.warn(`The model is not shown tool calls that have no result yet: ${names}.`);
      }
    });
  }

  /** What is left when the turn's own configuration has had its say. */
  #settled(draft: Draft, config: TurnConfig): Omit<AssembledTurn, "model" | "modelHooks"> {
    const { overrides } = this.#init;
    const { model: _model, system, messages, tools: extra, maxSteps, stopWhen, sendReasoning, ...settings } = config;
    const own: ToolLayer[] = extra === undefined ? [] : [{ name: "turn", tools: extra }];
    const added = mergeToolLayers(own, { clientOverrides: true });
    const tools = { ...draft.merged.tools, ...added.tools };
    const exposed = new Map([...draft.merged.layerOf, ...added.layerOf]);
    return {
      system: system ?? renderPrompt(withCapabilities(draft.sections, exposed)),
      messages: endInQuestion(messages ?? draft.messages),
      tools,
      settings,
      maxSteps: maxSteps ?? draft.policy?.maxTurns ?? overrides.maxSteps,
      ...(stopWhen !== undefined && { stopWhen }),
      sendReasoning: sendReasoning ?? overrides.sendReasoning
    };
  }
}

function keptOutputs(
  wholeOutputs: NonNullable<HistoryTruncation["wholeOutputs"]>,
  sources: readonly ToolSource[]
): NonNullable<TruncateOptions["keepOutput"]> {
  return (call) => {
    if (wholeOutputs.includes(call.toolName)) return `${call.toolName} ${canonicalJson(call.input)}`;
    for (const source of sources) {
      const key = source.keepOutput?.(call);
      if (key !== undefined) return key;
    }
    return undefined;
  };
}
