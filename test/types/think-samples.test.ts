// Classes in the shape that documentation and users' code have them, one per topic. They must compile as they stand;
// running this file proves little more.
import { hasToolCall, Output, tool, type LanguageModel, type ModelMessage, type ToolSet, type UIMessage } from "ai";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { SubAgentStub } from "../../src/agent-class/index.ts";
import {
  defaultContextOverflowClassifier,
  Think,
  type ChatErrorClassification,
  type ChatErrorContext,
  type ChatOptions,
  type ChatResponseResult,
  type ChunkContext,
  type PrepareStepContext,
  type SaveMessagesResult,
  type Session,
  type StepConfig,
  type StepContext,
  type StreamCallback,
  type ToolCallContext,
  type ToolCallDecision,
  type ToolCallResultContext,
  type TurnConfig,
  type TurnContext,
  type TurnResult
} from "../../src/index.ts";

interface Env {
  MODELS: { open(id: string): LanguageModel };
  METRICS: { write(point: { blobs?: string[]; doubles?: number[] }): void };
}

const kitchenTools = {
  findRecipe: tool({
    description: "Find a recipe.",
    inputSchema: z.object({ dish: z.string(), limit: z.number().optional() }),
    execute: async ({ dish }) => ({ dish, minutes: 20 })
  }),
  askGuest: tool({ description: "Ask the guest.", inputSchema: z.object({ question: z.string() }) }),
  throwAway: tool({
    description: "Throw leftovers away.",
    inputSchema: z.object({ item: z.string() }),
    needsApproval: true,
    execute: async ({ item }) => `${item} is gone`
  })
};

class Cook extends Think<Env> {
  override getModel() {
    return this.env.MODELS.open("small");
  }
  override getSystemPrompt() {
    return "You plan meals.";
  }
  override getTools() {
    return kitchenTools;
  }
}

abstract class SettingsInTheClassBody extends Think<Env, { guests: number }, { table: string }> {
  override initialState = { guests: 0 };
  override maxSteps = 4;
  override sendReasoning = false;
  override waitForMcpConnections = { timeout: 5_000 };
  override messageConcurrency = { strategy: "debounce" as const, debounceMs: 300 };
  override hydrationByteBudget = 1_000_000;
  override mediaEviction = false;
  override allowClientToolOverrides = false;
  override historyTruncation = { keepRecent: 6, wholeOutputs: ["findRecipe"] };
}

abstract class WaitsForServers extends Think<Env> {
  override waitForMcpConnections = true;
  override messageConcurrency = "latest" as const;
}

abstract class PlainBeforeTurn extends Think<Env> {
  small = this.env.MODELS.open("small");
  override beforeTurn(ctx: TurnContext) {
    if (ctx.continuation) return { model: this.small };
  }
}

abstract class RestrictsTools extends Think<Env> {
  override beforeTurn(_ctx: TurnContext) {
    return { activeTools: ["findRecipe", "askGuest"] };
  }
}

abstract class UsesTheBody extends Think<Env> {
  override beforeTurn(ctx: TurnContext) {
    if (ctx.body?.selectedDish) return { system: ctx.system + `\n\nThe guest looks at: ${ctx.body.selectedDish}` };
  }
}

abstract class HidesReasoning extends Think<Env> {
  override beforeTurn(ctx: TurnContext) {
    if (ctx.continuation) return { sendReasoning: false };
  }
}

abstract class FewerSteps extends Think<Env> {
  override beforeTurn(ctx: TurnContext) {
    if (ctx.messages.length > 100) return { maxSteps: 3 };
  }
}

const Verdict = z.object({ severity: z.enum(["low", "high"]) });

abstract class StructuredAnswer extends Think<Env> {
  override beforeTurn(ctx: TurnContext) {
    if (ctx.body?.mode === "verdict") return { output: Output.object({ schema: Verdict }), activeTools: [] };
  }
}

abstract class EverySetting extends Think<Env> {
  override async beforeTurn(ctx: TurnContext): Promise<TurnConfig | void> {
    return {
      model: ctx.model,
      system: ctx.system,
      messages: ctx.messages.slice(-10),
      tools: { extra: kitchenTools.findRecipe },
      activeTools: ["extra"],
      toolChoice: { type: "tool", toolName: "extra" },
      maxSteps: 2,
      stopWhen: [hasToolCall("extra")],
      sendReasoning: true,
      maxOutputTokens: 100,
      temperature: 0.2,
      topP: 1,
      topK: 5,
      presencePenalty: 0,
      frequencyPenalty: 0,
      stopSequences: ["END"],
      seed: 7,
      maxRetries: 0,
      timeout: 30_000,
      headers: { "x-turn": ctx.turnId },
      providerOptions: { anthropic: { thinking: { type: "enabled" } } },
      experimental_telemetry: { isEnabled: true, recordInputs: false },
      repairToolCall: async () => null
    };
  }
}

abstract class BuildsOnItsParent extends EverySetting {
  override async beforeTurn(ctx: TurnContext): Promise<TurnConfig> {
    const inherited = (await super.beforeTurn(ctx)) ?? {};
    return { ...inherited, maxSteps: 1, stopWhen: hasToolCall("extra") };
  }
}

abstract class StepByStep extends Think<Env> {
  override beforeStep(ctx: PrepareStepContext): StepConfig | void {
    if (ctx.stepNumber > 0) return { activeTools: [] };
  }
}

abstract class TypedSteps extends Think<Env> {
  override getTools() {
    return kitchenTools;
  }
  override beforeStep(ctx: PrepareStepContext<typeof kitchenTools>): StepConfig | void {
    expectTypeOf(ctx.stepNumber).toEqualTypeOf<number>();
    expectTypeOf(ctx.messages).toEqualTypeOf<ModelMessage[]>();
    expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
    if (ctx.stepNumber === 0) {
      return { activeTools: ["findRecipe"], toolChoice: { type: "tool", toolName: "findRecipe" } };
    }
    if (ctx.steps.length > 3) return { model: this.env.MODELS.open("large"), system: "Come to an end." };
  }
  override onStepFinish(ctx: StepContext<typeof kitchenTools>) {
    const cache = ctx.providerMetadata?.anthropic as { cacheReadInputTokens?: number } | undefined;
    expectTypeOf(ctx.stepNumber).toEqualTypeOf<number>();
    expectTypeOf(ctx.attempt).toEqualTypeOf<number>();
    this.env.METRICS.write({ blobs: [ctx.finishReason, ctx.text], doubles: [cache?.cacheReadInputTokens ?? 0] });
    for (const call of ctx.toolCalls) {
      if (!call.dynamic && call.toolName === "findRecipe") expectTypeOf(call.input.dish).toEqualTypeOf<string>();
    }
  }
}

abstract class UntypedSteps extends Think<Env> {
  override onStepFinish(ctx: StepContext) {
    console.warn(`${ctx.stepNumber} ${ctx.finishReason} ${ctx.usage.inputTokens} ${ctx.usage.outputTokens}`);
    for (const source of ctx.sources) if (source.sourceType === "url") console.warn(source.url);
    if (ctx.reasoningText) console.warn(ctx.reasoningText, ctx.files.length, ctx.response.id, ctx.warnings?.length);
  }
  override onChunk(ctx: ChunkContext) {
    switch (ctx.chunk.type) {
      case "text-delta":
        this.streamed += ctx.chunk.text.length;
        break;
      case "reasoning-delta":
        console.warn(ctx.chunk.text);
        break;
      case "tool-call":
        console.warn(ctx.chunk.toolName, ctx.chunk.input);
        break;
    }
  }
  streamed = 0;
}

abstract class GuardsTools extends Think<Env> {
  closed = false;
  readonly known = new Map<string, string>();
  override beforeToolCall(ctx: ToolCallContext): ToolCallDecision | void {
    if (ctx.toolName === "throwAway" && this.closed) return { action: "block", reason: "The kitchen is closed." };
    const known = this.known.get(JSON.stringify(ctx.input));
    if (known) return { action: "substitute", output: known };
    expectTypeOf(ctx.abortSignal).toEqualTypeOf<AbortSignal | undefined>();
    expectTypeOf(ctx.stepNumber).toEqualTypeOf<number>();
    expectTypeOf(ctx.toolCallId).toEqualTypeOf<string>();
  }
  override afterToolCall(ctx: ToolCallResultContext) {
    if (!ctx.success) {
      this.env.METRICS.write({ blobs: [ctx.toolName, "error", String(ctx.error)], doubles: [ctx.durationMs] });
      return;
    }
    this.env.METRICS.write({ blobs: [ctx.toolName], doubles: [JSON.stringify(ctx.output).length] });
  }
}

abstract class ClampsInputs extends Think<Env> {
  override beforeToolCall(ctx: ToolCallContext<typeof kitchenTools>): ToolCallDecision | void {
    if (!ctx.dynamic && ctx.toolName === "findRecipe") {
      expectTypeOf(ctx.input.dish).toEqualTypeOf<string>();
      return { action: "allow", input: { ...ctx.input, limit: Math.min(ctx.input.limit ?? 10, 50) } };
    }
  }
  override afterToolCall(ctx: ToolCallResultContext<typeof kitchenTools>) {
    if (ctx.success) console.warn(ctx.toolName, ctx.durationMs, ctx.output);
    else console.error(ctx.toolName, ctx.error);
  }
}

abstract class AsksACache extends Think<Env> {
  override async beforeToolCall(ctx: ToolCallContext): Promise<ToolCallDecision | void> {
    const cached: unknown = await Promise.resolve(ctx.input);
    if (cached) return { action: "substitute", output: cached };
  }
}

abstract class OnlyLooks extends Think<Env> {
  override beforeToolCall(ctx: ToolCallContext) {
    console.warn(ctx.toolName, ctx.input);
  }
}

abstract class FollowsUp extends Think<Env> {
  override async onChatResponse(result: ChatResponseResult) {
    if (result.status === "completed" && result.message.parts.length > 1) {
      const saved = await this.saveMessages([
        { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: "Sum it up." }] }
      ]);
      expectTypeOf(saved).toEqualTypeOf<SaveMessagesResult>();
    }
    if (result.status === "error") console.error(result.requestId, result.error, result.continuation, result.turnId);
  }
}

abstract class PoliteErrors extends Think<Env> {
  override onChatError(error: unknown, ctx?: ChatErrorContext) {
    expectTypeOf(ctx!.stage).toEqualTypeOf<"parse" | "persist" | "turn" | "stream" | "recovery" | "transcript">();
    console.error("A turn failed:", ctx?.stage, ctx?.requestId, ctx?.messagesPersisted, error);
    if (ctx?.classification === "context_overflow") return new Error("Please start a new conversation.");
    return new Error("Please try again.");
  }
}

abstract class ShortErrors extends Think<Env> {
  override onChatError(error: unknown) {
    return error;
  }
}

abstract class BundledClassifier extends Think<Env> {
  override contextOverflow = { reactive: true };
  override classifyChatError = defaultContextOverflowClassifier;
}

abstract class OwnClassifier extends Think<Env> {
  override classifyChatError(error: unknown): ChatErrorClassification | void {
    if (error instanceof Error && /rate.?limit/i.test(error.message)) return "rate_limit";
    return defaultContextOverflowClassifier(error);
  }
}

abstract class ConfiguresItsSession extends Think<Env> {
  override configureSession(session: Session) {
    return session;
  }
}

abstract class ConfiguresLater extends Think<Env> {
  override async configureSession(session: Session): Promise<Session> {
    this.getConfig<{ tier: string }>();
    return session;
  }
}

type Taste = { tier: "fast" | "capable"; prompt: string };

class Configured extends Think<Env> {
  override getModel() {
    const tier = this.getConfig<Taste>()?.tier ?? "fast";
    return this.env.MODELS.open(tier);
  }
  upgrade() {
    this.configure<Taste>({ tier: "capable", prompt: "Be thorough." });
  }
}

abstract class StartsTurns extends Think<Env> {
  async everything(callback: StreamCallback, signal: AbortSignal) {
    const current = this.messages;
    expectTypeOf(current).toEqualTypeOf<UIMessage[]>();
    expectTypeOf(this.getMessages()).toEqualTypeOf<UIMessage[]>();
    await this.saveMessages((messages) => [...messages.slice(-1)], { signal });
    await this.saveMessages(async () => []);
    await this.continueLastTurn({ reason: "cut off" }, { signal });
    const waited = await this.runTurn({ input: "Plan dinner", channel: "web", body: { guests: 4 } });
    expectTypeOf(waited).toEqualTypeOf<TurnResult>();
    expectTypeOf(await this.runTurn({ mode: "wait", continuation: true })).toEqualTypeOf<TurnResult>();
    expectTypeOf(await this.runTurn({ mode: "stream", input: "Plan lunch", callback })).toEqualTypeOf<void>();
    await this.addMessages([{ id: "note", role: "assistant", parts: [] }], { parentId: null, mode: "upsert" });
    await this.addMessages((messages) => messages.slice(0, 0), { broadcast: false });
    if (this.hasPendingInteraction() && !(await this.waitUntilStable({ timeout: 1_000 }))) this.resetTurnState();
    this.abortRequest("r", "too slow");
    this.abortAllRequests();
    this.cancelAllChats();
    await this.clearMessages();
    return this.getOnStartDegradations().map(({ step, error }) => `${step}: ${error}`);
  }
  protected async repairs(message: UIMessage) {
    await this.appendMessageToHistory(message, "parent");
    await this.updateMessageInHistory(message);
    await this.syncMessagesFromStorage();
  }
}

abstract class Waiter extends Think<Env> {
  async ask(relay: StreamCallback): Promise<void> {
    const cook = await this.subAgent(Cook, "grill");
    await cook.chat("What is left?", relay);
    await cook.cancelChat("request", "the guest left");
    const options: ChatOptions = {
      body: { table: 3 },
      clientTools: [{ name: "ringBell", description: "Ring.", parameters: { type: "object" } }, { name: "wave" }],
      onClientToolCall: async ({ toolName, input, toolCallId }) => ({ toolName, input, toolCallId })
    };
    await cook.chat({ id: "m", role: "user", parts: [{ type: "text", text: "Now?" }] }, relay, options);
  }
}

class Relay implements StreamCallback {
  onStart(event: { requestId: string }) {
    console.warn(event.requestId);
  }
  async onEvent(json: string) {
    console.warn(json);
  }
  onDone() {}
  onError(error: string) {
    console.warn(error);
  }
}

test("every sample is a Think", () => {
  const samples: { prototype: object }[] = [
    Cook,
    SettingsInTheClassBody,
    WaitsForServers,
    PlainBeforeTurn,
    RestrictsTools,
    UsesTheBody,
    HidesReasoning,
    FewerSteps,
    StructuredAnswer,
    EverySetting,
    BuildsOnItsParent,
    StepByStep,
    TypedSteps,
    UntypedSteps,
    GuardsTools,
    ClampsInputs,
    AsksACache,
    OnlyLooks,
    FollowsUp,
    PoliteErrors,
    ShortErrors,
    BundledClassifier,
    OwnClassifier,
    ConfiguresItsSession,
    ConfiguresLater,
    Configured,
    StartsTurns,
    Waiter
  ];
  for (const sample of samples) expect(sample.prototype).toBeInstanceOf(Think);
});

test("results, stubs and hooks have the documented types", () => {
  expectTypeOf(new Relay()).toExtend<StreamCallback>();
  expectTypeOf<SubAgentStub<Cook>["chat"]>().returns.resolves.toBeVoid();
  expectTypeOf<SubAgentStub<Cook>>().not.toHaveProperty("continueLastTurn");
  expectTypeOf<TurnContext["body"]>().toEqualTypeOf<Record<string, unknown> | undefined>();
  expectTypeOf<TurnContext["tools"]>().toEqualTypeOf<ToolSet>();
  expectTypeOf<TurnContext>().toExtend<{ turnId: string; requestId: string; attempt: number; signal: AbortSignal }>();
  expectTypeOf<SaveMessagesResult["status"]>().toEqualTypeOf<"completed" | "error" | "skipped" | "aborted">();
  expectTypeOf<ReturnType<Configured["getConfig"]>>().toEqualTypeOf<unknown>();
});

// Declared, never called: only the types of its members matter.
declare const starter: StartsTurns;
declare const relay: StreamCallback;

test("what cannot work does not compile", () => {
  const wrong = () => {
    // @ts-expect-error a turn needs input, or continues
    void starter.runTurn({ mode: "wait" });
    // @ts-expect-error never both
    void starter.runTurn({ input: "a", continuation: true });
    // @ts-expect-error a stream needs a reader
    void starter.runTurn({ mode: "stream", input: "a" });
    // @ts-expect-error only server code of the class continues
    void starter.continueLastTurn();
    // @ts-expect-error tools are the agent's own
    void starter.chat("a", relay, { tools: {} });
    const config: TurnConfig = {
      // @ts-expect-error the turn's signal is not the hook's to replace
      abortSignal: new AbortController().signal
    };
    return config;
  };
  expectTypeOf(wrong).toBeFunction();
});

// @ts-expect-error a class without a model would answer nothing
class Speechless extends Think {}

/** A class of a test that is never asked anything says so. */
class NeverAsked extends Think {
  declare getModel: Think["getModel"];
}

test("a class that says nothing about its model does not compile, and one that is never asked can say so", () => {
  expectTypeOf<InstanceType<typeof Speechless>>().toExtend<Think>();
  expectTypeOf<InstanceType<typeof NeverAsked>>().toExtend<Think>();
});
