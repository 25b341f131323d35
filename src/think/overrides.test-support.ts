// A user's class reduced to its override points, and a turn for them to see.
import type { LanguageModel, ToolSet } from "ai";
import { expect } from "vitest";
import { reply, scriptedModel, text } from "../testing/index.ts";
import type { TurnView } from "../turn/turn.ts";
import type { Feature } from "../feature/feature.ts";
import { Features } from "../feature/features.ts";
import type { Services } from "../feature/services.ts";
import { TurnFeatures } from "../feature/turn-features.ts";
import type { Overrides } from "./overrides.ts";

export function overridesOf(changes: Partial<Overrides> = {}): Overrides {
  return {
    messageConcurrency: "queue",
    hydrationByteBudget: 0,
    mediaEviction: false,
    maxSteps: 10,
    sendReasoning: true,
    sendUsage: false,
    messageMetadata: undefined,
    allowClientToolOverrides: false,
    historyTruncation: {},
    contextOverflow: undefined,
    chatRecovery: true,
    chatStreamStallTimeoutMs: undefined,
    chatStreamStallIncludesTools: undefined,
    maxTurnTokens: Infinity,
    maxAnswerBytes: Infinity,
    maxUnstoredTextMs: 500,
    getModel: (): LanguageModel => scriptedModel([reply(text("hello"))]),
    getSystemPrompt: () => "You are a test.",
    getTools: (): ToolSet => ({}),
    getFeatures: () => [],
    beforeTurn: () => undefined,
    beforeStep: () => undefined,
    beforeToolCall: () => undefined,
    afterToolCall: () => undefined,
    onStepEnd: () => undefined,
    onChunk: () => undefined,
    onChatResponse: () => undefined,
    onChatError: (error) => error,
    onChatRecovery: () => undefined,
    authorizeTurn: () => true,
    resolveModel: () => undefined,
    classifyChatError: () => undefined,
    ...changes
  };
}

/** Features that are there already: none of them needs the agent's services. */
export function featuresOf(...list: Feature[]): TurnFeatures {
  const unused = () => expect.unreachable("no feature is opened here");
  // Read by nothing that these tests do.
  const services = { agent: {}, degrade: unused, background: unused, rearm: unused } as object as Services;
  const features = new Features(services, []);
  for (const feature of list) features.add(feature);
  return new TurnFeatures(features);
}

export function engineTurn(changes: Partial<TurnView> = {}): TurnView {
  return {
    turnId: "turn-1",
    requestId: "request-1",
    messageId: "answer-1",
    attempt: 1,
    trigger: "programmatic",
    continuation: false,
    generation: 0,
    inputMessageIds: [],
    questionId: undefined,
    body: undefined,
    channel: undefined,
    clientTools: [],
    signal: new AbortController().signal,
    origin: undefined,
    ...changes
  };
}

export const DETAILS = { turnId: "turn-1", requestId: "request-1", attempt: 1 };
