// What other modules may ask of the turn engine. `chat/` and `think/` are written against this.
import type { UIMessage } from "ai";
import type { FailedTurn } from "../journal/conversation.ts";
import type { RecordedClientTool } from "../journal/records.ts";
import type { Json } from "../util/json.ts";
import type { Admission, TurnTicket } from "./admit.ts";
import type { ToolAnswerError } from "./errors.ts";
import type { TurnListener } from "./listener.ts";
import type { TurnOutcome, TurnView } from "./turn.ts";

/** What there is to replay of a request's stream. */
export interface Replay {
  readonly turn: TurnView;
  /** Stored and not yet stored chunks, in order, each with its number. */
  readonly chunks: Iterable<{ readonly seq: number; readonly body: string }>;
  /** `live`: more follows. Otherwise how it ended, if that is still known. */
  readonly state: "live" | TurnOutcome["status"];
}

/** The result of a client's answer to a tool call. */
export type AnswerOutcome =
  | { readonly changed: true; readonly message: UIMessage }
  /** Without `refused`: a repetition, or a result of a call that is not known. `message`: what holds the call, as it is. */
  | { readonly changed: false; readonly refused?: ToolAnswerError; readonly message?: UIMessage };

/** A turn that was interrupted and is not over. */
export interface RecoveringTurn {
  readonly requestId: string;
  /** When that was first noticed. */
  readonly since: number;
}

export interface ToolResultAnswer {
  readonly toolCallId: string;
  readonly output: unknown;
  /** Set: the tool failed, or the user refused it with a text of their own. */
  readonly errorText?: string;
  readonly autoContinue: boolean;
  /** What the client runs from now on. Nothing is said by a list that comes with a refused answer. */
  readonly clientTools?: readonly RecordedClientTool[];
  readonly origin?: unknown;
}

export interface ApprovalAnswer {
  readonly toolCallId: string;
  readonly approved: boolean;
  readonly autoContinue: boolean;
  readonly origin?: unknown;
}

export interface Turns {
  /** Throws NestedTurnError inside a turn: a caller that waits for another turn would wait for itself. */
  refuseNested(): void;
  /** Durable when it returns. Under a key that is known, the turn that was started under it. Throws NestedTurnError when a blocking caller is itself inside a turn. */
  admit(admission: Admission): TurnTicket;
  /** Ends a running or waiting turn; an unknown request is nothing. */
  cancel(requestId: string, reason?: string): void;
  cancelAll(reason?: string): void;
  /** A listener that the turn cannot do without has failed: it ends like a stream that broke. */
  fail(requestId: string, error: unknown): void;
  /** Empties the conversation. `origin` is left out of the announcement. */
  clear(origin?: unknown): void;
  /** Of a call that only a client can run. The first result wins; any other changes nothing. */
  answerTool(answer: ToolResultAnswer): AnswerOutcome;
  /** Of a call that was asked about and not answered; any other is refused. */
  answerApproval(answer: ApprovalAnswer): AnswerOutcome;
  listen(listener: TurnListener): () => void;

  /** The turn whose stream is open now. */
  streaming(): TurnView | undefined;
  /** The newest turn that is accepted and not streaming yet, a continuation that waits for its start included. */
  waiting(): TurnView | undefined;
  /** Any turn of this generation is running or queued. */
  isBusy(): boolean;
  /** The interrupted turn that is being continued or retried. */
  recovering(): RecoveringTurn | undefined;
  /** Keeps data of the running turn for its recovery; the newest replaces the others. Throws outside a turn. */
  stash(data: Json): void;
  failed(): FailedTurn | null;
  /** What is kept of a request's stream; undefined when nothing is known of it any more. */
  replay(requestId: string): Replay | undefined;
  /** The active branch as clients show it, accepted messages not yet placed last. */
  transcript(): UIMessage[];
  /** The tools the client last described, and the custom fields of its last request. */
  readonly clientTools: readonly RecordedClientTool[];
  readonly body: Record<string, unknown> | undefined;
  rememberClient(client: { tools?: readonly RecordedClientTool[]; body?: Record<string, unknown> | null }): void;
  readonly generation: number;
}
