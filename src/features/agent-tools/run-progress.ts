// What a child says of its run, without the code that runs it: declarations of every class stand on it.
import type { AgentToolChunk } from "./chunk-feed.ts";
import type { AgentToolValue } from "./run.ts";

/** A run as its child knows it. */
export interface AgentToolRunInspection {
  readonly runId: string;
  readonly status: "running" | "completed" | "error" | "aborted";
  /** A person is asked for more budget, and the run goes on when that is granted: what is asked. */
  readonly waitingFor?: string | undefined;
  /** Of the turn that answers it. A child without conversation has none. */
  readonly requestId?: string;
  readonly output?: AgentToolValue;
  readonly summary?: string;
  readonly error?: string;
  /** Used so far, by the agents below included; absent where that is not counted. */
  readonly tokens?: number;
  readonly startedAt: number;
  readonly completedAt?: number;
  /** Ids of the messages that its parent passed to it, and its model has read or is about to read. */
  readonly steers?: readonly string[];
}

/** What a parent is answered. */
export interface RunProgress {
  /** Null: there is no such run. */
  readonly run: AgentToolRunInspection | null;
  readonly chunks: readonly AgentToolChunk[];
  /** More chunks are there: the answer would have been too large. */
  readonly more: boolean;
  /** Time since the last sign of life. */
  readonly idleMs: number;
}
