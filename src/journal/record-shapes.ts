// What each record type must look like, as data: the version it is written in and a check per field. The mapped type
// makes the compiler refuse a field that is missing here or checked as something else. Fields beyond these are kept.
import type { ApprovalId, CallId, EpochId, MessageId, RequestId, TurnId } from "../util/ids.ts";
import { isObject, type Json } from "../util/json.ts";
import type {
  CallOutcome,
  CancelledUse,
  ChunkRange,
  RecordedClientTool,
  JournalRecord,
  NextModel,
  RecordedError,
  RecordType,
  StepUsage
} from "./records.ts";

export type Check<T> = (value: unknown) => value is T;

/** Stored in the header line, not in the body. */
type HeaderField = "type" | "turnId" | "at" | "attempt";
type Body<R> = { [Field in Exclude<keyof R, HeaderField>]-?: Check<R[Field]> };
export type RecordOf<Type extends RecordType> = Extract<JournalRecord, { type: Type }>;

export interface RecordShape<R> {
  /** Of the body. Raise it when the meaning of a field changes, and add the step from the version before. */
  version: number;
  turn: "required" | "optional" | "none";
  attempt: "required" | "optional" | "none";
  body: Body<R>;
  /** `upgrades[n]` turns a body of version n into one of version n + 1. */
  upgrades?: { readonly [from: number]: (body: StoredBody) => StoredBody };
  /** Where the body is stored in another form than the record has: from the one to the other. */
  stored?: { readonly write: (body: StoredBody) => StoredBody; readonly read: (body: StoredBody) => StoredBody };
}

type StoredBody = Record<string, unknown>;

const text: Check<string> = (value) => typeof value === "string";
const flag: Check<boolean> = (value) => typeof value === "boolean";
/** Zero or more; also times in milliseconds. */
const count: Check<number> = (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const json = (value: unknown): value is Json => value !== undefined;
const isId = <Id extends string>(value: unknown): value is Id => typeof value === "string" && value !== "";
const approvalId: Check<ApprovalId> = isId;
const callId: Check<CallId> = isId;
const epoch: Check<EpochId> = isId;
const messageId: Check<MessageId> = isId;
const requestId: Check<RequestId> = isId;
const turnId: Check<TurnId> = isId;

function oneOf<const T extends string>(...values: T[]): Check<T> {
  const known: readonly unknown[] = values;
  return (value): value is T => known.includes(value);
}

function nullable<T>(check: Check<T>): Check<T | null> {
  return (value): value is T | null => value === null || check(value);
}

/** A field that was added to a version: absent in what older builds wrote. */
function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value): value is T | undefined => value === undefined || check(value);
}

function list<T>(check: Check<T>): Check<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(check);
}

function object<T extends object>(fields: { [Field in keyof T]-?: Check<T[Field]> }): Check<T> {
  return (value): value is T => isObject(value) && failingField(fields, value) === undefined;
}

/** The first field that is not as it should be. */
export function failingField(
  fields: Record<string, (value: unknown) => boolean>,
  value: Record<string, unknown>
): string | undefined {
  return Object.entries(fields).find(([field, check]) => !check(value[field]))?.[0];
}

const error = nullable(object<RecordedError>({ code: text, message: text }));
const clientTool = object<RecordedClientTool>({ name: text, description: nullable(text), parameters: json });
const range = object<ChunkRange>({ firstChunk: count, chunkCount: count });
const usage = object<StepUsage>({
  inputTokens: nullable(count),
  outputTokens: nullable(count),
  totalTokens: nullable(count),
  reasoningTokens: nullable(count),
  cachedInputTokens: nullable(count)
});
const cancelled = object<CancelledUse>({ model: text, usage });
const next = object<NextModel>({ model: text, keepsText: flag });
const outcomeShapes: { [Kind in CallOutcome["kind"]]: Check<Extract<CallOutcome, { kind: Kind }>> } = {
  output: object({ kind: oneOf("output"), output: json }),
  error: object({ kind: oneOf("error"), errorText: text }),
  denied: object({ kind: oneOf("denied"), reason: nullable(text) }),
  unknown: object({ kind: oneOf("unknown"), reason: text })
};
const outcome: Check<CallOutcome> = (value): value is CallOutcome =>
  Object.values(outcomeShapes).some((check) => check(value));

const isEntry = oneOf("steer", "follow-up");

const ofTurn = { version: 1, turn: "required", attempt: "none" } as const;
const ofAttempt = { version: 1, turn: "required", attempt: "required" } as const;
const optionalAttempt = { version: 1, turn: "required", attempt: "optional" } as const;

/** Seven fields of an admission are stored inside its `metadata`, under these names and only where they say something. */
const admissionNotes: RecordShape<RecordOf<"turn-admitted">>["stored"] = {
  write: ({
    isDeferred,
    supersedable,
    extendsAnswer,
    questionId,
    resolvesMessageId,
    idempotencyId,
    entry,
    ...body
  }) => ({
    ...body,
    metadata: {
      entry: entry ?? undefined,
      "deferred-input": isDeferred || undefined,
      supersedable: supersedable || undefined,
      extends: extendsAnswer || undefined,
      question: questionId ?? undefined,
      idempotencyId: idempotencyId ?? undefined,
      resolves: resolvesMessageId ?? undefined
    }
  }),
  read: ({ metadata, ...body }) => {
    const notes = isObject(metadata) ? metadata : {};
    const idOf = (name: string) => (isId(notes[name]) ? notes[name] : null);
    return {
      ...body,
      isDeferred: notes["deferred-input"] === true,
      supersedable: notes["supersedable"] === true,
      extendsAnswer: notes["extends"] === true,
      questionId: idOf("question"),
      resolvesMessageId: idOf("resolves"),
      idempotencyId: idOf("idempotencyId"),
      entry: isEntry(notes["entry"]) ? notes["entry"] : null
    };
  }
};

export const RECORD_SHAPES: { readonly [Type in RecordType]: RecordShape<RecordOf<Type>> } = {
  "turn-admitted": {
    ...ofTurn,
    body: {
      generation: count,
      messageId,
      requestId: nullable(requestId),
      trigger: text,
      continuation: flag,
      parentMessageId: nullable(messageId),
      input: list(json),
      inputMessageIds: list(messageId),
      body: json,
      channel: nullable(text),
      clientTools: list(clientTool),
      isDeferred: flag,
      supersedable: flag,
      extendsAnswer: flag,
      questionId: nullable(messageId),
      resolvesMessageId: nullable(messageId),
      idempotencyId: nullable(text),
      notBeforeAt: nullable(count),
      entry: nullable(isEntry)
    },
    stored: admissionNotes
  },
  "attempt-started": {
    ...ofAttempt,
    version: 2,
    body: {
      kind: oneOf("first", "retry", "continue", "resume", "overflow-retry"),
      firstChunk: count,
      keeps: count,
      repairs: count
    },
    // Version 1 kept all or nothing.
    upgrades: {
      1: ({ keepsContent, ...body }) => ({ ...body, keeps: keepsContent ? body["firstChunk"] : 0, repairs: 0 })
    }
  },
  "attempt-ended": {
    ...ofAttempt,
    body: {
      reason: oneOf("failed", "stalled", "overflow", "interrupted", "restarted"),
      error,
      retryAt: nullable(count),
      next: optional(next)
    }
  },
  "recovery-started": { ...ofTurn, body: { epoch } },
  // Its body is not an object: chunk texts, one per line (see codec.ts). The checks serve the writing side. Version 1 had
  // whole lines only, which reads the same.
  "content-segment": { ...ofAttempt, version: 2, body: { firstChunk: count, chunks: list(text) } },
  "call-started": {
    ...ofAttempt,
    body: {
      callId,
      step: count,
      toolName: text,
      executor: oneOf("server", "client", "provider"),
      dynamic: flag,
      input: json
    }
  },
  "call-settled": { ...optionalAttempt, body: { callId, outcome } },
  "approval-asked": {
    ...optionalAttempt,
    body: { callId, approvalId, descriptor: json }
  },
  "approval-answered": {
    ...ofTurn,
    body: {
      callId,
      approvalId,
      approved: flag,
      reason: nullable(text),
      decidedBy: optional(text),
      input: optional(json),
      givenInput: optional(json)
    }
  },
  "model-called": {
    ...ofAttempt,
    body: { modelId: text, tools: list(text), prompt: text, chosen: optional(text), beside: optional(text) }
  },
  "step-finished": {
    ...ofAttempt,
    body: {
      step: count,
      finishReason: text,
      usage,
      model: optional(text),
      cost: optional(count),
      cancelled: optional(list(cancelled))
    }
  },
  "turn-granted": {
    ...ofAttempt,
    body: { allowed: flag, reason: nullable(text), permissions: nullable(list(text)) }
  },
  "turn-stashed": { ...ofAttempt, body: { data: json } },
  "turn-cancel-requested": { ...ofTurn, body: { reason: nullable(text) } },
  "turn-stop-requested": { ...ofTurn, body: {} },
  "input-edited": { ...ofTurn, body: { input: list(json) } },
  "steer-applied": {
    ...ofTurn,
    body: {
      from: turnId,
      fromRequestId: text,
      rootTurnId: turnId,
      rootRequestId: text,
      rootTrigger: text,
      idempotencyId: nullable(text),
      step: count,
      steps: count,
      tokens: count
    }
  },
  "steer-passed": { ...ofTurn, body: { runId: nullable(text) } },
  "turn-settled": {
    ...optionalAttempt,
    body: {
      outcome: oneOf("completed", "failed", "aborted", "skipped"),
      reason: nullable(text),
      error,
      output: json,
      messageStored: flag,
      responds: flag,
      steeredBy: optional(text)
    }
  },
  "turn-responded": { ...ofTurn, body: {} },
  "conversation-cleared": { version: 1, turn: "none", attempt: "none", body: { generation: count } },
  "conversation-changed": {
    version: 1,
    turn: "optional",
    attempt: "none",
    body: {
      change: oneOf(
        "appended",
        "edited",
        "deleted",
        "branch-chosen",
        "answer-placed",
        "calls-closed",
        "files-refused",
        "repaired",
        "evicted",
        "compacted",
        "cleared"
      ),
      by: oneOf("client", "code", "runner", "operator"),
      why: nullable(text),
      messageIds: list(text),
      count,
      callId: nullable(text),
      decidedBy: optional(text)
    }
  },
  "record-quarantined": {
    version: 1,
    turn: "optional",
    attempt: "none",
    body: { recordType: text, reason: text, lostChunks: nullable(range) }
  }
};

export function isRecordType(type: string): type is RecordType {
  return Object.hasOwn(RECORD_SHAPES, type);
}
