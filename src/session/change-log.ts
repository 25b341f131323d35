// Every change of the stored conversation is one record, written in the same transaction by the store's write path. A
// change that a turn's own records say needs no second one. Who writes says on whose behalf; without a word it was the
// user's own code, through the session's public methods.
import type { ChangedBy, ChangeKind, ConversationChanged } from "../journal/records.ts";
import { turnId } from "../util/ids.ts";
import type { SessionScope } from "./session-host.ts";

/** Messages that a record names; beyond it, it says how many there were. */
export const MAX_NAMED_MESSAGES = 4;
/** Ids of the user's may be of any length. */
const MAX_ID_CHARS = 64;

export interface ChangeLog {
  /** `place`: of a record in the journal that says the same. */
  changed(record: ConversationChanged, place?: number): void;
  /** What was kept with these messages goes too. */
  forgetTurns(messageIds: readonly string[]): void;
  clear(): void;
}

export interface ChangeAuthor {
  readonly by: ChangedBy;
  /** Why, as a code. */
  readonly why?: string;
  /** What an update of a message is, if it is no edit. */
  readonly change?: ChangeKind;
  /** The turn it is part of. */
  readonly turnId?: string;
  readonly callId?: string;
  /** The name of the person who decided. */
  readonly decidedBy?: string;
  readonly place?: number;
}

/** A record of the same transaction says it: a turn's own, or one about several messages. */
export const ALREADY_RECORDED = "recorded";

export type ChangeOrigin = ChangeAuthor | typeof ALREADY_RECORDED;

export const USER_CODE: ChangeAuthor = { by: "code" };

/** The engine by itself. */
export const RUNNER: ChangeAuthor = { by: "runner" };

/** Part of the transaction that makes the change. `ids`: the messages that were changed; without any, nothing was. */
export function recordChange(
  { log, host }: SessionScope,
  origin: ChangeOrigin,
  { change, ids }: { readonly change: ChangeKind; readonly ids: readonly string[] }
): void {
  if (origin === ALREADY_RECORDED || log === undefined || ids.length === 0) return;
  log.changed(
    {
      type: "conversation-changed",
      turnId: origin.turnId === undefined ? null : turnId(origin.turnId),
      at: host.now(),
      change: origin.change ?? change,
      by: origin.by,
      why: origin.why ?? null,
      messageIds: ids.slice(0, MAX_NAMED_MESSAGES).map((id) => id.slice(0, MAX_ID_CHARS)),
      count: ids.length,
      callId: origin.callId?.slice(0, MAX_ID_CHARS) ?? null,
      ...(origin.decidedBy !== undefined && { decidedBy: origin.decidedBy })
    },
    origin.place
  );
}
