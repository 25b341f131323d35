// The extensions of one agent: loaded when it starts, in every turn with their tools and hooks. Nothing here fails a turn or
// a start: what an extension would have added is missing, and the log says why.
import { callSnapshot, chunkSnapshot, finishedCallSnapshot, stepSnapshot, turnSnapshot } from "./hook-snapshots.ts";
import { ExtensionManager, type ExtensionConfig, type ExtensionStorage } from "./manager.ts";
import { mergeTurnChanges, turnChangesOf } from "./turn-changes.ts";
import type { ChunkEvent, FinishedToolCall, StepEnd, ToolCallToRun } from "../../model/index.ts";
import type { IsolateLoader } from "../../sandbox/isolate.ts";
import type { EngineTurn } from "../../turn/turn.ts";
import { errorMessage } from "../../util/errors.ts";
import { AgentExtensionConversation } from "./extension-conversation.ts";
import type { ExtensionOwner } from "./extensions.ts";
import type { FeatureHost, TurnPart } from "../../feature/feature.ts";
import type { TurnConfig, TurnContext } from "../../feature/hooks.ts";
import { READ_RESULT } from "../../feature/read-result.ts";

export interface ExtensionRuntimeInit {
  readonly owner: ExtensionOwner;
  readonly host: FeatureHost;
  readonly storage: ExtensionStorage;
  /** Undefined: the class has a manager of its own. */
  readonly loader: IsolateLoader | undefined;
}

export class ExtensionRuntime {
  readonly #init: ExtensionRuntimeInit;
  readonly #conversation: AgentExtensionConversation;

  constructor(init: ExtensionRuntimeInit) {
    this.#init = init;
    const { owner, host } = init;
    this.#conversation = new AgentExtensionConversation({ owner, host });
    const { overrides } = owner;
    overrides.extensionManager ??= init.loader && this.#openManager(init.loader);
  }

  async start(): Promise<void> {
    const { owner } = this.#init;
    const degrade = (error: unknown) => owner.degrade("feature:extensions", error);
    // Before the stored ones: they have their names.
    await this.#loadStatic().catch(degrade);
    await this.#manager?.restore().catch(degrade);
  }

  ready(): void {
    this.#conversation.goLive();
  }

  async inTurn(turn: EngineTurn): Promise<TurnPart | undefined> {
    const manager = this.#manager;
    if (!manager) return undefined;
    // Again if the storage failed at the start.
    await manager.restore().catch((error: unknown) => {
      console.error(`Stored extensions could not be read: ${errorMessage(error)}`);
    });
    const tools = manager.getTools();
    return {
      ...(Object.keys(tools).length > 0 && { tools: { extensions: tools } }),
      ...(manager.hooks.wants("beforeTurn") && {
        configure: (context, config, maxSteps) => this.#configured(turn, { manager, context, config, maxSteps })
      })
    };
  }

  runsTool(toolName: string): boolean {
    return Object.hasOwn(this.#manager?.getTools() ?? {}, toolName);
  }

  async beforeToolCall(turn: EngineTurn, call: ToolCallToRun): Promise<void> {
    await this.#manager?.hooks.observe(turn, "beforeToolCall", () => callSnapshot(call));
  }

  async afterToolCall(turn: EngineTurn, call: FinishedToolCall): Promise<void> {
    await this.#manager?.hooks.observe(turn, "afterToolCall", () => finishedCallSnapshot(call));
  }

  async onStepFinish(turn: EngineTurn, event: StepEnd): Promise<void> {
    await this.#manager?.hooks.observe(turn, "onStepFinish", () => stepSnapshot(event));
  }

  onChunk(turn: EngineTurn, { chunk }: ChunkEvent): void {
    this.#manager?.hooks.chunk(turn, () => chunkSnapshot(chunk));
  }

  turnEnded(turnId: string): void {
    this.#manager?.hooks.turnEnded(turnId);
  }

  get #manager(): ExtensionManager | undefined {
    return this.#init.owner.overrides.extensionManager;
  }

  async #loadStatic(): Promise<void> {
    await this.#manager?.loadStatic(staticOf(this.#init.owner.overrides.getExtensions()));
  }

  #openManager(loader: IsolateLoader): ExtensionManager {
    const { owner, host, storage } = this.#init;
    const { overrides } = owner;
    return new ExtensionManager({
      loader,
      storage,
      workspace: overrides.workspace,
      conversation: this.#conversation,
      hookTimeout: () => overrides.hookTimeout,
      reservedNames: () => this.#reservedNames(),
      emit: host.emit,
      background: host.background
    });
  }

  /** Tools of the class and of the package. A class may return the extensions' own tools again: those are not reserved. */
  #reservedNames(): string[] {
    const { owner, host } = this.#init;
    const { overrides, features } = owner;
    const own = [overrides.getTools(), host.isOverridden("getActions") ? overrides.getActions() : {}];
    const loaded = this.#manager?.getTools() ?? {};
    return [...features.toolNames(), READ_RESULT, ...own.flatMap((tools) => Object.keys(tools))].filter(
      (name) => !Object.hasOwn(loaded, name)
    );
  }

  /** What `beforeTurn` of the class said, and what those of extensions say after it. */
  async #configured(
    turn: EngineTurn,
    {
      manager,
      context,
      config,
      maxSteps
    }: { manager: ExtensionManager; context: TurnContext; config: TurnConfig; maxSteps: number }
  ): Promise<TurnConfig> {
    const { host } = this.#init;
    const all = Object.keys({ ...context.tools, ...config.tools });
    let changed = config;
    const toolNames = () => changed.activeTools?.map(String) ?? all;
    await manager.hooks.ask(turn, "beforeTurn", {
      snapshot: () =>
        turnSnapshot({
          system: changed.system ?? context.system,
          toolNames: toolNames(),
          messageCount: (changed.messages ?? context.messages).length,
          continuation: context.continuation,
          modelId: modelIdOf(changed.model ?? context.model),
          ...(context.body && { body: context.body })
        }),
      answered: ({ name, permissions }, answer) => {
        const bounds = {
          toolNames: permissions.turn === "rewrite" ? all : toolNames(),
          maxSteps: changed.maxSteps ?? maxSteps
        };
        const changes = turnChangesOf(answer, permissions.turn, bounds);
        changed = mergeTurnChanges(changed, changes);
        const { ignored } = changes;
        host.emit("extension:turn", {
          name,
          turnId: turn.turnId,
          changed: Object.keys(changes.fields),
          ignored: [...ignored]
        });
        if (ignored.length > 0)
          console.warn(`beforeTurn of the extension "${name}" may not set, or set to no use: ${ignored.join(", ")}.`);
      }
    });
    return changed;
  }
}

/** What the class itself declares is trusted with its turns, unless its manifest says otherwise. */
function staticOf(configs: readonly ExtensionConfig[]): ExtensionConfig[] {
  return configs.map(({ manifest, source }) => ({
    manifest: { ...manifest, permissions: { turn: "rewrite", ...manifest.permissions } },
    source
  }));
}

function modelIdOf(model: TurnContext["model"]): string {
  if (typeof model === "string") return model;
  const { modelId } = model as { modelId?: unknown };
  return typeof modelId === "string" ? modelId : "unknown";
}
