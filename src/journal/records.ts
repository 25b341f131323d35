// The records a conversation consists of. Everything else (messages, replay, status, recovery) is a fold of these.
// This file is types only: the browser client shares it. How a record becomes a row is in codec.ts; what may be
// appended when is in writer.ts. A record says what happened, never what to do next, and is never changed afterwards.
import type { ApprovalId, CallId, EpochId, MessageId, RequestId, TurnId } from "../util/ids.ts";
import type { Json } from "../util/json.ts";

/** About one turn. `at` is the wall clock in milliseconds, for display; order is the journal's sequence. */
interface TurnRecord<Type extends string> {
  readonly type: Type;
  readonly turnId: TurnId;
  readonly at: number;
}

/** Written by a running attempt: refused once that attempt ended or a later one began. */
interface AttemptRecord<Type extends string> extends TurnRecord<Type> {
  readonly attempt: number;
}

/** May come from a running attempt (then it is fenced) or from outside (null). */
interface OptionalAttemptRecord<Type extends string> extends TurnRecord<Type> {
  readonly attempt: number | null;
}

/** A tool the client runs, as it described it. Stored with the turn so that a restart still knows it. */
export interface RecordedClientTool {
  readonly name: string;
  readonly description: string | null;
  readonly parameters: Json;
}

/** The turn exists and will reach an outcome. Everything needed to run it again from nothing is in here. */
export interface TurnAdmitted extends TurnRecord<"turn-admitted"> {
  /** Of the conversation, when it was accepted. A clear since then means it must not run. */
  readonly generation: number;
  /** The id under which the answer will be stored and streamed, minted now. */
  readonly messageId: MessageId;
  /** What the client calls it; null for turns that no client asked for. */
  readonly requestId: RequestId | null;
  /** Which entry it came through: "ws-chat", "rpc", "submission", … An open set. */
  readonly trigger: string;
  /** Builds on the latest answer without new input. */
  readonly continuation: boolean;
  /** The message the answer hangs below when that is not the end of the active path (regeneration, edits). */
  readonly parentMessageId: MessageId | null;
  /** New user messages, in order. They join the active path when the turn starts. */
  readonly input: readonly Json[];
  readonly inputMessageIds: readonly MessageId[];
  readonly body: Json;
  readonly channel: string | null;
  readonly clientTools: readonly RecordedClientTool[];
  /** Its messages come from a function of the transcript: they are not known before the turn starts. */
  readonly isDeferred: boolean;
  /** May be skipped in favour of a newer one of its kind (latest, merge, debounce). */
  readonly supersedable: boolean;
  /** Its answer is one that is stored already, to which it adds parts. */
  readonly extendsAnswer: boolean;
  /** Of a continuation on a channel: the user message behind it. */
  readonly questionId: MessageId | null;
  /** The earlier answer whose decided calls it runs and goes on from, below the newest message. */
  readonly resolvesMessageId: MessageId | null;
  /** What the key it was started under is stored as. */
  readonly idempotencyId: string | null;
  /** Not to be started before this (debounce). */
  readonly notBeforeAt: number | null;
  /** How a message that was given to a running conversation is to take effect; null: as any question. */
  readonly entry: WaitingEntry | null;
}

/** `steer`: at the next step boundary of the running turn. `follow-up`: after the turns before it. */
export type WaitingEntry = "steer" | "follow-up";

/** Written before the attempt does anything. One without an end was cut off by the death of its process. */
export interface AttemptStarted extends AttemptRecord<"attempt-started"> {
  readonly kind: "first" | "retry" | "continue" | "resume" | "overflow-retry";
  /** Number of the first chunk it will write. A reader that has shown later ones takes them back. */
  readonly firstChunk: number;
  /** Of what earlier attempts wrote, only chunks below this number are part of the answer. */
  readonly keeps: number;
  /** So many of its first chunks settle what earlier attempts left open, or only open the stream. They are no progress. */
  readonly repairs: number;
}

/**
 * The attempt is over while the turn goes on. Settling ends an attempt by itself. `interrupted` is written
 * by the process that found it cut off; `restarted`: the attempt was asked to leave its content behind and begin anew.
 */
export interface AttemptEnded extends AttemptRecord<"attempt-ended"> {
  readonly reason: "failed" | "stalled" | "overflow" | "interrupted" | "restarted";
  readonly error: RecordedError | null;
  /** When the next attempt is due; null: at once. */
  readonly retryAt: number | null;
  /** Of a turn with several models: which one the next attempt asks. */
  readonly next?: NextModel;
}

/** Another model is asked, or the first one again after all of them have failed. */
export interface NextModel {
  /** Its name in the list of the class. */
  readonly model: string;
  /** It goes on in the middle of what the one before it wrote. False: a step that is not finished is begun anew. */
  readonly keepsText: boolean;
}

/**
 * A process is about to read a large partial answer into memory. One that wrote this and then nothing about the turn has
 * died of it, most likely because there was not enough memory.
 */
export interface RecoveryStarted extends TurnRecord<"recovery-started"> {
  readonly epoch: EpochId;
}

/** Streamed content, packed. Chunk `firstChunk + i` of the turn's stream is `chunks[i]`, as JSON text. */
export interface ContentSegment extends AttemptRecord<"content-segment"> {
  readonly firstChunk: number;
  readonly chunks: readonly string[];
}

/** A tool call is complete and may be executed. Written before it is. */
export interface CallStarted extends AttemptRecord<"call-started"> {
  readonly callId: CallId;
  readonly step: number;
  readonly toolName: string;
  /** Who owes the outcome. An unsettled call of a dead server attempt will never be answered; a client's may be. */
  readonly executor: CallExecutor;
  readonly dynamic: boolean;
  readonly input: Json;
}

export type CallExecutor = "server" | "client" | "provider";

/** The first outcome of a call wins; later ones change nothing. Durable before the model sees it. */
export interface CallSettled extends OptionalAttemptRecord<"call-settled"> {
  readonly callId: CallId;
  readonly outcome: CallOutcome;
}

export type CallOutcome =
  | { readonly kind: "output"; readonly output: Json }
  | { readonly kind: "error"; readonly errorText: string }
  | { readonly kind: "denied"; readonly reason: string | null }
  /** It may have run; it is not known. */
  | { readonly kind: "unknown"; readonly reason: string };

export interface ApprovalAsked extends OptionalAttemptRecord<"approval-asked"> {
  readonly callId: CallId;
  readonly approvalId: ApprovalId;
  readonly descriptor: Json;
}

export interface ApprovalAnswered extends TurnRecord<"approval-answered"> {
  readonly callId: CallId;
  readonly approvalId: ApprovalId;
  readonly approved: boolean;
  readonly reason: string | null;
  /** The name of the person, where the class knows it or one was given. */
  readonly decidedBy?: string;
  /** What the call runs with in place of the input that was asked about. */
  readonly input?: Json;
  /** That input before its schema changed it, where it did. */
  readonly givenInput?: Json;
}

/** The model is about to be called. Written with whatever the attempt writes next. */
export interface ModelCalled extends AttemptRecord<"model-called"> {
  readonly modelId: string;
  /** Names of the tools it is offered, the first hundred. */
  readonly tools: readonly string[];
  /** Of the system prompt and the names of all tools: the same text for the same prompt. */
  readonly prompt: string;
  /** Of a turn with several models: its name in their list. Later attempts ask it too. */
  readonly chosen?: string;
  /** Of a second model that is asked beside the first one: the name of it. What is chosen does not change. */
  readonly beside?: string;
}

export interface StepFinished extends AttemptRecord<"step-finished"> {
  readonly step: number;
  readonly finishReason: string;
  readonly usage: StepUsage;
  /** Which model wrote it, as `provider/id`. */
  readonly model?: string;
  /** Under budgets: what its calls have cost, with those that failed, in billionths of a dollar. */
  readonly cost?: number;
  /** Models that were asked for the same step, and cancelled. */
  readonly cancelled?: readonly CancelledUse[];
}

/** What a cancelled call has used, as far as that is known. */
export interface CancelledUse {
  readonly model: string;
  readonly usage: StepUsage;
}

/** Null: the provider did not say. */
export interface StepUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly totalTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly cachedInputTokens: number | null;
}

/** What the turn may do, once `authorizeTurn` was asked: later attempts run under the same rules. */
export interface TurnGranted extends AttemptRecord<"turn-granted"> {
  readonly allowed: boolean;
  readonly reason: string | null;
  /** Null: everything. */
  readonly permissions: readonly string[] | null;
}

/** The user's own recovery data; the newest replaces the others. */
export interface TurnStashed extends AttemptRecord<"turn-stashed"> {
  readonly data: Json;
}

export interface TurnCancelRequested extends TurnRecord<"turn-cancel-requested"> {
  readonly reason: string | null;
}

/** The turn ends before its next model call, with what it has. */
export type TurnStopRequested = TurnRecord<"turn-stop-requested">;

/** The messages of a waiting turn were replaced. */
export interface InputEdited extends TurnRecord<"input-edited"> {
  readonly input: readonly Json[];
}

/**
 * At a step boundary of another turn this one takes over: that turn ends there, and this one is next. From here on it can
 * neither be edited nor withdrawn.
 */
export interface SteerApplied extends TurnRecord<"steer-applied"> {
  readonly from: TurnId;
  readonly fromRequestId: string;
  /** The first turn of the chain: what waits for that one waits for this one now. */
  readonly rootTurnId: TurnId;
  readonly rootRequestId: string;
  /** How the first turn was started. */
  readonly rootTrigger: string;
  /** The key that the first turn was started under. */
  readonly idempotencyId: string | null;
  /** After how many model calls of that turn. */
  readonly step: number;
  /** Model calls of all turns before it in the chain, and the tokens they used. */
  readonly steps: number;
  readonly tokens: number;
}

/** The message was given to the run of a sub-agent that the running turn waits for; null: it came back unread. */
export interface SteerPassed extends TurnRecord<"steer-passed"> {
  readonly runId: string | null;
}

/** The one outcome of the turn. */
export interface TurnSettled extends OptionalAttemptRecord<"turn-settled"> {
  readonly outcome: "completed" | "failed" | "aborted" | "skipped";
  /** Why, as a code: "superseded", "cleared", "attempts", "out_of_memory", … An open set. */
  readonly reason: string | null;
  readonly error: RecordedError | null;
  /** Structured output, stored with the outcome so that neither exists without the other. */
  readonly output: Json;
  readonly messageStored: boolean;
  /** The response hook still has to run; TurnResponded says it did. */
  readonly responds: boolean;
  /** The turn that took over, by what its client calls it. */
  readonly steeredBy?: string;
}

export type TurnResponded = TurnRecord<"turn-responded">;

/** Everything before this is gone for readers, and is deleted by retention. */
export interface ConversationCleared {
  readonly type: "conversation-cleared";
  readonly turnId: null;
  readonly at: number;
  /** The new generation: one more than before. */
  readonly generation: number;
}

export type ChangeKind =
  | "appended"
  | "edited"
  | "deleted"
  | "branch-chosen"
  /** The outcome of a call, or the decision about it, joined a message that no turn was writing. */
  | "answer-placed"
  /** Calls that no turn will run any more were ended. */
  | "calls-closed"
  | "files-refused"
  | "repaired"
  | "evicted"
  | "compacted"
  | "cleared";

/** On whose behalf: a client, the user's own code, the engine by itself, or an operator of the server. */
export type ChangedBy = "client" | "code" | "runner" | "operator";

/**
 * The stored conversation was changed, and no record of a turn says it. It names messages; what they hold is in the
 * store, once. Kept by journal/history.ts, longer than the records of turns.
 */
export interface ConversationChanged {
  readonly type: "conversation-changed";
  /** The turn it was part of, if any. */
  readonly turnId: TurnId | null;
  readonly at: number;
  readonly change: ChangeKind;
  readonly by: ChangedBy;
  /** Why, as a code. An open set. */
  readonly why: string | null;
  /** The first few of them. `edited` may name the copy of the old version second, `compacted` names both ends. */
  readonly messageIds: readonly string[];
  /** How many messages were changed. */
  readonly count: number;
  readonly callId: string | null;
  /** Of an approval: the name of the person, where the class knows it or one was given. */
  readonly decidedBy?: string;
}

/** Stands where a row could not be read. The row itself was set aside. */
export interface RecordQuarantined {
  readonly type: "record-quarantined";
  readonly turnId: TurnId | null;
  readonly at: number;
  readonly recordType: string;
  readonly reason: string;
  /** The chunks that were in it. */
  readonly lostChunks: ChunkRange | null;
}

export interface ChunkRange {
  readonly firstChunk: number;
  readonly chunkCount: number;
}

export interface RecordedError {
  readonly code: string;
  /** Safe to show to a caller. */
  readonly message: string;
}

export type JournalRecord =
  | TurnAdmitted
  | AttemptStarted
  | AttemptEnded
  | RecoveryStarted
  | ContentSegment
  | CallStarted
  | CallSettled
  | ApprovalAsked
  | ApprovalAnswered
  | ModelCalled
  | StepFinished
  | TurnGranted
  | TurnStashed
  | TurnCancelRequested
  | TurnStopRequested
  | InputEdited
  | SteerApplied
  | SteerPassed
  | TurnSettled
  | TurnResponded
  | ConversationCleared
  | ConversationChanged
  | RecordQuarantined;

export type RecordType = JournalRecord["type"];

/** A record this build does not know, or knows only in an older form. Never written: a quarantine copies its text. */
export interface UnknownRecord {
  readonly type: "unknown";
  readonly turnId: TurnId | null;
  readonly at: number;
  readonly recordType: string;
  readonly range: ChunkRange | null;
}

/** A content segment read without its chunks: enough for every fold that does not replay. */
export interface ContentOutline extends AttemptRecord<"content-outline">, ChunkRange {}

/** What can be read. Outlines appear only when asked for. */
export type ReadableRecord = JournalRecord | UnknownRecord | ContentOutline;

/** A record in its place. Sequences of a conversation only grow and are never used twice. */
export interface SequencedRecord<R extends ReadableRecord = ReadableRecord> {
  readonly sequence: number;
  readonly record: R;
}
