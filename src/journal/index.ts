export * from "./records.ts";
export * from "./errors.ts";
export {
  Conversation,
  type ArmedContinuation,
  type ConversationRow,
  type FailedTurn,
  type OpenTurn
} from "./conversation.ts";
export { openJournal, type Journal, type JournalInit } from "./journal.ts";
export { JournalWriter, type AppendReceipt } from "./writer.ts";
export { JournalReader, type CorruptRow, type JournalPage, type ReadOptions, type Subscription } from "./reader.ts";
export {
  MAX_CHANGES,
  TURN_ROW_BYTES,
  type AttemptSummary,
  type CalledTool,
  type History,
  type TurnHistory
} from "./history.ts";
export type { FoundTurn } from "./find-turn.ts";
export { quarantineRow, type QuarantineInit } from "./quarantine.ts";
export { SEGMENT_LIMITS, SegmentPacker, type PackerInit, type SegmentLimits } from "./segments.ts";
export { JournalRetention, RETENTION, type RetentionOptions, type SweepReport } from "./retention.ts";
export * from "./folds/calls-fold.ts";
export * from "./folds/chunks-fold.ts";
export * from "./folds/queue-fold.ts";
export * from "./folds/turn-fold.ts";
