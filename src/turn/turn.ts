// What a turn is to everybody outside the engine: plain values, passed along. Nobody keeps "the current turn".
import type { UIMessage } from "ai";
import type { ClientTool, TurnGranted } from "../journal/records.ts";

/** Through which door a turn came. */
export type TurnTrigger =
  | "ws-chat"
  | "rpc"
  | "programmatic"
  | "submission"
  | "auto-continuation"
  /** A parked action was decided. */
  | "approval"
  | "agent-tool"
  | "recovery-retry"
  | "recovery-continue";

/** What a turn may do, as it is kept with the turn. */
export type RecordedGrant = Pick<TurnGranted, "allowed" | "reason" | "permissions">;

/** A turn as its hooks, tools and readers see it. The same identity over every attempt. */
export interface TurnContext {
  readonly turnId: string;
  /** What the client calls it. */
  readonly requestId: string;
  /** The id under which its answer is streamed and stored. */
  readonly messageId: string;
  /** Counts from 1. */
  readonly attempt: number;
  readonly trigger: TurnTrigger;
  /** Builds on the latest answer, with no new user message. */
  readonly continuation: boolean;
  readonly generation: number;
  readonly body: Record<string, unknown> | undefined;
  readonly channel: string | undefined;
  readonly clientTools: readonly ClientTool[];
  /** The message its answer hangs below, when that is not simply the latest. */
  readonly parentMessageId?: string;
  /** The earlier answer whose decided calls it goes on from. */
  readonly resolvesMessageId?: string;
  /** What an earlier attempt was allowed to do. */
  readonly grant?: RecordedGrant;
  /** Fires on cancel, clear and the end of the attempt. */
  readonly signal: AbortSignal;
  /** Whoever asked, while this process lives: the socket of a chat request. Never stored. */
  readonly origin: unknown;
}

/** A turn as readers know it, without what only a running attempt has. */
export interface TurnView {
  readonly turnId: string;
  readonly requestId: string;
  readonly messageId: string;
  readonly trigger: TurnTrigger;
  /** Clients add what it streams to the newest answer. */
  readonly continuation: boolean;
  /** Ids of the user messages it answers: the run of user messages at the end of its input. */
  readonly inputMessageIds: readonly string[];
  readonly origin: unknown;
}

export type TurnStatus = "completed" | "error" | "aborted" | "skipped";

/** The one outcome of a turn. */
export interface TurnOutcome {
  readonly status: TurnStatus;
  /** Why it was skipped or aborted: "superseded", "cleared", "dropped", "cancelled", … */
  readonly reason?: string;
  /** What clients are shown when it failed: the message of what `onChatError` returned. */
  readonly error?: string;
  /** The stored answer, if it has any parts. */
  readonly message?: UIMessage;
  /** Structured output, when the turn asked for it. */
  readonly output?: unknown;
  /** It had begun to stream: readers saw it. */
  readonly streamed: boolean;
  /** Recovery gave it up, or its request cannot be read: a client may wait for it without being the one that asked. */
  readonly givenUp?: boolean;
}
