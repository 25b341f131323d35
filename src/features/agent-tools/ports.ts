// What runs need of the agent they belong to, and of its class. Any agent has them: what only one with a conversation has
// is a port of its own.
import type { AgentRuntime } from "../../agent/runtime.ts";
import type { AgentToolRetention, AgentToolRunInfo, RunAgentToolResult } from "./run.ts";

/** The class's limits. Read when they are needed: they may change. */
export interface RunSettings {
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  /** Undefined: NO_PROGRESS_MS, or REATTACH_MS for a run of an earlier process. */
  readonly noProgressMs: number | undefined;
  readonly retention: AgentToolRetention;
}

/** The class's own code. */
export interface RunHooks {
  onStart(run: AgentToolRunInfo): void | Promise<void>;
  onFinish(run: AgentToolRunInfo, result: RunAgentToolResult): void | Promise<void>;
  /** Whether the class has an `onAgentToolFinish`: it is then called at least once per run, even over a crash. */
  readonly wantsFinish: boolean;
}

/** The conversation that runs belong to, if their agent has one: which turn waits for a run, and where its end is told. */
export interface RunConversation {
  currentTurn(): { readonly turnId: string; readonly messageId: string } | undefined;
  isOpen(turnId: string): boolean;
  openTurns(): readonly string[];
  /** It is over, or being stopped. */
  isStopped(turnId: string): boolean;
  /** The turn makes progress. */
  beat(turnId: string): void;
  tokensLeft(turnId: string): number;
  /** Adds a text to the conversation, once per key. */
  post(text: string, key: string): Promise<void>;
  /** The definition behind a tool of the class; undefined for one that is no agent tool. */
  toolNamed(name: string): unknown;
}

/** Of an agent without one: no turn waits for a run, and a wake takes up what a crash left. */
export const NO_CONVERSATION: RunConversation = {
  currentTurn: () => undefined,
  isOpen: () => false,
  openTurns: () => [],
  isStopped: () => true,
  beat: () => undefined,
  tokensLeft: () => Infinity,
  async post(text) {
    console.warn(`"notify" needs a conversation, which this agent does not have. Not posted: ${text}`);
  },
  toolNamed: () => undefined
};

export interface RunsInit {
  readonly runtime: AgentRuntime;
  readonly settings: () => RunSettings;
  readonly hooks: RunHooks;
}
