// What runs need of the agent they belong to, and of its class. The turn engine is seen through the few questions a run
// has about the turn that waits for it.
import type { AgentRuntime } from "../runtime.ts";
import type { Result } from "../../util/result.ts";
import type { AgentToolRunInfo, RunAgentToolResult } from "./run.ts";

/** The class's limits. Read when they are needed: they may change. */
export interface RunSettings {
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  /** Undefined: NO_PROGRESS_MS, or REATTACH_MS for a run of an earlier process. */
  readonly noProgressMs: number | undefined;
  readonly retention: AgentToolRetention;
}

/** What is kept of runs that are over. Default: everything, until `clearAgentToolRuns()`. */
export interface AgentToolRetention {
  /** The newest so many. */
  readonly maxRuns?: number;
  /** Those that ended less than so long ago. */
  readonly maxAgeMs?: number;
}

/** The class's own code. */
export interface RunHooks {
  onStart(run: AgentToolRunInfo): void | Promise<void>;
  onFinish(run: AgentToolRunInfo, result: RunAgentToolResult): void | Promise<void>;
  /** Whether the class has an `onAgentToolFinish`: it is then called at least once per run, even over a crash. */
  readonly wantsFinish: boolean;
  /** Adds a text to the conversation, once per key. */
  post(text: string, key: string): Promise<void>;
  /** The definition behind a tool of the class; undefined for one that is no agent tool. */
  toolNamed(name: string): unknown;
}

/** The turn that waits for a run. */
export interface RunTurns {
  current(): { readonly turnId: string; readonly messageId: string } | undefined;
  isOpen(turnId: string): boolean;
  /** It is over, or being stopped. */
  isStopped(turnId: string): boolean;
  beat(turnId: string): void;
  tokensLeft(turnId: string): number;
}

export interface RunsInit {
  readonly runtime: AgentRuntime;
  readonly settings: () => RunSettings;
  readonly hooks: RunHooks;
  readonly turns: RunTurns;
  readonly validate: (schema: unknown, value: unknown) => Promise<Result<unknown, unknown>>;
}
