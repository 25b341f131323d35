export {
  callModel,
  DEFAULT_MAX_STEPS,
  type ModelCall,
  type ModelCallHooks,
  type ModelCallInput,
  type ModelCallOutcome,
  type ResolveModel
} from "./call.ts";
export {
  ModelCallError,
  modelErrors,
  ModelFailedError,
  StepHookError,
  streamedErrorText,
  toolErrorText
} from "./errors.ts";
export {
  CONTINUE_TEXT,
  endInQuestion,
  prepareMessages,
  toModelMessages,
  unpairedCallIds,
  type CodecOptions,
  type DroppedCall,
  type PreparedMessages
} from "./message-codec.ts";
export {
  meterModel,
  WRAP_EACH,
  type CallEnd,
  type CallMeter,
  type MeteredCall,
  type MeteredOptions,
  type MeteredRun,
  type SpentCall
} from "./meter.ts";
export { messageChunks, openingChunks, outcomeChunk, partsAfter } from "./message-chunks.ts";
export {
  closeOpenParts,
  continueFold,
  foldChunk,
  foldChunks,
  foldedMessage,
  isChunk,
  resumeFold,
  startFold,
  type FoldChunk,
  type MessageFold
} from "./message-fold.ts";
export type { OfferedTools, RedirectedCall } from "./offered-tools.ts";
export { withoutEmpty } from "./empty-content.ts";
export { streamOf, withDoStream, type DoStream, type StreamCallOptions, type Streamed } from "./guarded-model.ts";
export { ONE_CALL_MODEL, oneCallModel, type ChosenCall } from "./one-call-model.ts";
export type { ModelPart } from "./coalesce.ts";
export type { SpanNotes } from "./noted-spans.ts";
export { installedSdk, openSdk, type ModelObject, type Sdk, type SdkModule } from "./sdk.ts";
export type {
  ChunkEvent,
  MessageMetadata,
  ModelSettings,
  ModelSettingsOf,
  StepEnd,
  StepSettings,
  StepSettingsOf,
  StepStart,
  StopWhen,
  SystemPrompt
} from "./settings.ts";
export { answeredCallIds, shrinkToolResults, SHRINKS_ABOVE_CHARS, toolResultChars } from "./shrink-results.ts";
export {
  asMessagePart,
  isApprovedToolPart,
  isSettledToolPart,
  isToolPart,
  toolInputObject,
  partsByCall,
  toolNameOf,
  type ToolPart,
  type ToolPartState
} from "./tool-part.ts";
export {
  wrapTool,
  wrapTools,
  type FinishedToolCall,
  type ToolCallToRun,
  type ToolDecision,
  type ToolWatch
} from "./tool-wrap.ts";
export { truncateToolOutput } from "../util/truncate-value.ts";
export { truncateOldMessages, truncationBoundary, type TruncateOptions } from "./truncate.ts";
export { addUsage, normaliseUsage, NO_USAGE, type ModelUsage } from "./usage.ts";
