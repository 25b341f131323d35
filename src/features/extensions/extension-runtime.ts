// Extensions as a feature of a class with `extensionLoader`: loaded when the agent starts, in every turn with their tools, and
// with their hooks after the class's own. Nothing here fails a turn or a start: what an extension would have added is missing,
// and the log says why.
import { callSnapshot, chunkSnapshot, finishedCallSnapshot, stepSnapshot, turnSnapshot } from "./hook-snapshots.ts";
import { ExtensionManager, type ExtensionConfig } from "./manager.ts";
import { mergeTurnChanges, turnChangesOf } from "./turn-changes.ts";
import type { ChunkEvent, FinishedToolCall, StepEnd, ToolCallToRun } from "../../model/index.ts";
import type { IsolateLoader } from "../../sandbox/isolate.ts";
import type { TurnView } from "../../turn/turn.ts";
import { errorMessage } from "../../util/errors.ts";
import { AgentExtensionConversation } from "./extension-conversation.ts";
import type { ExtensionMembers } from "./capability.ts";
import type { ActionMembers } from "../actions/capability.ts";
import type { WorkspaceMembers } from "../workspace/capability.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import type { Feature, Roles, TurnObserver, TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { TurnConfig, TurnContext } from "../../feature/hooks.ts";
import { READ_RESULT } from "../../feature/read-result.ts";

/** What the class has for extensions, and what their tools may not be called like. */
type Owner = ExtensionMembers & Pick<WorkspaceMembers, "workspace"> & Partial<Pick<ActionMembers, "getActions">>;

export class ExtensionRuntime implements Feature, TurnObserver {
  readonly name = "extensions";
  readonly calls = { runsTool: (toolName: string) => Object.hasOwn(this.#manager?.getTools() ?? {}, toolName) };
  readonly roles: Partial<Roles> = { observer: this };
  readonly #services: ChatServices;
  readonly #agent: Owner;
  readonly #conversation: AgentExtensionConversation;

  constructor(services: ChatServices) {
    this.#services = services;
    // Only agents with these members open it.
    this.#agent = services.agent as Owner;
    this.#conversation = new AgentExtensionConversation(services);
  }

  async start(): Promise<void> {
    const { extensionLoader } = this.#agent;
    this.#agent.extensionManager ??= extensionLoader && this.#openManager(extensionLoader);
    const degrade = (error: unknown) => this.#services.degrade("feature:extensions", error);
    // Before the stored ones: they have their names.
    await this.#loadStatic().catch(degrade);
    await this.#manager?.restore().catch(degrade);
  }

  ready(): void {
    this.#conversation.goLive();
  }

  async inTurn(turn: TurnView): Promise<TurnPart | undefined> {
    const manager = this.#manager;
    if (!manager) return undefined;
    // Again if the storage failed at the start.
    await manager.restore().catch((error: unknown) => {
      console.error(`Stored extensions could not be read: ${errorMessage(error)}`);
    });
    const tools = manager.getTools();
    return {
      tools: Object.keys(tools).length > 0 ? { extensions: tools } : undefined,
      configure: manager.hooks.wants("beforeTurn")
        ? (context, config, maxSteps) => this.#configured(turn, { manager, context, config, maxSteps })
        : undefined
    };
  }

  async beforeToolCall(turn: TurnView, call: ToolCallToRun): Promise<void> {
    await this.#manager?.hooks.observe(turn, "beforeToolCall", () => callSnapshot(call));
  }

  async afterToolCall(turn: TurnView, call: FinishedToolCall): Promise<void> {
    await this.#manager?.hooks.observe(turn, "afterToolCall", () => finishedCallSnapshot(call));
  }

  async onStepFinish(turn: TurnView, event: StepEnd): Promise<void> {
    // An extension is subscribed to one of the two.
    for (const hook of ["onStepFinish", "onStepEnd"] as const) {
      await this.#manager?.hooks.observe(turn, hook, () => stepSnapshot(event));
    }
  }

  onChunk(turn: TurnView, { chunk }: ChunkEvent): void {
    this.#manager?.hooks.chunk(turn, () => chunkSnapshot(chunk));
  }

  settled({ turnId }: TurnView): void {
    this.#manager?.hooks.turnEnded(turnId);
  }

  get #manager(): ExtensionManager | undefined {
    return this.#agent.extensionManager;
  }

  async #loadStatic(): Promise<void> {
    await this.#manager?.loadStatic(staticOf(this.#agent.getExtensions()));
  }

  #openManager(loader: IsolateLoader): ExtensionManager {
    const services = this.#services;
    const agent = this.#agent;
    return new ExtensionManager({
      loader,
      storage: runtimeOf(agent).ctx.storage,
      workspace: agent.workspace,
      conversation: this.#conversation,
      hookTimeout: () => agent.hookTimeout,
      reservedNames: () => this.#reservedNames(),
      emit: (type, payload) => services.emit(type, payload),
      background: (work) => services.background(work)
    });
  }

  /** Tools of the class and of the package. A class may return the extensions' own tools again: those are not reserved. */
  #reservedNames(): string[] {
    const { overrides, features } = this.#services;
    const own = [overrides.getTools(), this.#agent.getActions?.() ?? {}];
    const loaded = this.#manager?.getTools() ?? {};
    return [
      ...features.with("toolNames").flatMap(({ toolNames }) => toolNames),
      READ_RESULT,
      ...own.flatMap((tools) => Object.keys(tools))
    ].filter((name) => !Object.hasOwn(loaded, name));
  }

  /** What `beforeTurn` of the class said, and what those of extensions say after it. */
  async #configured(
    turn: TurnView,
    {
      manager,
      context,
      config,
      maxSteps
    }: { manager: ExtensionManager; context: TurnContext; config: TurnConfig; maxSteps: number }
  ): Promise<TurnConfig> {
    const services = this.#services;
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
          body: context.body
        }),
      answered: ({ name, permissions }, answer) => {
        const bounds = {
          toolNames: permissions.turn === "rewrite" ? all : toolNames(),
          maxSteps: changed.maxSteps ?? maxSteps
        };
        const changes = turnChangesOf(answer, permissions.turn, bounds);
        changed = mergeTurnChanges(changed, changes);
        const { ignored } = changes;
        services.emit("extension:turn", {
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
