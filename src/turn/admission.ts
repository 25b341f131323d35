// What it takes to start a turn. Every door fills in one of these and hands it to the engine's `admit`.
import type { UIMessage } from "ai";
import type { ClientTool } from "../journal/records.ts";
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
  readonly body?: Record<string, unknown>;
  readonly channel?: string;
  readonly clientTools?: readonly ClientTool[];
  /** Read when the request was accepted; the turn is skipped if the conversation was cleared since. Default: now's. */
  readonly generation?: number;
  /** May be skipped in favour of a newer one of its kind (latest, merge, debounce). */
  readonly supersedable?: boolean;
  /** Not to be started before this (debounce). */
  readonly notBeforeAt?: number;
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
  /** Resolves after the outcome is durable, readers were told and the response hook returned. Never rejects. */
  readonly settled: Promise<TurnOutcome>;
}
