// The record of a new turn. Pure: from what a door asked for to the fact that is written.
import type { UIMessage } from "ai";
import type { TurnAdmitted } from "../journal/records.ts";
import { messageId, requestId, turnId } from "../util/ids.ts";
import type { Json } from "../util/json.ts";
import type { Admission } from "./admission.ts";

export interface AdmittingInit {
  readonly admission: Admission;
  readonly turnId: string;
  readonly messageId: string;
  readonly generation: number;
  readonly now: number;
}

/** Set when the messages come from a function: they are not known before the turn starts. */
export const DEFERRED_INPUT = "deferred-input";

export function admittedRecord({ admission, now, ...ids }: AdmittingInit): TurnAdmitted {
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
    parentMessageId: admission.parentMessageId === undefined ? null : messageId(admission.parentMessageId),
    input: input as readonly unknown[] as readonly Json[],
    inputMessageIds: (admission.inputMessageIds ?? trailingUserIds(input)).map(messageId),
    body: (admission.body ?? null) as Json,
    channel: admission.channel ?? null,
    clientTools: admission.clientTools ?? [],
    metadata: {
      ...(typeof admission.input === "function" && { [DEFERRED_INPUT]: true }),
      ...(admission.supersedable && { supersedable: true }),
      ...(admission.extendsMessageId !== undefined && { extends: true }),
      ...(admission.idempotencyId !== undefined && { idempotencyId: admission.idempotencyId }),
      ...(admission.resolvesMessageId !== undefined && { resolves: admission.resolvesMessageId })
    },
    notBeforeAt: admission.notBeforeAt ?? null
  };
}

/** The run of user messages at the end: the question that is being answered. */
export function trailingUserIds(messages: readonly UIMessage[]): string[] {
  const last = messages.findLastIndex((message) => message.role !== "user");
  return messages.slice(last + 1).map(({ id }) => id);
}

/** What `admittedRecord` noted about the turn, read back. */
export function notesOf(admitted: TurnAdmitted): TurnNotes {
  const notes = (admitted.metadata ?? {}) as Record<string, unknown>;
  const { resolves } = notes;
  return {
    deferred: notes[DEFERRED_INPUT] === true,
    supersedable: notes["supersedable"] === true,
    extends: notes["extends"] === true,
    idempotencyId: typeof notes["idempotencyId"] === "string" ? notes["idempotencyId"] : undefined,
    resolves: typeof resolves === "string" ? resolves : undefined
  };
}

export interface TurnNotes {
  readonly deferred: boolean;
  readonly supersedable: boolean;
  readonly extends: boolean;
  readonly idempotencyId: string | undefined;
  /** The earlier answer whose decided calls it runs and goes on from. */
  readonly resolves: string | undefined;
}
