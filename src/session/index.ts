export { Session, AgentSessionProvider } from "./session.ts";
export type { SessionAgent } from "./session.ts";
export { COMPACTION_PREFIX, isCompactionMessage } from "./session-message.ts";
export type { SessionMessage, SessionMessagePart } from "./session-message.ts";
export type { HistoryRowStat, RecentHistoryResult, SessionProvider } from "./session-provider.ts";
export { estimateMessageTokens, estimateStringTokens } from "./tokens.ts";
export type { MediaEvictionOptions } from "./media-evictor.ts";
