// The settings and override points that modules beside the class read of an agent. They see these and not the whole class, so
// that each can be read, and tested, alone.
import type { ThinkCore } from "./think-core.ts";

export type Overrides = Pick<
  ThinkCore,
  | "afterToolCall"
  | "allowClientToolOverrides"
  | "authorizeTurn"
  | "beforeStep"
  | "beforeToolCall"
  | "beforeTurn"
  | "chatRecovery"
  | "chatStreamStallIncludesTools"
  | "chatStreamStallTimeoutMs"
  | "classifyChatError"
  | "contextOverflow"
  | "getFeatures"
  | "getModel"
  | "getSystemPrompt"
  | "getTools"
  | "historyTruncation"
  | "hydrationByteBudget"
  | "maxAnswerBytes"
  | "maxSteps"
  | "maxTurnTokens"
  | "maxUnstoredTextMs"
  | "mediaEviction"
  | "messageConcurrency"
  | "messageMetadata"
  | "onChatError"
  | "onChatRecovery"
  | "onChatResponse"
  | "onChunk"
  | "onStepEnd"
  | "resolveModel"
  | "sendReasoning"
  | "sendUsage"
>;
