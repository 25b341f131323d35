// A user's class reduced to its override points, and a turn for them to see.
import type { LanguageModel, ToolSet } from "ai";
import { expect } from "vitest";
import { reply, scriptedModel, text } from "../testing/index.ts";
import type { EngineTurn } from "../turn/turn.ts";
import { Workspace } from "../features/workspace/workspace.ts";
import type { Feature } from "../feature/feature.ts";
import { Features } from "../feature/features.ts";
import type { ThinkOverrides } from "./overrides.ts";

export function overridesOf(changes: Partial<ThinkOverrides> = {}): ThinkOverrides {
  return {
    plainChat: undefined,
    extensionLoader: undefined,
    extensionManager: undefined,
    hookTimeout: 5_000,
    getExtensions: () => [],
    openAIEndpoint: false,
    messageConcurrency: "queue",
    hydrationByteBudget: 0,
    mediaEviction: false,
    maxSteps: 10,
    sendReasoning: true,
    sendUsage: false,
    waitForMcpConnections: false,
    maxMcpTools: 128,
    mcpApproval: () => false,
    createMcpOAuthProvider: () => undefined,
    mcpFetch: () => expect.unreachable("no test of this kind has MCP servers"),
    allowClientToolOverrides: false,
    historyTruncation: {},
    contextOverflow: undefined,
    chatRecovery: true,
    chatStreamStallTimeoutMs: undefined,
    chatStreamStallIncludesTools: undefined,
    maxTurnTokens: Infinity,
    maxAnswerBytes: Infinity,
    getModel: (): LanguageModel => scriptedModel([reply(text("hello"))]),
    getSystemPrompt: () => "You are a test.",
    getTools: (): ToolSet => ({}),
    getSkills: () => [],
    getSkillScriptRunner: () => null,
    getFeatures: () => [],
    getExecuteRuntime: () => undefined,
    describePausedExecution: () => undefined,
    workspace: new Workspace({ sql: { query: () => [], run: () => undefined } }),
    workspaceTools: true,
    workspaceBash: false,
    authorizeWorkspace: () => false,
    authorizeSubmission: () => false,
    authorizeInspection: () => false,
    inspectionModels: () => ({}),
    inspectionPrices: () => ({}),
    getScheduledTasks: () => ({}),
    getDefaultTimezone: () => undefined,
    getMessengers: () => ({}),
    configureChannels: () => ({}),
    renderAttachment: () => undefined,
    beforeTurn: () => undefined,
    beforeStep: () => undefined,
    beforeToolCall: () => undefined,
    afterToolCall: () => undefined,
    onStepFinish: () => undefined,
    onChunk: () => undefined,
    onChatResponse: () => undefined,
    onChatError: (error) => error,
    onChatRecovery: () => undefined,
    actionLedgerPendingRetryLeaseMs: 300_000,
    actionLedgerRetention: {},
    actionPendingApprovalTtlMs: false,
    getActions: () => ({}),
    authorizeTurn: () => true,
    authorizeAction: () => true,
    authorizeApproval: () => true,
    identifyApprover: () => undefined,
    authorizeMessengerConversation: () => false,
    classifyChatError: () => undefined,
    ...changes
  };
}

/** Features that are there already: none of them needs a host. */
export function featuresOf(...list: Feature[]): Features {
  const features = new Features({
    host: () => expect.unreachable("no feature is opened here"),
    bringers: new Map(),
    degrade: (step, error) => expect.unreachable(`${step}: ${String(error)}`),
    pathOf: () => undefined,
    isReadonly: () => false
  });
  for (const feature of list) features.add(feature);
  return features;
}

export function engineTurn(changes: Partial<EngineTurn> = {}): EngineTurn {
  return {
    turnId: "turn-1",
    requestId: "request-1",
    messageId: "answer-1",
    attempt: 1,
    trigger: "programmatic",
    continuation: false,
    generation: 0,
    body: undefined,
    channel: undefined,
    clientTools: [],
    signal: new AbortController().signal,
    origin: undefined,
    ...changes
  };
}

export const DETAILS = { turnId: "turn-1", requestId: "request-1", attempt: 1 };
