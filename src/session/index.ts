export { Session, AgentSessionProvider } from "./session.ts";
export type { CompactAfterOptions, SessionAgent, SessionOptions } from "./session.ts";
export { COMPACTION_PREFIX, isCompactionMessage } from "./session-message.ts";
export type { SessionMessage, SessionMessagePart } from "./session-message.ts";
export type { HistoryRowStat, RecentHistoryResult, SessionProvider, StoredCompaction } from "./session-provider.ts";
export { createCompactFunction } from "./compact-function.ts";
export type { CompactContext, CompactFunction, CompactOptions, CompactResult } from "./compact-function.ts";
export { buildSummaryPrompt, computeSummaryBudget } from "./compact-function-prompt.ts";
export {
  alignBoundaryBackward,
  alignBoundaryForward,
  findTailCutByTokens,
  sanitizeToolPairs
} from "./compaction-boundary.ts";
export type { CompactionErrorHandler, CompactOutcome } from "./compaction.ts";
export type { UsageReport } from "./tokens-reported.ts";
export type { SearchResult } from "./search.ts";
export {
  estimateMessageTokens,
  estimateStringTokens,
  type SessionTokenCounter,
  type SessionTokenCounterInput
} from "./tokens.ts";
export type { EvictionPolicy as MediaEvictionOptions } from "./media-evictor.ts";
export { AgentContextProvider } from "./context/agent-context-provider.ts";
export { AgentSearchProvider } from "./context/agent-search-provider.ts";
export { R2SkillProvider } from "./context/r2-skill-provider.ts";
export type { R2SkillOptions, SkillBucket, SkillListing } from "./context/r2-skill-provider.ts";
export { isSearchProvider, isSkillProvider, isWritableProvider } from "./context/provider.ts";
export type {
  AnyContextProvider,
  ContextProvider,
  SearchProvider,
  SkillProvider,
  WritableContextProvider
} from "./context/provider.ts";
export type { ContextBlock, ContextConfig, SessionContextOptions } from "./context/block.ts";
export type { PromptBlock } from "./context/render.ts";
export type { ContextTool, ContextToolName, ContextTools } from "./context/tools.ts";
