// What it takes to start a turn, and the record of a new one. Every entry fills in an `Admission` and hands it to the
// engine's `admit`. Pure: from what an entry asked for to the record that is written.
import type { UIMessage } from "ai";
import type { RecordedClientTool, TurnAdmitted, WaitingEntry } from "../journal/records.ts";
import { messageId, requestId, turnId, type MessageId } from "../util/ids.ts";
import { isObject, type Json } from "../util/json.ts";
import type { TurnOutcome, TurnTrigger } from "./turn.ts";

/** New messages, or a function of the transcript that is called when the turn's time has come. */
export type TurnInput =
  readonly UIMessage[] | ((transcript: UIMessage[]) => readonly UIMessage[] | Promise<readonly UIMessage[]>);

export interface Admission {
  readonly requestId: string;
  readonly trigger: TurnTrigger;
  readonly input: TurnInput;
  /** The user messages it answers. Default: the run of them at the end of the input. */
  readonly inputMessageIds?: readonly string[];
  readonly continuation?: boolean;
  /** The answer becomes a child of this message instead of the leaf: regeneration and edits. */
  readonly parentMessageId?: string;
  /** A continuation that extends this stored answer: same id, further parts. */
  readonly extendsMessageId?: string;
  /** A continuation of this earlier answer, whose calls were decided after others came: it goes on below the newest. */
  readonly resolvesMessageId?: string;
  /** An answer of the exchange that a continuation goes on with, where it neither extends nor resolves one. */
  readonly continuesMessageId?: string;
  /** The question behind a continuation on a channel; `ofQuestion` finds it. */
  readonly questionId?: string;
  readonly body?: Record<string, unknown>;
  readonly channel?: string;
  readonly clientTools?: readonly RecordedClientTool[];
  /** Read when the request was accepted; the turn is skipped if the conversation was cleared since. Default: now's. */
  readonly generation?: number;
  /** May be skipped in favour of a newer one of its kind (latest, merge, debounce). */
  readonly supersedable?: boolean;
  /** Not to be started before this (debounce). */
  readonly notBeforeAt?: number;
  /** How it is to take effect while a turn runs. */
  readonly entry?: WaitingEntry;
  /** Its sender does not show the messages by itself. */
  readonly isUnseen?: boolean;
  readonly signal?: AbortSignal;
  readonly origin?: unknown;
  /** The key it is started under (`idempotencyId`): a turn of this id that is open, or did not fail, is this one. */
  readonly idempotencyId?: string;
}

/** A turn that is accepted: it is durable and will reach an outcome. */
export interface TurnTicket {
  readonly turnId: string;
  readonly requestId: string;
  /** An earlier call under the same key had started it. */
  readonly isFound?: boolean;
  /** Resolves after the outcome is durable, listeners were notified and the response hook returned. Never rejects. */
  readonly settled: Promise<TurnOutcome>;
}

export function admittedRecord(
  admission: Admission,
  ids: { readonly turnId: string; readonly messageId: string; readonly generation: number },
  now: number
): TurnAdmitted {
  const input = typeof admission.input === "function" ? [] : admission.input;
  return {
    type: "turn-admitted",
    turnId: turnId(ids.turnId),
    at: now,
    generation: ids.generation,
    messageId: messageId(admission.extendsMessageId ?? ids.messageId),
    requestId: requestId(admission.requestId),
    trigger: admission.trigger,
    continuation: admission.continuation ?? false,
    parentMessageId: idOrNull(admission.parentMessageId),
    input: input as readonly unknown[] as readonly Json[],
    inputMessageIds: (admission.inputMessageIds ?? trailingUserIds(input)).map(messageId),
    body: (admission.body ?? null) as Json,
    channel: admission.channel ?? null,
    clientTools: admission.clientTools ?? [],
    isDeferred: typeof admission.input === "function",
    supersedable: admission.supersedable ?? false,
    extendsAnswer: admission.extendsMessageId !== undefined,
    questionId: idOrNull(admission.questionId),
    resolvesMessageId: idOrNull(admission.resolvesMessageId),
    idempotencyId: admission.idempotencyId ?? null,
    notBeforeAt: admission.notBeforeAt ?? null,
    entry: admission.entry ?? null
  };
}

function idOrNull(id: string | undefined): MessageId | null {
  return id === undefined ? null : messageId(id);
}

/** The run of user messages at the end: the question that is being answered. */
export function trailingUserIds(messages: readonly UIMessage[]): string[] {
  const last = messages.findLastIndex((message) => message.role !== "user");
  return messages.slice(last + 1).map(({ id }) => id);
}

/**
 * A continuation goes on in the channel of the question it belongs to: its policy must not end in the middle, and in a
 * conversation of several threads its answer belongs to the thread of that question, not to the newest.
 */
export function ofQuestion(
  admission: Admission,
  transcript: { path(leafId?: string): readonly UIMessage[] }
): Admission {
  if (!admission.continuation) return admission;
  const { extendsMessageId, resolvesMessageId, continuesMessageId } = admission;
  const path = transcript.path(extendsMessageId ?? resolvesMessageId ?? continuesMessageId);
  const asked = path.findLast(({ role }) => role === "user");
  const channel = isObject(asked?.metadata) ? asked.metadata["channel"] : undefined;
  if (!asked || typeof channel !== "string") return admission;
  return { ...admission, channel: admission.channel ?? channel, questionId: asked.id };
}
