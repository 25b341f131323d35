// Everything a turn's model call needs, gathered in one fixed order: wait for tools that are still connecting, shorten
// the history, collect tools, apply the channel, build the prompt, convert the history, get the model, ask `beforeTurn`,
// and merge what it said. Each step runs once per attempt. Wrapping tools, authorising them and making the call are left
// to the engine.
import type { ModelMessage, ToolSet, UIMessage } from "ai";
import {
  endInQuestion,
  isToolPart,
  modelErrors,
  toModelMessages,
  type ModelCallHooks,
  type ModelSettings,
  type Sdk
} from "../model/index.ts";
import type { AssembledTurn } from "../turn/hooks.ts";
import { isContinuation, type TurnView } from "../turn/turn.ts";
import { withHidden } from "../util/hidden-fields.ts";
import { ChatCaller, clientToolSet } from "../feature/client-tools.ts";
import { ProactiveGuard, proactiveLimits, shrunkAfterOverflows } from "./context-overflow.ts";
import type { ChannelPolicy } from "../feature/feature.ts";
import type { DeferredTools, StepOffers } from "../feature/tool-discovery.ts";
import type { TurnFeatures } from "../feature/turn-features.ts";
import type { TurnPreview } from "../feature/services.ts";
import { WarnOnce } from "../util/warn-once.ts";
import type { TurnConfig, TurnContext } from "../feature/hooks.ts";
import type { Overrides } from "./overrides.ts";
import {
  explainPrompt,
  exposedTools,
  promptSections,
  renderPrompt,
  withCapabilitySection,
  type PromptInput,
  type PromptSection,
  type SessionPrompt
} from "./prompt.ts";
import { CutOutputs, READ_RESULT, readResultTool } from "../feature/read-result.ts";
import { mergeToolLayers, type MergedTools, type ToolCollision, type ToolLayer } from "../feature/tool-layers.ts";
import { changedInputsPrompt } from "./changed-inputs.ts";
import { withDetails } from "./turn-details.ts";
import type { TurnParts } from "../feature/turn-parts.ts";

/** Tool names that one warning lists, and how much of each. */
const LISTED_NAMES = 5;
const LISTED_NAME_CHARS = 64;

/** What the guard of the context window needs of the conversation. */
export interface OverflowPort {
  /** Shortens the history; false when it could not. Never throws. */
  compact(turn: TurnView, attempt: number): Promise<boolean>;
  /** The path that ends at a message, as it is shown now. */
  path(leafId: string): UIMessage[];
  has(messageId: string): boolean;
}

export interface AssemblyInit {
  readonly overrides: Overrides;
  /** Absent: there is no guard. */
  readonly overflow?: OverflowPort;
  readonly sdk: Sdk;
  readonly features: TurnFeatures;
  /** The rendered context blocks; undefined when no block says anything. */
  readonly sessionPrompt?: () => Promise<SessionPrompt | undefined>;
  /** The same without storing or freezing it: for explanations, which must change nothing. */
  readonly peekedPrompt?: () => Promise<SessionPrompt | undefined>;
  /** A message as it is stored, uncut. Absent: what is given is all there is. */
  readonly wholeMessage?: (messageId: string) => UIMessage | undefined;
  readonly warn?: (message: string) => void;
}

/** What the model reads when an action it was waiting for is decided, and the last word is its own. */
const DECIDED_TEXT = "The action that was waiting for approval has been decided; its outcome now stands above. Go on.";
/** The same for a call of an earlier answer, after others have come. */
const ANSWERED_TEXT = "A call that was waiting has been answered; its outcome now stands above. Go on.";

export interface AssemblyInput {
  readonly history: UIMessage[];
  /** How often the turn has outgrown the context window. */
  readonly overflows: number;
  /** The user's own; they are passed on. */
  readonly modelHooks: ModelCallHooks;
}

/** What a turn would be given, for inspectors. */
/** How long the model may be silent when the class does not say; tools are not counted then. */
export const DEFAULT_STALL_MS = 600_000;

/** The tools and texts that `beforeTurn` is shown. */
interface Draft {
  /** With what finds the deferred ones. */
  readonly merged: MergedTools;
  readonly deferred: DeferredTools | undefined;
  readonly parts: TurnParts;
  readonly sections: readonly PromptSection[];
  readonly messages: ModelMessage[];
  readonly policy: ChannelPolicy | undefined;
  /** What of the history is shown only in part, and whether the model has our tool to read it. */
  readonly cut: CutOutputs;
  readonly canReadCut: boolean;
  /** The history ends in what an earlier attempt wrote of this very answer. */
  readonly isPartial: boolean;
}

export class Assembly {
  readonly #init: AssemblyInit;
  readonly #warnings: WarnOnce;

  constructor(init: AssemblyInit) {
    this.#init = init;
    this.#warnings = new WarnOnce(init.warn);
  }

  async assemble(turn: TurnView, input: AssemblyInput): Promise<AssembledTurn> {
    const { history } = input;
    const { overrides } = this.#init;
    const draft = await this.#draft(turn, history);
    const model = draft.parts.model(() => overrides.getModel());
    const { modelHint } = draft.parts.asked;
    const system = renderPrompt(withCapabilitySection(draft.sections, exposedTools(draft.merged)));
    const { body } = turn;
    const shown = {
      system,
      instructions: system,
      messages: [...draft.messages],
      trigger: turn.trigger,
      continuation: isContinuation(turn),
      ...(body !== undefined && { body }),
      ...(modelHint !== undefined && { modelHint })
    };
    const tools = { ...draft.merged.tools };
    const context: TurnContext = withHidden(withDetails(shown, turn), { tools, model });
    const own = withSystem((await overrides.beforeTurn(context)) ?? {});
    const config = await draft.parts.configured(context, own, this.#maxSteps(draft));
    const settled = this.#fitted(turn, input, { draft, settled: this.#settled(draft, config, turn) });
    const { signal } = context;
    const joined = await draft.parts.join(settled, () =>
      withHidden({ ...context }, { signal, model, tools: settled.tools })
    );
    const offered = draft.deferred?.open({ ...joined, added: config.tools ?? {} });
    const resolveModel = (id: string) => overrides.resolveModel(id);
    return { ...joined, ...(offered && withOffers(joined, offered)), model: config.model ?? model, resolveModel };
  }

  /** A turn that outgrew the context window is shown less of its own results, and any turn may be guarded. */
  #fitted(
    turn: TurnView,
    { history, overflows, modelHooks }: AssemblyInput,
    { draft, settled }: { draft: Draft; settled: Omit<AssembledTurn, "model" | "modelHooks"> }
  ): Omit<AssembledTurn, "model"> {
    const { overflow, overrides } = this.#init;
    const ownCallIds = callIdsOf(history.find(({ id }) => id === turn.messageId));
    const shrunk = (messages: ModelMessage[]) => shrunkAfterOverflows(messages, { overflows, ownCallIds });
    const messages = shrunk(settled.messages);
    const limits = proactiveLimits(overrides.contextOverflow);
    if (!limits || !overflow) return { ...settled, messages, modelHooks };
    const rebuild = this.#rebuilding(overflow, { history, draft, messages: settled.messages });
    const guard = new ProactiveGuard({
      limits,
      ownCallIds,
      compact: (attempt) => overflow.compact(turn, attempt),
      rebuild: rebuild && (async () => shrunk(await rebuild()))
    });
    return { ...settled, messages, modelHooks: { ...modelHooks, rebase: (event) => guard.rebase(event) } };
  }

  /** The messages with what the history is now where it was then; undefined when they do not hold it as it was. */
  #rebuilding(
    overflow: OverflowPort,
    { history, draft, messages }: { history: UIMessage[]; draft: Draft; messages: ModelMessage[] }
  ): (() => Promise<ModelMessage[]>) | undefined {
    // What stands behind it is not stored: allowed calls that are about to run.
    const end = history.findLastIndex(({ id }) => overflow.has(id));
    const leaf = history[end];
    const start = startOfRun(messages, draft.messages);
    if (leaf === undefined || start < 0) return undefined;
    // As they were shown: what the turn itself changed of them since then comes after them.
    const shown = new Map(history.map((message) => [message.id, message]));
    return async () => {
      const stored = overflow.path(leaf.id).map((message) => shown.get(message.id) ?? message);
      const path = [...stored, ...history.slice(end + 1)];
      const cut = draft.cut.show(path, this.#truncation(draft.canReadCut));
      const converted = await this.#modelMessages(cut, draft.merged.tools);
      const rebuilt = messages.toSpliced(start, draft.messages.length, ...converted);
      // Those of the beginning are part of the system prompt already.
      return rebuilt.filter(({ role }) => role !== "system");
    };
  }

  /** What a turn that starts now would be given, up to `beforeTurn`, which is not called. Nothing is stored. */
  async preview(turn: TurnView, history: readonly UIMessage[]): Promise<TurnPreview> {
    const policy = this.#policyOf(turn);
    const cut = new CutOutputs();
    const shown = cut.show(history, this.#truncation(true));
    const own = this.#ownTools();
    const parts = await this.#init.features.inTurn(turn);
    const result = this.#resultTools(parts, cut);
    const all = await this.#narrowed(this.#collect(turn, { own, parts, result }), policy);
    const deferred = await this.#init.features.deferredTools({ merged: all, history });
    const merged = deferred ? withSearch(all, deferred) : all;
    const prompt = [...(deferred ? [deferred.prompt] : []), ...parts.prompt, ...changedInputsPrompt(history)];
    const explained = explainPrompt(
      await this.#promptInput(prompt, policy, this.#init.peekedPrompt),
      exposedTools(merged)
    );
    const explanation = deferred ? { ...explained, deferredTools: await deferred.explain() } : explained;
    const { tools } = merged;
    const offered = deferred?.open({ tools, added: {}, settings: {} }).names() ?? Object.keys(tools);
    return { explanation, merged, deferred, offered, shown, modelMessages: (of) => this.#modelMessages(of, tools) };
  }

  async #draft(turn: TurnView, history: UIMessage[]): Promise<Draft> {
    await this.#untilConnected(turn);
    const policy = this.#policyOf(turn);
    const cut = new CutOutputs();
    const named = cut.show(history, this.#truncation(true));
    const own = this.#ownTools();
    const parts = await this.#init.features.inTurn(turn);
    const resultTools = this.#resultTools(parts, cut);
    const all = await this.#narrowed(this.#collect(turn, { own, parts, result: resultTools }), policy);
    const deferred = await this.#init.features.deferredTools({ merged: all, history });
    const merged = deferred ? withSearch(all, deferred) : all;
    const prompt = [...(deferred ? [deferred.prompt] : []), ...parts.prompt, ...changedInputsPrompt(history)];
    const sections = promptSections(await this.#promptInput(prompt, policy));
    // The class may have a tool of that name, and a channel may leave it out: then nothing may point to it.
    const canReadCut = !cut.isEmpty && merged.tools[READ_RESULT] === resultTools[READ_RESULT];
    const shown = canReadCut || cut.isEmpty ? named : cut.show(history, this.#truncation(false));
    const messages = await this.#modelMessages(shown, merged.tools);
    if (messages.length === 0) throw modelErrors.NoMessagesError();
    const isPartial = history.at(-1)?.id === turn.messageId;
    return { merged, deferred, parts, sections, messages, policy, cut, canReadCut, isPartial };
  }

  /** The class's. A tool may carry the feature that it belongs to. */
  #ownTools(): ToolSet {
    const own = this.#init.overrides.getTools();
    this.#init.features.adopt(Object.values(own));
    return own;
  }

  /** One tool for everything that was or may be cut; none in a turn without such a thing. */
  #resultTools(parts: TurnParts, cut?: CutOutputs): ToolSet {
    const { wholeMessage } = this.#init;
    const ofHistory = cut === undefined || cut.isEmpty ? [] : [cut.reader((id) => wholeMessage?.(id))];
    return readResultTool([...ofHistory, ...parts.resultReaders]);
  }

  async #untilConnected(turn: TurnView): Promise<void> {
    await this.#init.features.untilConnected();
    turn.signal.throwIfAborted();
  }

  #collect(turn: TurnView, { own, parts, result }: { own: ToolSet; parts: TurnParts; result: ToolSet }): MergedTools {
    const executor = turn.origin instanceof ChatCaller ? turn.origin.onClientToolCall : undefined;
    const client = clientToolSet(turn.clientTools, executor);
    for (const name of client.duplicates) {
      this.#warnings.warn(`The client describes the tool "${name}" more than once; the last description counts.`);
    }
    const layers: ToolLayer[] = [
      { name: "tools", tools: own },
      // Below everything: it must not hide a tool of the same name.
      { name: "workspace", tools: result },
      ...parts.toolLayers,
      { name: "client", tools: client.tools }
    ];
    const clientOverrides = this.#init.overrides.allowClientToolOverrides;
    const merged = mergeToolLayers(layers, { clientOverrides });
    for (const collision of merged.collisions) this.#warnOfClientTool(collision);
    return merged;
  }

  #warnOfClientTool({ toolName, winner, loser }: ToolCollision): void {
    if (winner === "client") {
      this.#warnings.warn(`A client tool replaces "${toolName}" (${loser}), because allowClientToolOverrides is true.`);
    } else if (loser === "client") {
      this.#warnings.warn(`The client's tool "${toolName}" is ignored: the server has one of that name (${winner}).`);
    }
  }

  #policyOf({ channel }: TurnView): ChannelPolicy | undefined {
    if (channel === undefined) return undefined;
    const policy = this.#init.features.channelPolicy(channel);
    if (policy === null) this.#warnings.warn(`The channel "${channel}" is not registered; it changes nothing.`);
    return policy ?? undefined;
  }

  async #narrowed(merged: MergedTools, policy: ChannelPolicy | undefined): Promise<MergedTools> {
    if (policy?.tools === undefined) return merged;
    const kept = await policy.tools({ ...merged.tools });
    // A channel narrows: what it brings itself counts as the class's own.
    const layerOf = new Map(Object.keys(kept).map((name) => [name, merged.layerOf.get(name) ?? "tools"] as const));
    return { ...merged, tools: kept, layerOf };
  }

  async #promptInput(
    features: TurnParts["prompt"],
    policy: ChannelPolicy | undefined,
    sessionPrompt = this.#init.sessionPrompt
  ): Promise<PromptInput> {
    const { overrides } = this.#init;
    const { instructions } = policy ?? {};
    const channelInstructions = typeof instructions === "function" ? await instructions() : instructions;
    const session = await sessionPrompt?.();
    return {
      base: () => overrides.getSystemPrompt(),
      ...(channelInstructions !== undefined && { channelInstructions }),
      ...(session !== undefined && { session }),
      features
    };
  }

  #truncation(areNamed: boolean): Parameters<CutOutputs["show"]>[1] {
    const { features, overrides } = this.#init;
    const { wholeOutputs, ...limits } = overrides.historyTruncation;
    return { ...limits, keepOutput: features.keptOutputs(wholeOutputs), areNamed };
  }

  #modelMessages(shown: readonly UIMessage[], tools: ToolSet): Promise<ModelMessage[]> {
    return toModelMessages(this.#init.sdk, shown, {
      tools,
      onDropped: (calls) => {
        const names = [...new Set(calls.map(({ toolName }) => toolName.slice(0, LISTED_NAME_CHARS)))];
        const more = names.length > LISTED_NAMES ? ` and ${names.length - LISTED_NAMES} more` : "";
        const listed = names.slice(0, LISTED_NAMES).join(", ");
        this.#warnings.warn(`The model is not shown tool calls that have no result yet: ${listed}${more}.`);
      }
    });
  }

  /** What is left when the turn's own configuration has had its say. */
  #settled(draft: Draft, config: TurnConfig, turn: TurnView): Omit<AssembledTurn, "model" | "modelHooks"> {
    const { overrides } = this.#init;
    const { model: _model, system, messages, tools: extra, maxSteps, stopWhen, sendReasoning, ...others } = config;
    const { chatStreamStallTimeoutMs, maxTurnTokens, messageMetadata = this.#messageMetadata, ...settings } = others;
    const own: ToolLayer[] = extra === undefined ? [] : [{ name: "turn", tools: extra }];
    const added = mergeToolLayers(own, { clientOverrides: true });
    const tools = { ...draft.merged.tools, ...added.tools };
    const exposed = exposedTools({ tools, layerOf: new Map([...draft.merged.layerOf, ...added.layerOf]) });
    return {
      system: system ?? renderPrompt(withCapabilitySection(draft.sections, exposed)),
      messages: endInQuestion(messages ?? draft.messages, draft.isPartial ? undefined : requestOf(turn)),
      tools,
      // Wider in the options of the user's: the SDK passes provider options on as they are.
      settings: settings as ModelSettings,
      maxSteps: maxSteps ?? this.#maxSteps(draft),
      ...(stopWhen !== undefined && { stopWhen }),
      sendReasoning: sendReasoning ?? overrides.sendReasoning,
      ...(messageMetadata !== undefined && { messageMetadata }),
      sendUsage: overrides.sendUsage,
      stall: this.#stall(chatStreamStallTimeoutMs),
      maxTokens: maxTurnTokens ?? overrides.maxTurnTokens
    };
  }

  /** The class's own, with the agent as its `this`. */
  get #messageMetadata(): TurnConfig["messageMetadata"] {
    const { overrides } = this.#init;
    return overrides.messageMetadata && ((event) => overrides.messageMetadata?.(event));
  }

  /** Unless `beforeTurn` says otherwise. */
  #maxSteps({ parts, policy }: Draft): number {
    return parts.asked.maxSteps ?? policy?.maxTurns ?? this.#init.overrides.maxSteps;
  }

  /** A window that the user chose counts tools, as documented; ours is safe because it does not. */
  #stall(forTurn: number | undefined): AssembledTurn["stall"] {
    const { chatStreamStallTimeoutMs, chatStreamStallIncludesTools } = this.#init.overrides;
    const chosen = forTurn ?? chatStreamStallTimeoutMs;
    return {
      timeoutMs: chosen ?? DEFAULT_STALL_MS,
      includesTools: chatStreamStallIncludesTools ?? chosen !== undefined
    };
  }
}

/** With the system prompt under one name. */
function withSystem({ instructions, ...config }: TurnConfig): TurnConfig {
  return instructions === undefined || config.system !== undefined ? config : { ...config, system: instructions };
}

/** The tools of a turn with the one that finds those that are not offered at once. */
function withSearch(all: MergedTools, { tools }: DeferredTools): MergedTools {
  const layers = Object.keys(tools).map((name) => [name, "workspace"] as const);
  return { ...all, tools: { ...all.tools, ...tools }, layerOf: new Map([...all.layerOf, ...layers]) };
}

/** The steps of a turn with the tools that each of them offers. */
function withOffers(
  { modelHooks }: Pick<AssembledTurn, "modelHooks">,
  offered: StepOffers
): Pick<AssembledTurn, "modelHooks" | "offered"> {
  return {
    offered,
    modelHooks: {
      ...modelHooks,
      prepareStep: async (event) => offered.beforeStep(event, { ...(await modelHooks.prepareStep?.(event)) })
    }
  };
}

/** What a continuation is asked for when the last word is the model's; undefined: to go on where it stopped. */
function requestOf({ trigger, resolvesMessageId }: TurnView): string | undefined {
  if (trigger === "approval") return DECIDED_TEXT;
  return resolvesMessageId === undefined ? undefined : ANSWERED_TEXT;
}

function callIdsOf(message: UIMessage | undefined): string[] {
  return message?.parts.flatMap((part) => (isToolPart(part) ? [part.toolCallId] : [])) ?? [];
}

/** Where the same objects stand in the same order; -1 if they do not. */
function startOfRun(messages: readonly ModelMessage[], run: readonly ModelMessage[]): number {
  const start = run[0] === undefined ? -1 : messages.indexOf(run[0]);
  return start >= 0 && run.every((message, index) => messages[start + index] === message) ? start : -1;
}
