// Every example that a doc comment of the class shows on hover, as code that is compiled. A test compares.
import { tool, type ToolSet } from "ai";
import { z } from "zod";
import {
  defaultChatErrorClassifier,
  Think,
  type ChatRecoveryContext,
  type ChatResponseResult,
  type MessageMetadataCallback,
  type PrepareStepContext,
  type Session,
  type StepContext,
  type ToolCallContext,
  type ToolCallResultContext,
  type TurnContext
} from "../../src/index.ts";

declare const createAnthropic: (options: { apiKey: string }) => (model: string) => ReturnType<Think["getModel"]>;

export class Sample extends Think<{ ANTHROPIC_API_KEY: string }> {
  spent = 0;
  answered = 0;
  override maxSteps = 25;
  override sendReasoning = false;
  override sendUsage = true;
  override messageMetadata: MessageMetadataCallback = ({ part }) =>
    part.type === "start" ? { createdAt: Date.now() } : undefined;
  override messageConcurrency = "latest" as const;
  override hydrationByteBudget = 2_000_000;
  override mediaEviction = false;
  override allowClientToolOverrides = true;
  override historyTruncation = { keepRecent: 20 };
  override contextOverflow = { reactive: true };
  override chatRecovery = { maxAttempts: 3 };
  override chatStreamStallTimeoutMs = 120_000;
  override chatStreamStallIncludesTools = true;
  override maxTurnTokens = 200_000;
  override maxAnswerBytes = 200_000;
  override maxUnstoredTextMs = 100;
  override getModel() {
    return createAnthropic({ apiKey: this.env.ANTHROPIC_API_KEY })("claude-sonnet-4-5");
  }
  override getSystemPrompt() {
    return "You help with cooking.";
  }
  override getTools(): ToolSet {
    return { roll: tool({ inputSchema: z.object({}), execute: () => 4 }) };
  }
  override authorizeTurn({ body }: TurnContext) {
    return body?.["plan"] === "paid" || { allowed: true, grantedPermissions: ["orders:read"] };
  }
  override configureSession(session: Session) {
    return session.withContext("memory", { maxTokens: 1_000 });
  }
  override beforeTurn({ continuation }: TurnContext) {
    return continuation ? { activeTools: ["search"] } : {};
  }
  override beforeStep({ stepNumber }: PrepareStepContext) {
    return stepNumber > 3 ? { toolChoice: "none" as const } : {};
  }
  override beforeToolCall({ toolName }: ToolCallContext) {
    if (toolName === "pay") return { action: "block", reason: "Not today." } as const;
  }
  override afterToolCall({ toolName, durationMs }: ToolCallResultContext) {
    console.log(toolName, durationMs);
  }
  override onStepFinish({ usage }: StepContext) {
    this.spent += usage.totalTokens ?? 0;
  }
  override onStepEnd({ usage }: StepContext) {
    this.spent += usage.totalTokens ?? 0;
  }
  override onChunk({ chunk }: Parameters<Think["onChunk"]>[0]) {
    if (chunk.type === "text-delta") console.log(chunk.text);
  }
  override onChatResponse({ status }: ChatResponseResult) {
    if (status === "completed") this.answered += 1;
  }
  override onChatError() {
    return new Error("I am busy. Please try again in a minute.");
  }
  override onChatRecovery({ attempt }: ChatRecoveryContext) {
    return { continue: attempt <= 3 };
  }
  override repairInterruptedToolPart() {
    return { type: "text" as const, text: "This call was interrupted." };
  }
  override classifyChatError(error: unknown) {
    return defaultChatErrorClassifier(error) ?? "transient";
  }
}
