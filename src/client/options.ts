// What a client is given, and what it shows.
import type { AgentAddress, Query } from "./address.ts";
import type { AgentRun } from "./agent-runs.ts";
import type { ApprovalHandler, ClientTools } from "./client-tools.ts";
import type { ThinkClientPlatform } from "./platform.ts";
import type { ClientReceipt } from "./receipts.ts";
import type { ConnectionState } from "./socket.ts";
import type { ClientSubmission } from "./submissions.ts";
import type { ChatView } from "./view.ts";

/** May be changed while the client lives. */
export interface ThinkClientSettings {
  /** Tools that run here. Their descriptions go to the model with each message. */
  readonly tools?: ClientTools;
  /** Decides approvals by program, without the user. */
  readonly onApproval?: ApprovalHandler;
  /** Goes into the URL of each connection. A function is asked anew each time, for tokens that expire. */
  readonly query?: Query | (() => Query | Promise<Query>);
  /** Fields for the agent's hooks, sent with each request. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Text from the agent that is not of the protocol. */
  readonly onMessage?: (text: string) => void;
}

export type ThinkClientOptions = AgentAddress &
  ThinkClientSettings &
  ThinkClientPlatform & {
    /** False: nothing happens before `connect()`. */
    readonly autoConnect?: boolean;
    /** Attempts after the first failed one, in a row; then the connection is `refused`. Default: no limit. */
    readonly maxRetries?: number;
  };

export interface ThinkSnapshot<State = unknown> extends ChatView {
  readonly connection: ConnectionState;
  /** Why there is no connection: what the last attempt met, or why the server refuses this client. */
  readonly connectionError: string | undefined;
  /** The agent's state; undefined until the agent sent it. */
  readonly state: State | undefined;
  /** Why the last change of the state was not accepted. */
  readonly stateError: string | undefined;
  /** Runs of sub-agents as tools, in the order in which they began. `callId` says which tool call one belongs to. */
  readonly agentRuns: readonly AgentRun[];
  /** What the agent is called, once it said so. */
  readonly identity: { readonly agent: string; readonly name: string } | undefined;
  /** Turns that were submitted, newest first: the newest when this client connected, and every one since. */
  readonly submissions: readonly ClientSubmission[];
  /**
   * Messages that wait while a turn runs, in the order in which they take effect: steers, then follow-ups. `messages` shows
   * them when they have.
   */
  readonly queued: readonly ClientReceipt[];
  /** What became of messages that waited, of those that changed since this client was made: the newest 32. */
  readonly receipts: readonly ClientReceipt[];
}

export interface SubmitOptions {
  /** One submission per key. Default: the message's id. */
  readonly idempotencyKey?: string;
}

export interface SteerOptions {
  /** Of the message. The same one again is not accepted twice. Default: a new one. */
  readonly id?: string;
  /** Fields for the agent's hooks. Default: those of the running turn. */
  readonly body?: Readonly<Record<string, unknown>>;
}

export interface SubmitResult extends ClientSubmission {
  /** False: an earlier call under the same key was. */
  readonly accepted: boolean;
}

/** What a client shows of the agent beside the conversation. */
export type AgentSide = Pick<
  ThinkSnapshot,
  "connection" | "connectionError" | "state" | "stateError" | "identity" | "submissions" | "queued" | "receipts"
>;

/** Before a connection. */
export const NO_AGENT: AgentSide = {
  connection: "closed",
  connectionError: undefined,
  state: undefined,
  stateError: undefined,
  identity: undefined,
  submissions: [],
  queued: [],
  receipts: []
};
