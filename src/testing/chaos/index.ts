export { chaos, type ChaosOptions, type ChaosResult, type ModeResult } from "./chaos.ts";
export { ChatClient, type ChatClientOptions } from "./chat-client.ts";
export type { ChatFrame, ChaosChatView as ChatView, RequestEnd, StreamedAnswer } from "./chat-view.ts";
export type { ChaosCheck, ChaosDifference } from "./checks.ts";
export { CHAOS_MODES, type ChaosMode } from "./disturbance.ts";
export { ConversationError, StepNeverEndedError, UnsteadyConversationError } from "./errors.ts";
export { formatChaos, mergeChaos } from "./format.ts";
export type { ChaosRun, Scenario } from "./run.ts";
export type { ChaosSession, StepGoal, ToolAnswer } from "./session.ts";
